"""``kmeter top``: the GPUs of this machine while they work."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

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
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """Clocks, power, heat, memory, busy units and processes of GPUs, now and again.

    Where stdout is no terminal, and with --json, one reading is printed.
    """
    import sys

    from kmeter.cli.output import console, show, show_json
    from kmeter.model.live import ORDERS, Moment, ordered
    from kmeter.sources._live import LiveCards
    from kmeter.units import parse_seconds, quoted
    from kmeter.views.live import LiveView, live_document

    if sort not in ORDERS:
        raise UsageError(f"--sort is one of {', '.join(ORDERS)}, not {quoted(sort)}")
    seconds = parse_seconds(interval)
    if seconds < _LEAST_S:
        raise UsageError("--interval is at least 100 ms: NVML's counters take so long")
    cards = LiveCards(device or ())

    def read() -> Moment:
        moment = cards.read()
        return moment._replace(gpus=ordered(moment.gpus, sort))

    try:
        time.sleep(_FIRST_S)
        if as_json:
            show_json(live_document(read()))
        elif once or not sys.stdout.isatty():
            show(LiveView(read()), ascii_mode=ascii_mode)
        else:
            _watch(console(ascii_mode=ascii_mode), lambda: LiveView(read()), seconds)
    finally:
        cards.close()


def _watch(out: "Console", view: "Callable[[], LiveView]", seconds: float) -> None:
    """Draw until Ctrl-C, the way to end it, on a screen of its own that is gone afterwards."""
    from rich.live import Live

    with (
        suppress(KeyboardInterrupt),
        Live(view(), console=out, screen=True, auto_refresh=False) as live,
    ):
        while True:
            time.sleep(seconds)
            live.update(view(), refresh=True)
