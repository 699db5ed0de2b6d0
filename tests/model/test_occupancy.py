"""Occupancy equals NVIDIA's header, case by case, and a real driver's answers."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from check_occupancy_cases import CASES, differences, read_cases, read_sm_counts
from hypothesis import given
from hypothesis import strategies as st

from kmeter.model.architecture import ARCHITECTURES, architecture
from kmeter.model.clusters import max_active_clusters
from kmeter.model.launch import Launch
from kmeter.model.occupancy import occupancy

H200 = Path(__file__).parents[1] / "data" / "h200-occupancy.json.gz"
H200_GPCS = (18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2)
"""The GPC layout that this card's cluster counts imply; another H200 may have another."""


def cases_by_compute_capability() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for case in read_cases(CASES):
        found[case["cc"]].append(case)
    return found


CASES_OF = cases_by_compute_capability()


def test_there_are_cases_of_every_compute_capability() -> None:
    assert set(CASES_OF) == set(ARCHITECTURES)
    assert sum(map(len, CASES_OF.values())) == 3016


@pytest.mark.parametrize("cc", sorted(CASES_OF))
def test_every_field_equals_the_header(cc: str) -> None:
    sm_counts = read_sm_counts()
    assert [found for case in CASES_OF[cc] if (found := differences(case, sm_counts))] == []


# ---- a real H200 ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def h200() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(gzip.decompress(H200.read_bytes()))
    return recorded


def launch_of(h200: dict[str, Any], kernel: int, block: int, dynamic: int, carveout: int) -> Launch:
    attributes = h200["kernels"][kernel]
    return Launch(
        block_size=block,
        registers_per_thread=attributes["numRegs"],
        static_shared_bytes=attributes["sharedSizeBytes"],
        dynamic_shared_bytes=dynamic,
        max_dynamic_shared_bytes=232448 - attributes["sharedSizeBytes"],
        carveout_percent=None if carveout == -1 else carveout,
        barriers=barriers_of(attributes["name"]),
        max_threads_per_block=attributes["maxThreadsPerBlock"],
    )


def barriers_of(kernel: str) -> int:
    """The recorded kernels say in their names how many barriers they use: ``bar<8>``."""
    return int(kernel[4:-1]) if kernel.startswith("bar<") else 0


def test_equals_what_an_h200_answered(h200: dict[str, Any]) -> None:
    sm = architecture("9.0")
    wrong = [
        row
        for row in h200["rows"]
        if occupancy(sm, launch_of(h200, *row[:4])).blocks_per_sm != row[4]
    ]
    assert len(h200["rows"]) == 6000
    assert wrong == []


def test_clusters_equal_what_an_h200_answered(h200: dict[str, Any]) -> None:
    sm = architecture("9.0")
    wrong = []
    for kernel, block, dynamic, cluster, want in h200["clusters"]:
        blocks = occupancy(sm, launch_of(h200, kernel, block, dynamic, -1)).blocks_per_sm
        found = max_active_clusters(blocks, cluster, H200_GPCS)
        if found != want:
            wrong.append((kernel, block, dynamic, cluster, want, found))
    assert len(h200["clusters"]) == 200
    assert wrong == []


# ---- what must hold for any launch ----------------------------------------------------------

architectures = st.sampled_from(sorted(ARCHITECTURES)).map(architecture)
block_sizes = st.integers(1, 1024)
registers = st.integers(1, 255)
shared = st.integers(0, 230_000)


@given(architectures, block_sizes, registers, registers, shared)
def test_more_registers_never_raise_occupancy(
    sm: Any, block_size: int, one: int, other: int, dynamic: int
) -> None:
    few, many = (
        occupancy(sm, Launch(block_size, count, dynamic_shared_bytes=dynamic)).blocks_per_sm
        for count in sorted((one, other))
    )
    assert many <= few


@given(architectures, block_sizes, registers, shared, shared, st.none() | st.integers(0, 100))
def test_more_shared_memory_never_raises_occupancy(
    sm: Any, block_size: int, count: int, one: int, other: int, carveout: int | None
) -> None:
    little, much = (
        occupancy(
            sm,
            Launch(block_size, count, dynamic_shared_bytes=size, carveout_percent=carveout),
        ).blocks_per_sm
        for size in sorted((one, other))
    )
    assert much <= little


@given(architectures, block_sizes, st.integers(0, 255), shared, shared)
def test_what_is_resident_fits(
    sm: Any, block_size: int, count: int, static: int, dynamic: int
) -> None:
    found = occupancy(
        sm, Launch(block_size, count, static_shared_bytes=static, dynamic_shared_bytes=dynamic)
    )
    blocks = found.blocks_per_sm
    assert 0 <= found.fraction <= 1
    assert blocks <= sm.max_blocks_per_sm
    assert blocks * found.allocated_registers_per_block <= sm.registers_per_sm
    assert blocks * found.allocated_shared_bytes_per_block <= sm.shared_bytes_per_sm
    assert found.limiters
