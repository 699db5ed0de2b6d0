"""``kmeter top``: the GPUs of this machine while they work, or a session that was recorded.

In a terminal it opens the dashboard; elsewhere it prints a reading, or serves readings to Prometheus.
"""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kmeter.cli.dashboard import open_dashboard, parse_interval
from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import ExitCode, KmeterError, NoGpuError, UsageError

if TYPE_CHECKING:
    from kmeter.cli._prometheus import Exporter
    from kmeter.model.live import Moment
    from kmeter.sources._watch import Listener


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
        bool, typer.Option("--headless", help="No screen: record or serve until Ctrl-C.")
    ] = False,
    prometheus: Annotated[
        str | None,
        typer.Option("--prometheus", metavar="[HOST:]PORT", help="Serve readings; on 127.0.0.1."),
    ] = None,
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
    from kmeter.model.live import ORDERS
    from kmeter.units import quoted

    if sort not in ORDERS:
        raise UsageError(f"--sort is one of {', '.join(ORDERS)}, not {quoted(sort)}")
    seconds = parse_interval(interval or "1s")
    if headless and record is None and prometheus is None:
        raise UsageError(
            "--headless shows nothing: it goes with --record FILE or --prometheus PORT"
        )
    if headless and replay is not None:
        raise UsageError("--replay reads no GPU: --headless does not go with it")
    if replay is not None and (record is not None or device):
        raise UsageError("--replay reads no GPU: -d and --record do not go with it")
    if prometheus is not None:
        _check_served(once=once, as_json=as_json, headless=headless, replay=replay)
    if headless:
        return _watch_unseen(device or [], seconds, record, prometheus)
    if once or as_json or not sys.stdout.isatty():
        moment = _recorded(replay) if replay is not None else _read_once(device or [], record)
        return _show(moment, sort, as_json=as_json, ascii_mode=ascii_mode)
    with _served(prometheus) as exporter:
        return open_dashboard(
            pane="live", targets=device or (), interval_s=seconds if interval else None,
            needs_gpu=replay is None, order=sort, record=record, exporter=exporter, replay=replay, speed=speed, ascii_mode=ascii_mode,
        )  # fmt: skip


def _check_served(*, once: bool, as_json: bool, headless: bool, replay: Path | None) -> None:
    """Raise UsageError for what --prometheus does not go with."""
    if once or as_json:
        raise UsageError("--prometheus reads on and on: --once and --json do not go with it")
    if replay is not None:
        raise UsageError("--replay reads no GPU: --prometheus does not go with it")
    if not headless and not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UsageError("there is no terminal here: --prometheus needs --headless")


def _served(address: str | None) -> "AbstractContextManager[Exporter | None]":
    if address is None:
        return nullcontext()
    from kmeter.cli._prometheus import exporter_at

    return exporter_at(address)


def _watch_unseen(
    targets: Sequence[str], interval_s: float, record: Path | None, address: str | None
) -> int:
    """Record and serve until Ctrl-C, or until it is asked to end."""
    from kmeter.cli._interrupt import interruptible
    from kmeter.cli.output import warn

    with suppress(KeyboardInterrupt), interruptible(), _served(address) as exporter:
        if exporter is not None:
            warn(f"serving http://{exporter.served_at}/metrics until Ctrl-C")
        listeners = [] if exporter is None else [exporter.tell]
        _watch(targets, interval_s, listeners, Event(), record)
    return ExitCode.OK


def _read_once(targets: Sequence[str], record: Path | None) -> "Moment":
    moments: list[Moment] = []
    over = Event()
    _watch(targets, 0.0, [moments.append, lambda _: over.set()], over, record)
    return moments[0]


def _watch(
    targets: Sequence[str],
    interval_s: float,
    listeners: "Sequence[Listener]",
    over: Event,
    record: Path | None,
) -> None:
    """Readings of this machine's GPUs until ``over``, each kept where ``record`` says."""
    from kmeter.sources._live import LiveCards
    from kmeter.sources._session import SessionWriter
    from kmeter.sources._watch import watch

    try:
        cards = LiveCards(targets)
    except NoGpuError as error:
        raise NoGpuError(error.message, "--replay FILE shows a recorded session") from None
    writer = SessionWriter(record) if record is not None else None
    watch(cards, interval_s, listeners, _give_up, over, writer)


def _give_up(error: KmeterError) -> NoReturn:
    raise error


def _recorded(path: Path) -> "Moment":
    """The last moment of a session."""
    from kmeter.sources._session import read_session

    return read_session(path)[-1]


def _show(moment: "Moment", sort: str, *, as_json: bool, ascii_mode: bool) -> int:
    from kmeter.cli.output import show, show_json
    from kmeter.model.live import ordered
    from kmeter.views.live import LiveView, live_document

    moment = moment._replace(gpus=ordered(moment.gpus, sort))
    if as_json:
        show_json(live_document(moment))
    else:
        show(LiveView(moment), ascii_mode=ascii_mode)
    return ExitCode.OK
