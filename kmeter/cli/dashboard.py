"""The dashboard from the command line: what ``kmeter top`` and ``kmeter tui`` have in common."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kmeter.cli.output import speaks_unicode, warn
from kmeter.errors import NoGpuError, UsageError
from kmeter.model.live import LEAST_INTERVAL_S
from kmeter.units import parse_seconds

if TYPE_CHECKING:
    from kmeter.cli._prometheus import Exporter
    from kmeter.model.compiled_kernel import CompiledKernel
    from kmeter.model.roofline import KernelPoint


def parse_interval(text: str) -> float:
    """Seconds from one reading to the next; raises UsageError."""
    seconds = parse_seconds(text)
    if seconds < LEAST_INTERVAL_S:
        raise UsageError("--interval is at least 100 ms: NVML's counters take so long")
    return seconds


def open_dashboard(
    *,
    pane: str = "",
    targets: Sequence[str] = (),
    interval_s: float | None = None,
    order: str = "index",
    record: Path | None = None,
    exporter: "Exporter | None" = None,
    replay: Path | None = None,
    demo: bool = False,
    runs: Sequence[Path] = (),
    kernel_files: Sequence[Path] = (),
    needs_gpu: bool = False,
    speed: float = 1.0,
    ascii_mode: bool = False,
) -> int:
    """Show it until its user leaves; the exit code. Raises UsageError where there is no terminal."""
    from kmeter.sources._session import SessionWriter, read_session
    from kmeter.tui.app import KmeterApp
    from kmeter.tui.demo import demo_session
    from kmeter.tui.settings import settings_file
    from kmeter.tui.start import Start

    is_served = "TEXTUAL_DRIVER" in os.environ  # textual-serve is the terminal then
    if not is_served and not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UsageError("the dashboard needs a terminal", "kmeter top --once prints a reading")
    moments = demo_session() if demo else read_session(replay) if replay is not None else ()
    start = Start(
        pane=pane,
        targets=targets,
        interval_s=interval_s,
        order=order,
        record=SessionWriter(record) if record is not None else None,
        listeners=[exporter.tell] if exporter is not None else (),
        served_at=exporter.served_at if exporter is not None else "",
        moments=moments,
        speed=speed,
        points=[point for path in runs for point in _points_of(path)],
        kernels=[kernel for path in kernel_files for kernel in _kernels_of(path)],
        title="demo:" if demo else replay.name if replay is not None else "",
        settings_file=settings_file(),
        needs_gpu=needs_gpu,
        is_ascii=ascii_mode or not speaks_unicode(),
    )
    app = KmeterApp(start)
    app.run()
    if app.parting_words:
        warn(app.parting_words)
    if isinstance(app.failure, NoGpuError):
        way_out = "--replay FILE shows a recorded session, kmeter tui --demo one of an H200"
        raise NoGpuError(app.failure.message, way_out)
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


def _points_of(path: Path) -> "list[KernelPoint]":
    """The kernels of a saved run that have FLOP and bytes; raises UsageError for another file."""
    from kmeter.bench.saved import points_of

    return [point for _, point in points_of(path)]


def _kernels_of(path: Path) -> "list[CompiledKernel]":
    """The kernels of a compiled file or a cache's folder whose registers are known."""
    from kmeter.kernels.files import kernels_of

    known = [k for k in kernels_of(path).kernels if k.registers_per_thread is not None]
    if not known:
        raise UsageError(f"{path} holds no kernel whose registers are known")
    return known
