"""``kmeter top``: the GPUs of this machine while they work, or a session that was recorded."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import NoGpuError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from kmeter.model.live import Moment
    from kmeter.views.live import LiveView

_LEAST_S = 0.1
"""NVML's counters need so long between two samples."""
_FIRST_S = 0.2


def top(
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", "-d", metavar="TARGET", help="Ordinal, UUID or bus id; once a GPU."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one reading.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", "-i", metavar="TIME", help="From one reading to the next.")
    ] = "1s",
    sort: Annotated[
        str,
        typer.Option("--sort", help="index, utilisation, memory, power or temperature."),
    ] = "index",
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Keep every reading.")
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Show nothing while it records, until Ctrl-C.")
    ] = False,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Show what was recorded.")
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", min=0.01, max=1000.0, help="Of --replay; 10 is ten times.")
    ] = 1.0,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """Clocks, power, heat, memory, busy units and processes of GPUs, now and again.

    Where stdout is no terminal, and with --json, one reading is printed; of a session the last.
    """
    import sys

    from kmeter.cli.output import console, show, show_json
    from kmeter.model.live import ORDERS, ordered
    from kmeter.units import parse_seconds, quoted
    from kmeter.views.live import LiveView, live_document

    if sort not in ORDERS:
        raise UsageError(f"--sort is one of {', '.join(ORDERS)}, not {quoted(sort)}")
    seconds = parse_seconds(interval)
    if seconds < _LEAST_S:
        raise UsageError("--interval is at least 100 ms: NVML's counters take so long")
    if headless and record is None:
        raise UsageError("--headless shows nothing: it goes with --record FILE")
    if replay is not None and (record is not None or device):
        raise UsageError("--replay reads no GPU: -d and --record do not go with it")
    is_one = once or as_json or not (headless or sys.stdout.isatty())

    def see(moment: "Moment") -> "LiveView":
        return LiveView(moment._replace(gpus=ordered(moment.gpus, sort)))

    with ExitStack() as stack:
        moments = (
            _replayed(replay, speed, only_last=is_one)
            if replay is not None
            else _live(stack, device or [], seconds, record)
        )
        if not is_one:
            out = None if headless else console(ascii_mode=ascii_mode)
            _watch(moments, see, out)
            return
        view = see(next(moments))
        if as_json:
            show_json(live_document(view.moment))
        else:
            show(view, ascii_mode=ascii_mode)


def _live(
    stack: ExitStack, targets: list[str], seconds: float, record: Path | None
) -> "Iterator[Moment]":
    """Readings of this machine's GPUs without an end, each kept where ``record`` says."""
    from kmeter.sources._live import LiveCards
    from kmeter.sources._session import SessionWriter

    try:
        cards = LiveCards(targets)
    except NoGpuError as error:
        raise NoGpuError(error.message, "--replay FILE shows a recorded session") from None
    stack.callback(cards.close)
    writer = SessionWriter(record) if record is not None else None
    if writer is not None:
        stack.callback(writer.close)
    wait = _FIRST_S
    while True:
        time.sleep(wait)
        began = time.monotonic()
        moment = cards.read()
        if writer is not None:
            writer.write(moment)
        yield moment
        wait = max(0.0, seconds - (time.monotonic() - began))


def _replayed(path: Path, speed: float, *, only_last: bool) -> "Iterator[Moment]":
    """The recorded moments, as long after each other as they were."""
    from kmeter.sources._session import read_session, seconds_between

    moments = read_session(path)
    if only_last:
        moments = moments[-1:]
    for number, moment in enumerate(moments):
        if number:
            time.sleep(seconds_between(moments[number - 1], moment) / speed)
        yield moment


def _watch(
    moments: "Iterator[Moment]", view: "Callable[[Moment], LiveView]", out: "Console | None"
) -> None:
    """Draw each until the last or Ctrl-C, on a screen of its own that is gone afterwards."""
    from rich.live import Live

    with suppress(KeyboardInterrupt):
        if out is None:
            for _ in moments:
                pass
            return
        shown = view(next(moments))
        with Live(shown, console=out, screen=True, auto_refresh=False) as live:
            for moment in moments:
                shown = view(moment)
                live.update(shown, refresh=True)
        out.print(shown)
