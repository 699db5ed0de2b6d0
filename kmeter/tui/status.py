"""The line above the panes: which GPU, where its readings come from, and what is wrong."""

from rich.text import Text

from kmeter.model.live import LiveGpu, Moment
from kmeter.sources._session import SessionWriter
from kmeter.tui.player import Player
from kmeter.units import UNKNOWN, ascii_only, number
from kmeter.views.live import index_text


def status_line(gpu: str, source: str, trouble: str, *, is_ascii: bool) -> Text:
    """One line; what does not fit ends in a mark."""
    text = Text("kmeter", style="bold", no_wrap=True, overflow="ellipsis")
    for part in filter(None, (gpu, source)):
        text.append(f"  {part}", style="not bold")
    if trouble:
        text.append(f"  {trouble}", style="bold yellow")
    return Text(ascii_only(text.plain)) if is_ascii else text


def gpu_text(moment: Moment, gpu: LiveGpu) -> str:
    """``GPU 1 of 8: NVIDIA H200``."""
    many = f" of {len(moment.gpus)}" if len(moment.gpus) > 1 else ""
    return f"GPU {index_text(gpu)}{many}: {gpu.identity.name or UNKNOWN}"


def live_text(
    interval_s: float, record: SessionWriter | None, served_at: str, *, is_held: bool
) -> str:
    """How this machine is watched."""
    served = f", served at {served_at}" if served_at else ""
    kept = f", recorded to {record.path}" if record is not None else ""
    return f"live, every {number(interval_s)} s{served}{kept}{', held' if is_held else ''}"


def session_text(player: Player, title: str) -> str:
    """Where a session stands."""
    state = "over" if player.is_over else "paused" if player.is_paused else "replay"
    speed = "" if player.speed == 1 else f" ×{number(player.speed)}"
    return f"{title} {state} {_clock(player.at_s)}/{_clock(player.length_s)}{speed}"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
