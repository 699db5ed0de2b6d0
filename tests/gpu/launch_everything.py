"""Launch every kernel of every probe a few times with little work, for a memory checker to watch.

    compute-sanitizer --error-exitcode 9 python tests/gpu/launch_everything.py

Every probe runs with its checks, but what is timed is as short as it can be.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from kmeter.measure import worker
from kmeter.measure.events import Event, Finished
from kmeter.measure.plan import Options
from kmeter.measure.probes import dram, latency, probes
from kmeter.measure.race import Entrant, Winner
from kmeter.model.ceiling import Status

LITTLE = Options(quick=True, repeat=1, array_bytes=4 * 2**20, matmul_n=256)
FEW = 3
TOO_LITTLE = ("above its limit", "too short for the GPU's timer")
"""Failures that come of timing so little, and not of a wrong result."""


def main(names: list[str]) -> int:
    """0 where every probe ran and found its results right."""
    import cupy

    _do_little()
    failed = []

    def see(event: Event) -> None:
        if isinstance(event, Finished):
            free = cupy.cuda.runtime.memGetInfo()[0] // 2**20
            ceiling = event.ceiling
            print(ceiling.name, ceiling.status, ceiling.reason, f"{free} MiB free", flush=True)
            is_wrong = not any(words in ceiling.reason for words in TOO_LITTLE)
            if ceiling.status is Status.FAILED and is_wrong:
                failed.append(event.ceiling.name)

    chosen = names or [probe.name for probe in probes()]
    worker.serve(worker.Request("0", chosen, LITTLE), see)
    return 1 if failed else 0


def _do_little() -> None:
    """Short loops, and of many variants of a kernel the first few."""
    assert list(probes())  # every module is loaded now
    for module in list(sys.modules.values()):
        for name, replacement in _REPLACEMENTS.items():
            if getattr(module, "__name__", "").startswith("kmeter.measure") and hasattr(
                module, name
            ):
                setattr(module, name, replacement)
    latency.HOPS, latency.LAUNCHES = 64, 3
    dram.SCOUT_BLOCKS = (256,)


def _race(
    gpu: Any,
    entrants: Sequence[Entrant],
    options: Options,
    tell: Callable[[str], None] = lambda _: None,
    *,
    rest_s: float = 0.0,
) -> Winner:
    for entrant in entrants[:FEW]:
        entrant.launch()
    entrant = entrants[min(FEW, len(entrants)) - 1]
    return Winner(entrant, (entrant.work / gpu.seconds(entrant.launch),), None)


def _passes_lasting(gpu: Any, seconds: float, launch: Callable[[int], None]) -> int:
    return 1


def _passes_for(work_per_pass: float, rate: float, seconds: float, most: int = 1) -> int:
    return 1


_REPLACEMENTS = {"race": _race, "passes_lasting": _passes_lasting, "passes_for": _passes_for}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
