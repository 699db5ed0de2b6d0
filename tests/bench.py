"""Measure kmeter's own speed, each figure as a ratio to something run beside it.

make bench
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from fleets import noisy_fleet
from recorded import h200_run

from kmeter.fleet.reports import save_report
from kmeter.measure.catalogue import names_of
from kmeter.model.architecture import architecture
from kmeter.model.fleet_verdict import judge
from kmeter.model.launch import Launch
from kmeter.model.occupancy import occupancy
from kmeter.model.sweep import sweep

ROUNDS = 15
BARE_START = [sys.executable, "-c", "import typer, rich.table"]
KMETER = [sys.executable, "-c", "import sys; from kmeter.cli.main import main; sys.exit(main())"]
COMMANDS = {
    "kmeter --help": ["--help"],
    "kmeter occupancy": ["occupancy", "--block", "256", "--regs", "64", "--cc", "8.6"],
    "kmeter roofline": ["roofline", "-d", "h100-sxm", "--ai", "0.33"],
    "kmeter gpus": ["gpus"],
}


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def start(command: list[str]) -> float:
    return seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))


def whole_processes() -> None:
    """Each command against a bare start of its libraries, interleaved."""
    for name, arguments in COMMANDS.items():
        pairs = [(start(KMETER + arguments), start(BARE_START)) for _ in range(ROUNDS)]
        ratio = median(ours / bare for ours, bare in pairs)
        ours = median(pair[0] for pair in pairs)
        print(
            f"{name:18} {1e3 * ours:6.0f} ms  {ratio:5.2f} x python -c 'import typer, rich.table'"
        )


def whole_sweep() -> None:
    """All 1024 block sizes x 255 register counts, against computing every one of them."""
    sm, blocks, registers = architecture("8.6"), range(1, 1025), range(1, 256)
    ours = median(seconds(lambda: sweep(sm, Launch(1), blocks, registers)) for _ in range(ROUNDS))
    some = [Launch(block, count) for block in blocks[::32] for count in registers]
    one_by_one = seconds(lambda: [occupancy(sm, launch) for launch in some]) * 32
    print(
        f"{'1024 x 255 sweep':18} {1e3 * ours:6.0f} ms  {one_by_one / ours:5.0f} x faster than one by one"
    )


MANY = """
import numpy as np, kmeter
for n in range(20):
    kmeter.benchmark(f"k{n}", args=lambda: (np.random.rand(1000),), ref=np.sqrt)(np.sqrt)
"""


def whole_benchmarks() -> None:
    """20 small kernels in one file, against the time that their samples took; and a start."""
    with tempfile.TemporaryDirectory() as folder:
        file, saved = Path(folder) / "many.py", Path(folder) / "run.json"
        file.write_text(MANY)
        ours = start([*KMETER, "bench", str(file), "--save", str(saved)])
        samples = sum(row["sampling_s"] for row in json.loads(saved.read_text())["results"])
        listed = median(start([*KMETER, "bench", str(file), "--list"]) for _ in range(ROUNDS))
    print(f"{'20 benchmarks':18} {1e3 * ours:6.0f} ms  {ours / samples:5.2f} x their samples")
    bare = median(start(BARE_START) for _ in range(ROUNDS))
    print(f"{'bench --list':18} {1e3 * listed:6.0f} ms  {listed / bare:5.2f} x the bare start")


REPORTS, CARDS = 10_000, 100_000
PLAIN = (
    "import json, pathlib, sys; "
    "[json.loads(p.read_bytes()) for p in sorted(pathlib.Path(sys.argv[1]).iterdir())]"
)


def whole_fleets() -> None:
    """A folder of reports judged, against Python's json reading it; and figures that were made here."""
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder), REPORTS)
        command = [*KMETER, "fleet", "report", folder]
        pairs = [(start(command), start([sys.executable, "-c", PLAIN, folder])) for _ in range(5)]
        ratio, ours = median(a / b for a, b in pairs), median(pair[0] for pair in pairs)
        peak = peak_bytes(command) / 1e6
    print(
        f"{'10,000 reports':18} {1e3 * ours:6.0f} ms  {ratio:5.2f} x json.loads of them, {peak:.0f} MB"
    )
    cards = noisy_fleet(CARDS, {}, tests=20)
    judged = seconds(lambda: judge(cards))
    print(f"{'100,000 cards':18} {1e3 * judged:6.0f} ms  for the figures of 20 tests each")


def write_reports(folder: Path, count: int) -> None:
    """Reports of quick runs: a recorded one, each with noise of its own."""
    quick, noise = set(names_of(quick=True)), random.Random(1)
    recorded = h200_run()
    ceilings = [replace(c, is_quick=True) for c in recorded.ceilings if c.name in quick and c.value]
    for number in range(count):
        noisy = tuple(replace(c, value=(c.value or 0) * noise.gauss(1, 0.01)) for c in ceilings)
        gpu = f"GPU-{number:08x}-0000-0000-0000-000000000000"
        host = f"node{number // 8}"
        save_report(
            replace(recorded, uuid=gpu, host=host, power_limit_w=700.0, ceilings=noisy), folder
        )


def peak_bytes(command: list[str]) -> int:
    """The most memory that a command, run alone, ever held."""
    script = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], stdout=subprocess.PIPE, check=True
    )
    return int(done.stdout) * 1024


if __name__ == "__main__":
    whole_processes()
    whole_sweep()
    whole_benchmarks()
    whole_fleets()
