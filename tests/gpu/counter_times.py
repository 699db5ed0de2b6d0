"""What Nsight Compute's counters say that each kernel of timed_kernels.py takes: clocks are left alone.

    python tests/gpu/counter_times.py OUT.json

Runs itself under ``ncu --clock-control none``, once with ncu's own flush before each kernel (``clean``: no
dirty lines in L2) and once without (``warm``). A call's time is the sum over its kernels. Needs ncu.
"""

import csv
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kmeter.bench.cases import cases_of
from kmeter.bench.loading import load

CALLS = 15
MARK = "mark_of_a_case"
KERNELS = Path(__file__).parent.parent / "data" / "bench" / "timed_kernels.py"
CACHE_CONTROL = {"clean": "all", "warm": "none"}


def launch_all() -> None:
    """Under ncu: each kernel several times, a mark before each case; only this is profiled."""
    import cupy

    mark = cupy.RawKernel(f'extern "C" __global__ void {MARK}() {{}}', MARK)
    for case in cases_of(load(KERNELS)):
        call = case.arguments().given_to(case.benchmark.function, {})
        for _ in range(3):
            call()
        cupy.cuda.Device().synchronize()
        cupy.cuda.profiler.start()
        mark((1,), (1,), ())
        for _ in range(CALLS):
            call()
        cupy.cuda.Device().synchronize()
        cupy.cuda.profiler.stop()


def report(cache_control: str) -> str:
    """ncu's CSV of a run."""
    ncu = ["ncu", "--clock-control", "none", "--cache-control", cache_control]
    ncu += ["--profile-from-start", "off", "--metrics", "gpu__time_duration.sum", "--csv"]
    command = [*ncu, "--print-units", "base", sys.executable, __file__, "--launch"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def seconds_by_case(text: str) -> Iterator[float]:
    """The median time of a call in each case, in their order."""
    lines = text[text.index('"ID"') :].splitlines()
    groups: list[list[float]] = []
    for row in csv.DictReader(lines):
        if MARK in row["Kernel Name"]:
            groups.append([])
        else:
            groups[-1].append(float(row["Metric Value"].replace(",", "")) * 1e-9)
    for times in groups:
        kernels = len(times) // CALLS
        calls = [sum(times[i : i + kernels]) for i in range(0, len(times), kernels)]
        yield statistics.median(calls)


def main(file: str) -> None:
    """Both cache states of every kernel, seconds."""
    names = [case.name for case in cases_of(load(KERNELS))]
    found = {
        state: dict(zip(names, seconds_by_case(report(control)), strict=True))
        for state, control in CACHE_CONTROL.items()
    }
    Path(file).write_text(json.dumps(found, indent=1))
    for name in names:
        print(name, *(f"{state} {times[name] * 1e6:.2f}" for state, times in found.items()))


if __name__ == "__main__":
    if sys.argv[1] == "--launch":
        launch_all()
    else:
        main(sys.argv[1])
