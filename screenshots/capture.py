"""Draw every picture of the README: what the commands print and the dashboard shows, as SVG.

    make screenshots

The catalogue and recordings of a real H200 are shown; no GPU, no clock and no terminal is involved, so the same code gives the same pictures.
"""

import asyncio
import io
import random
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from kmeter.cli import output
from kmeter.cli.main import main
from kmeter.errors import ExitCode
from kmeter.fleet.reports import save_report
from kmeter.model.ceiling import Ceiling
from kmeter.sources._ceilings import reference_ceilings
from kmeter.tui.app import KmeterApp
from kmeter.tui.demo import demo_session
from kmeter.tui.picture import picture_of
from kmeter.tui.start import Start

HERE = Path(__file__).parent

COMMANDS = {
    "info": "info -d snapshot:h200",
    "occupancy": "occupancy --block 256 --regs 64 --cc 8.6",
    "kernels": "occupancy tests/data/kernels/cubin/130/spill.sm_86.cubin --sort occupancy",
    "heatmap": "occupancy --block 256 --regs 64 --cc 8.6 --heatmap",
    "roofline": (
        "roofline -d h100-sxm --dtype fp32 --dtype bf16-tensor --ai 0.33 "
        "--point softmax,flop=2.5GFLOP,bytes=2GB,time=700us "
        "--point gemm,flop=137.4GFLOP,bytes=100MB,time=2.6ms"
    ),
    "ceiling": "ceiling --show h200",
    "bench": "bench --show tests/data/bench/h200-run.json",
    "gpus": "gpus h100 h200 b200 4090 5090",
    "compare": "compare h100-sxm a100-sxm-80gb 4090 --ai 0.33",
}
PANES = {
    "tui-live": ("live", 75),
    "tui-roofline": ("roofline", 15),
    "tui-occupancy": ("occupancy", 75),
}
"""Pictures of the dashboard: the pane, and the second of the session that comes along."""
PANE_SIZE = (100, 30)
FLEET_TESTS = (
    "dram-read", "dram-copy", "l2-read", "latency-dram", "launch-stream", "arithmetic-fp32", "tensor-fp16",
    "host-h2d",
)  # fmt: skip
GPUS, HOT, NARROW = 64, 37, 12
WIDTHS = {"heatmap": 76, "bench": 104, "kernels": 136}
WIDTH = 92

# Rich's own template fetches its font from the network; a picture should not.
TEMPLATE = CONSOLE_SVG_FORMAT.replace(
    CONSOLE_SVG_FORMAT[
        CONSOLE_SVG_FORMAT.index("@font-face") : CONSOLE_SVG_FORMAT.index(".{unique_id}-matrix")
    ],
    "",
).replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")

THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34),
     (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
    [(110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65),
     (121, 192, 255), (210, 168, 255), (86, 212, 221), (240, 246, 252)],
)  # fmt: skip


@contextmanager
def recording(width: int) -> Iterator[Console]:
    """Seat a recording console where the commands get theirs."""
    recorder = Console(
        file=io.StringIO(), record=True, width=width, force_terminal=True,
        color_system="truecolor", markup=False, highlight=False, emoji=False,
    )  # fmt: skip
    original = output.console
    output.console = lambda *, ascii_mode=False: recorder
    try:
        yield recorder
    finally:
        output.console = original


def capture(name: str, command: str, shown: str = "", expected: int = 0) -> None:
    """Draw what a command prints; ``shown`` stands above it in place of the command itself."""
    with recording(WIDTHS.get(name, WIDTH)) as recorder:
        recorder.print(Text(f"$ kmeter {shown or command}", style="bold"))
        recorder.print()
        if main(shlex.split(command)) != expected:
            sys.exit(f"kmeter {command} failed")
        recorder.save_svg(
            str(HERE / f"{name}.svg"), title="kmeter", theme=THEME, code_format=TEMPLATE,
            unique_id=name,
        )  # fmt: skip


def write_fleet(folder: Path) -> None:
    """Reports of 64 GPUs that nobody has: a recorded H200 with 1 % of noise, two of them slow."""
    recorded, noise = reference_ceilings("h200"), random.Random(4)
    for number in range(GPUS):
        ceilings = tuple(
            replace(
                _as_measured(c, number), value=(c.value or 0) * noise.gauss(_share(c, number), 0.01)
            )
            for c in recorded.ceilings
            if c.name in FLEET_TESTS
        )
        gpu = replace(
            recorded, uuid=f"GPU-{number:08x}-6572-4832-8030-000000000001",
            host=f"node{number // 8:02}", pci_bus_id=f"0000:{number % 8:x}b:00.0",
            power_limit_w=700.0, ceilings=ceilings, pcie_width=8 if number == NARROW else 16,
        )  # fmt: skip
        save_report(gpu, folder)


def _share(ceiling: Ceiling, number: int) -> float:
    if number == HOT and ceiling.level in {"arithmetic", "tensor"}:
        return 0.62
    return 0.5 if number == NARROW and ceiling.level == "host link" else 1.0


def _as_measured(ceiling: Ceiling, number: int) -> Ceiling:
    """Quick, and of the hot one what held its clock down."""
    ceiling = replace(ceiling, is_quick=True)
    if number != HOT:
        return ceiling
    conditions = replace(ceiling.conditions, sm_clock_hz=1.2e9, throttle_reasons_mask=0x40)
    return replace(ceiling, conditions=conditions)


def capture_fleet() -> None:
    with TemporaryDirectory() as folder:
        write_fleet(Path(folder))
        command = shlex.join(["fleet", "report", folder])
        capture("fleet", command, "fleet report /shared/reports", ExitCode.GATE_FAILED)


def capture_pane(name: str, pane: str, seconds: int) -> None:
    """A pane of the dashboard at that second."""

    async def show() -> str:
        app = KmeterApp(Start(pane=pane, moments=demo_session(), title="demo:", is_ticking=False))
        async with app.run_test(size=PANE_SIZE) as pilot:
            await app.workers.wait_for_complete()
            app.action_seek(seconds)
            await pilot.pause()
            return picture_of(app)

    (HERE / f"{name}.svg").write_text(asyncio.run(show()), "utf-8")


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        capture(name, command)
        print(HERE / f"{name}.svg")
    capture_fleet()
    print(HERE / "fleet.svg")
    for name, (pane, seconds) in PANES.items():
        capture_pane(name, pane, seconds)
        print(HERE / f"{name}.svg")
    figure = HERE / "roofline-figure.svg"
    with recording(WIDTH):
        main([*shlex.split(COMMANDS["roofline"]), "--svg", str(figure)])
    print(figure)
