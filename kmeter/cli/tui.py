"""``kmeter tui``: the dashboard."""

from pathlib import Path
from typing import Annotated

import typer

from kmeter.cli.options import Ascii
from kmeter.errors import ExitCode, UsageError


def tui(
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", "-d", metavar="TARGET", help="Ordinal, UUID or bus id; once a GPU."
        ),
    ] = None,
    pane: Annotated[
        str, typer.Option("--pane", help="device, occupancy, roofline, live, ceilings or bench.")
    ] = "",
    demo: Annotated[
        bool, typer.Option("--demo", help="Play two minutes of an H200; needs no GPU.")
    ] = False,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Play a recorded session.")
    ] = None,
    bench: Annotated[
        list[Path] | None,
        typer.Option("--bench", metavar="FILE", help="A saved run, onto the roofline."),
    ] = None,
    kernels: Annotated[
        list[Path] | None,
        typer.Option(
            "--kernels", metavar="FILE", help="Compiled kernels, into the occupancy pane."
        ),
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", min=0.01, max=1000.0, help="Of --demo and --replay.")
    ] = 1.0,
    interval: Annotated[
        str | None,
        typer.Option("--interval", "-i", metavar="TIME", help="From one reading to the next; 1s."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="In the browser, on this machine alone.")
    ] = False,
    serve_at: Annotated[
        str, typer.Option("--serve-at", metavar="HOST:PORT", help="Where --serve listens.")
    ] = "127.0.0.1:8000",
    ascii_mode: Ascii = False,
) -> int:
    """Everything on one screen: the card, occupancy, roofline, live clocks, ceilings, benchmarks."""
    from kmeter.cli.dashboard import open_dashboard, parse_interval
    from kmeter.tui import PANES
    from kmeter.units import quoted

    if pane and pane not in PANES:
        raise UsageError(f"--pane is one of {', '.join(PANES)}, not {quoted(pane)}")
    if demo and replay is not None:
        raise UsageError("--demo and --replay are two sessions", "Take one of them")
    if device and (demo or replay is not None):
        raise UsageError("a session reads no GPU: -d does not go with it")
    seconds = None if interval is None else parse_interval(interval)
    if serve:
        from kmeter.cli._serve import serve as serve_forever

        serve_forever(
            serve_at,
            [
                *(part for target in device or () for part in ("-d", target)),
                *(("--pane", pane) if pane else ()),
                *(("--demo",) if demo else ()),
                *(part for path in bench or () for part in ("--bench", str(path.resolve()))),
                *(part for path in kernels or () for part in ("--kernels", str(path.resolve()))),
                *(("--replay", str(replay.resolve())) if replay is not None else ()),
                *(("-i", interval) if interval is not None else ()),
                "--speed", str(speed),
            ],
        )  # fmt: skip
        return ExitCode.OK
    return open_dashboard(
        pane=pane or ("occupancy" if kernels else ""), targets=device or (), interval_s=seconds, replay=replay, demo=demo, speed=speed,
        runs=bench or (), kernel_files=kernels or (), ascii_mode=ascii_mode,
    )  # fmt: skip
