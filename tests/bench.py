"""Measure kmeter's own speed, each figure as a ratio to something run beside it.

make bench
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from kmeter.model.architecture import architecture
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


if __name__ == "__main__":
    whole_processes()
    whole_sweep()
    whole_benchmarks()
