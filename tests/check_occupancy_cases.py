"""Compare kmeter's occupancy with the answers of cuda_occupancy.h in a file of cases.

    python tests/check_occupancy_cases.py tests/data/occupancy.jsonl.gz

Prints ``N of M equal`` and the first differences; exits 1 on any.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kmeter.errors import InvalidLaunchError, UnknownArchitectureError
from kmeter.model.architecture import Architecture, architecture
from kmeter.model.launch import CachePreference, GlobalCaching, Launch
from kmeter.model.occupancy import occupancy
from kmeter.model.potential import (
    best_block,
    dynamic_shared_room,
    unclamped_dynamic_shared_room,
)

CASES = Path(__file__).parent / "data" / "occupancy.jsonl.gz"
SHOWN = 5

OK, INVALID_INPUT, UNKNOWN_DEVICE = 0, 1, 2
CACHE = (
    CachePreference.NONE,
    CachePreference.SHARED,
    CachePreference.L1,
    CachePreference.EQUAL,
)
GLOBAL_CACHING = (GlobalCaching.OFF, GlobalCaching.ON, GlobalCaching.STRICT)
NOT_COMPARED = {"avail_sound"}


def launch_of(case: dict[str, Any]) -> Launch:
    return Launch(
        block_size=case["block"],
        registers_per_thread=case["regs"],
        static_shared_bytes=case["static"],
        dynamic_shared_bytes=case["dynamic"],
        shared_opt_in=case["optin"],
        max_dynamic_shared_bytes=case["max_dynamic"],
        carveout_percent=None if case["carveout"] == -1 else case["carveout"],
        cache_preference=CACHE[case["cache"]],
        global_caching=GLOBAL_CACHING[case["gc"]],
        barriers=case["barriers"],
        max_threads_per_block=case["max_threads"],
    )


def answer(case: dict[str, Any], sm_counts: dict[str, int]) -> dict[str, Any]:
    """What kmeter says to a case, in the fields of ``want``."""
    try:
        sm = architecture(case["cc"])
        launch = launch_of(case)
        found = occupancy(sm, launch)
    except UnknownArchitectureError:
        return {"status": UNKNOWN_DEVICE}
    except InvalidLaunchError:
        return {"status": INVALID_INPUT}
    best = best_block(sm, launch)
    return {
        "status": OK,
        "blocks": found.blocks_per_sm,
        "warps": found.active_warps_per_sm,
        "limits": list(found.limiters),
        "by": found.blocks_allowed_by,
        "alloc_regs": found.allocated_registers_per_block,
        "alloc_smem": found.allocated_shared_bytes_per_block,
        "gc": GLOBAL_CACHING.index(found.global_caching),
        "best_block": best.block_size,
        "min_grid": best.min_grid(sm_counts[case["cc"]]),
        "avail": room(sm, launch, case["avail_n"]),
    }


def room(sm: Architecture, launch: Launch, blocks: int) -> int | None:
    """The header's room, also where its unsigned subtraction wraps and kmeter's says 0."""
    if blocks < 1:
        return None
    found = dynamic_shared_room(sm, launch, blocks)
    if found == 0 and unclamped_dynamic_shared_room(sm, launch, blocks) < 0:
        return launch.dynamic_shared_limit
    return found


def differences(case: dict[str, Any], sm_counts: dict[str, int]) -> list[str]:
    found = answer(case, sm_counts)
    return [
        f"{field}: want {want!r}, found {found.get(field)!r}"
        for field, want in case["want"].items()
        if field not in NOT_COMPARED and found.get(field) != want
    ]


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines():
        if line.strip():
            yield json.loads(line)


def read_sm_counts() -> dict[str, int]:
    table = json.loads((CASES.parent / "compute_capabilities.json").read_text())
    return {device["cc"]: device["num_sms"] for device in table["devices"]}


def main(path: Path) -> int:
    sm_counts = read_sm_counts()
    total = 0
    wrong: list[tuple[dict[str, Any], list[str]]] = []
    for case in read_cases(path):
        total += 1
        if found := differences(case, sm_counts):
            wrong.append((case, found))
    print(f"{total - len(wrong)} of {total} equal")
    for case, found in wrong[:SHOWN]:
        launch = {key: value for key, value in case.items() if key != "want"}
        print(f"  {launch}\n    " + "\n    ".join(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else CASES))
