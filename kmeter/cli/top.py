"""``kmeter top``: the GPUs of this machine while they work, or a session that was recorded.

In a terminal it opens the dashboard; elsewhere it prints a reading.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.dashboard import open_dashboard, parse_interval
from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import ExitCode, NoGpuError, UsageError

if TYPE_CHECKING:
    from kmeter.model.live import Moment


def top(
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", "-d", metavar="TARGET", help="Ordinal, UUID or bus id; once a GPU."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one reading.")] = False,
    interval: Annotated[
        str | None,
        typer.Option("--interval", "-i", metavar="TIME", help="From one reading to the next; 1s."),
    ] = None,
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
) -> int:
    """Clocks, power, heat, memory, busy units and processes of GPUs, now and again.

    Where stdout is no terminal, and with --json, one reading is printed; of a session the last.
    """
    import sys

    from kmeter.cli.output import show, show_json
    from kmeter.model.live import ORDERS, ordered
    from kmeter.units import quoted
    from kmeter.views.live import LiveView, live_document

    if sort not in ORDERS:
        raise UsageError(f"--sort is one of {', '.join(ORDERS)}, not {quoted(sort)}")
    seconds = parse_interval(interval or "1s")
    if headless and record is None:
        raise UsageError("--headless shows nothing: it goes with --record FILE")
    if headless and replay is not None:
        raise UsageError("--replay reads no GPU: --headless does not go with it")
    if replay is not None and (record is not None or device):
        raise UsageError("--replay reads no GPU: -d and --record do not go with it")
    is_one = once or as_json or not (headless or sys.stdout.isatty())
    if not is_one and not headless:
        return open_dashboard(
            pane="live", targets=device or (), interval_s=seconds if interval else None,
            needs_gpu=replay is None, order=sort, record=record, replay=replay, speed=speed, ascii_mode=ascii_mode,
        )  # fmt: skip
    with ExitStack() as stack:
        moments = (
            iter(_recorded(replay)) if replay is not None
            else _live(stack, device or [], seconds, record)
        )  # fmt: skip
        if headless:
            with suppress(KeyboardInterrupt):
                for _ in moments:
                    pass
            return ExitCode.OK
        moment = next(moments)
        moment = moment._replace(gpus=ordered(moment.gpus, sort))
        if as_json:
            show_json(live_document(moment))
        else:
            show(LiveView(moment), ascii_mode=ascii_mode)
    return ExitCode.OK


def _recorded(path: Path) -> "tuple[Moment, ...]":
    """The last moment of a session."""
    from kmeter.sources._session import read_session

    return read_session(path)[-1:]


def _live(
    stack: ExitStack, targets: list[str], seconds: float, record: Path | None
) -> "Iterator[Moment]":
    """Readings of this machine's GPUs without an end, each kept where ``record`` says."""
    from kmeter.model.live import FIRST_INTERVAL_S
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
    wait = FIRST_INTERVAL_S
    while True:
        time.sleep(wait)
        began = time.monotonic()
        moment = cards.read()
        if writer is not None:
            writer.write(moment)
        yield moment
        wait = max(0.0, seconds - (time.monotonic() - began))
