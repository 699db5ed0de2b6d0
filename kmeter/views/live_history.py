"""One GPU over minutes: a line a quantity, its value now beside its limit, and what held it back."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.card import Identity
from kmeter.model.history import HeldBack, History
from kmeter.model.live import LiveGpu
from kmeter.units import UNKNOWN, celsius, percent, si, size
from kmeter.units import ascii_only as ascii_text
from kmeter.views.strip import strip

_LEAST_STRIP = 8
_LABEL, _VALUE, _SHARE = 12, 11, 7
_HOTTEST_C = 100.0
"""The end of the strip of temperatures; no limit of a card."""


class Line(NamedTuple):
    """A quantity: its text now, and its share of the most there can be."""

    label: str
    text: Callable[[LiveGpu], str]
    share: Callable[[LiveGpu], float | None]
    is_share: bool = True
    """Whether the share is worth printing beside the value."""


def _of_limit(label: str, name: str, limit: str, unit: str) -> Line:
    return Line(
        label,
        lambda gpu: si(gpu.fact(name).value, unit, 3),
        lambda gpu: gpu.share(name, limit),
    )


def _activity(label: str, name: str) -> Line:
    return Line(
        label,
        lambda gpu: percent(gpu.fact(name).value),
        lambda gpu: gpu.fact(name).value,
        is_share=False,
    )


def _temperature(gpu: LiveGpu) -> str:
    return celsius(gpu.fact("temperature_c").value)


def _heat(gpu: LiveGpu) -> float | None:
    degrees = gpu.fact("temperature_c").value
    return None if degrees is None else degrees / _HOTTEST_C


def _memory(gpu: LiveGpu) -> str:
    return size(gpu.fact("memory_used_bytes").value)


STATE = (
    _of_limit("SM clock", "sm_clock_hz", "sm_clock_max_hz", "Hz"),
    _of_limit("mem. clock", "memory_clock_hz", "memory_clock_max_hz", "Hz"),
    _of_limit("power", "power_w", "power_limit_w", "W"),
    Line("temperature", _temperature, _heat, is_share=False),
    _activity("busy", "utilisation"),
    Line("memory", _memory, lambda gpu: gpu.share("memory_used_bytes", "memory_total_bytes")),
)
UNITS = (
    _activity("SM", "sm_active"),
    _activity("occupancy", "sm_occupancy"),
    _activity("tensor", "tensor_active"),
    _activity("fp64", "fp64_active"),
    _activity("fp32", "fp32_active"),
    _activity("int", "integer_active"),
    _activity("DRAM", "dram_active"),
)


@dataclass(frozen=True)
class HistoryView:
    """The strips of one GPU; a moment a cell."""

    history: History
    identity: Identity

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        width = options.max_width - _LABEL - _VALUE - _SHARE - 1
        seen = self.history.of(self.identity, max(1, width))
        if not seen:
            yield Text("nothing was read yet", style="dim")
            return
        for line in (*STATE, *_known(UNITS, seen)):
            yield _row(line, seen, width, ascii_only=options.ascii_only)
        yield from _links(seen[-1])
        yield _held_back(self.history.held_back(self.identity), seen[-1])


def _known(lines: Sequence[Line], seen: Sequence[LiveGpu]) -> Iterator[Line]:
    """Lines of which anything is known in what is shown."""
    return (line for line in lines if any(line.share(gpu) is not None for gpu in seen))


def _row(line: Line, seen: Sequence[LiveGpu], width: int, *, ascii_only: bool) -> Text:
    now = seen[-1]
    share = percent(line.share(now), 3) if line.is_share else ""
    value = ascii_text(line.text(now)) if ascii_only else line.text(now)
    text = f"{line.label:<{_LABEL}}{value:>{_VALUE}}{share:>{_SHARE}}"
    if width < _LEAST_STRIP:
        return Text(text)
    drawn = strip([line.share(gpu) for gpu in seen], width, ascii_only=ascii_only)
    return Text.assemble(text, " ", (drawn, "cyan"))


_LINKS = (
    ("PCIe", "pcie_sent_bytes_per_s", "pcie_received_bytes_per_s"),
    ("NVLink", "nvlink_sent_bytes_per_s", "nvlink_received_bytes_per_s"),
)


def _links(gpu: LiveGpu) -> Iterator[Text]:
    """What goes out and comes in; a link that nobody counts is left out."""
    for label, sent, received in _LINKS:
        out, back = gpu.fact(sent).value, gpu.fact(received).value
        if out is not None or back is not None:
            rates = f"out {si(out, 'B/s', 3)}, in {si(back, 'B/s', 3)}"
            yield Text(f"{label:<{_LABEL}}{rates}")


def _held_back(reasons: Sequence[HeldBack], gpu: LiveGpu) -> Text:
    text = Text(f"{'held back':<{_LABEL}}")
    if gpu.fact("throttle_reasons_mask").value is None:
        return text.append(f"{UNKNOWN} {gpu.fact('throttle_reasons_mask').reason}")
    if not reasons:
        return text.append("by nothing")
    for index, item in enumerate(reasons):
        words = f"{item.reason} {duration(item.seconds)}{' (now)' if item.is_now else ''}"
        text.append(", " if index else "").append(words, style="yellow" if item.is_now else "")
    return text


def duration(seconds: float) -> str:
    """``12 s``, ``3 min 5 s``, ``2 h 4 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
