"""The planners: sizes, buffers, grids and repetitions, with plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmeter.measure.plan import (
    GIB,
    GRAIN,
    LARGEST_ARRAY,
    LARGEST_TOTAL,
    MIB,
    MOST_OF_FREE,
    GpuFacts,
    Options,
    fastest,
    large_l2_set,
    launches_for,
    passes_for,
    plan_arrays,
    planned_bytes,
    small_l2_set,
    sweep_sizes,
)
from kmeter.measure.probes.dram import CHUNKS, grids, variants
from kmeter.measure.probes.intensity import flops
from kmeter.measure.probes.l2 import Shape, fits, shapes, slice_bytes
from kmeter.measure.probes.matmul import PRODUCTS, sizes
from kmeter.measure.probes.tensor import wgmma_shapes
from kmeter.measure.probes.working_set import TOGETHER_BYTES, shape_for

H200 = GpuFacts((9, 0), 132, 60 * MIB, 139 * GIB, 140 * GIB, 232448, 1.98e9)
LAPTOP = GpuFacts((8, 6), 20, 2 * MIB, 3 * GIB, 4 * GIB, 101376, 1.5e9)
RTX_5090 = GpuFacts((12, 0), 170, 96 * MIB, 31 * GIB, 32 * GIB, 101376, 2.4e9)
CARDS = [H200, LAPTOP, RTX_5090]


# ---- arrays ---------------------------------------------------------------------------------


def test_a_large_card_gets_large_arrays() -> None:
    plan = plan_arrays(H200, 3)
    assert plan is not None
    assert plan.array_bytes == LARGEST_TOTAL // 3
    assert plan_arrays(H200, 1) == (LARGEST_ARRAY, 1, "")
    assert plan.note == ""


def test_a_small_card_gets_what_is_free() -> None:
    plan = plan_arrays(LAPTOP, 3)
    assert plan is not None
    assert 0.5 * GIB < plan.array_bytes < 0.7 * GIB
    assert plan.held_bytes <= LAPTOP.free_bytes * MOST_OF_FREE


@given(
    free=st.integers(0, 300 * GIB),
    l2=st.integers(0, 200 * MIB),
    count=st.integers(1, 3),
    asked=st.none() | st.integers(1, 400 * GIB),
)
def test_no_plan_takes_more_than_is_free(free: int, l2: int, count: int, asked: int | None) -> None:
    facts = H200._replace(free_bytes=free, l2_bytes=l2)
    plan = plan_arrays(facts, count, asked)
    if plan is not None:
        assert plan.array_bytes % GRAIN == 0 < plan.array_bytes
        assert plan.held_bytes <= free * MOST_OF_FREE
    assert planned_bytes(facts, Options(array_bytes=asked)) <= free * 0.9


def test_a_set_inside_l2_is_called_so() -> None:
    inside = plan_arrays(H200, 3, 16 * MIB)
    partly = plan_arrays(H200, 1, 100 * MIB)
    assert inside is not None
    assert partly is not None
    assert inside.note == "inside L2: this is not DRAM"
    assert partly.note == "less than twice L2: L2 serves a part of it"


def test_without_memory_there_is_no_plan() -> None:
    assert plan_arrays(H200._replace(free_bytes=MIB), 3) is None


@pytest.mark.parametrize("card", CARDS)
def test_arrays_hold_whole_tiles_of_every_variant(card: GpuFacts) -> None:
    for variant in variants(card, quick=False):
        tile = 4 * variant["WORDS"] * variant["UNROLL"] * 1024
        assert GRAIN % (2 * tile) == 0


def test_wide_vectors_are_tried_from_blackwell_on() -> None:
    assert {v["WORDS"] for v in variants(H200, quick=False)} == {4}
    assert {v["WORDS"] for v in variants(RTX_5090, quick=False)} == {4, 8}
    old = RTX_5090._replace(compiler=(12, 8))
    assert {v["WORDS"] for v in variants(old, quick=False)} == {4}


def test_grids_are_a_few_blocks_an_sm_or_one_a_tile() -> None:
    assert dict(grids(132, 10_000, 8192, scouting=False, chunked=False)) == {
        132: "1 blocks per SM",
        264: "2 blocks per SM",
        528: "4 blocks per SM",
        1056: "8 blocks per SM",
        2112: "16 blocks per SM",
        10_000: "a block a tile",
    }
    assert dict(grids(132, 100, 8192, scouting=False, chunked=False)) == {100: "a block a tile"}


def test_chunks_are_whole_tiles() -> None:
    found = dict(grids(132, 65536, 131072, scouting=False, chunked=True))
    assert 65536 * 131072 // CHUNKS[0] in found
    assert "a block a tile" not in found.values()


# ---- caches ---------------------------------------------------------------------------------


def test_sets_in_l2() -> None:
    assert (small_l2_set(H200), large_l2_set(H200)) == (2 * MIB, 16 * MIB)
    assert large_l2_set(LAPTOP) == MIB // 2


def test_the_sweep_goes_from_16_kib_to_four_times_l2() -> None:
    sizes = sweep_sizes(H200, quick=False)
    assert (sizes[0], sizes[-1]) == (16 * 1024, 224 * MIB)
    assert list(sizes) == sorted(set(sizes))
    assert set(sweep_sizes(H200, quick=True)) < set(sizes)


@pytest.mark.parametrize("card", CARDS)
def test_every_size_of_the_sweep_is_whole_steps(card: GpuFacts) -> None:
    for size in sweep_sizes(card, quick=False):
        shape = shape_for(size)
        if size <= TOGETHER_BYTES:
            assert size % shape.step_bytes == 0
        else:
            part = slice_bytes(size, shape, card.sm_count)
            assert part % shape.step_bytes == 0
            assert part * card.sm_count * shape.blocks_per_sm <= 2 * size


@pytest.mark.parametrize("card", CARDS)
def test_parts_of_blocks_come_near_the_set_that_is_meant(card: GpuFacts) -> None:
    size = large_l2_set(card)
    chosen = [shape for shape in shapes(quick=False) if fits(size, shape, card.sm_count)]
    assert chosen
    for shape in chosen:
        whole = slice_bytes(size, shape, card.sm_count) * card.sm_count * shape.blocks_per_sm
        assert abs(whole - size) <= 0.15 * size


def test_a_shape_fits_an_sm() -> None:
    assert all(s.threads * s.blocks_per_sm <= 2048 for s in shapes(quick=False))
    assert Shape(256, 4, 2).step_bytes == 256 * 4 * 16


# ---- matrices -------------------------------------------------------------------------------


def test_matrices_fit_the_memory_that_is_free() -> None:
    for product in PRODUCTS:
        for card in CARDS:
            for n in sizes(card, product, None, quick=False):
                assert 3 * n * n * product.encoding.bytes <= card.free_bytes
    assert sizes(LAPTOP, PRODUCTS[0], 777, quick=False) == [777]
    assert sizes(LAPTOP._replace(free_bytes=1000), PRODUCTS[0], None, quick=False) == []


def test_matrices_fit_the_plan_also_beside_small_arrays() -> None:
    for card in CARDS:
        planned = planned_bytes(card, Options(array_bytes=MIB))
        for product in PRODUCTS:
            for n in sizes(card, product, None, quick=False):
                assert 4 * n * n * product.encoding.bytes <= planned, (card, product.name, n)


def test_operands_of_wgmma_fit_shared_memory() -> None:
    assert all(s.shared_bytes <= 232448 for s in wgmma_shapes(232448, quick=False))
    assert list(wgmma_shapes(1024, quick=False)) == []


def test_intensities_go_from_a_sixteenth_to_256() -> None:
    found = [flop / 16 for flop in flops(quick=False)]
    assert (found[0], found[-1], len(found)) == (1 / 16, 256, 13)


# ---- repetition -----------------------------------------------------------------------------


def test_launches_fill_a_sample() -> None:
    assert launches_for(1e-3, 5e-3) == 5
    assert launches_for(1.0, 5e-3) == 1
    assert launches_for(0.0, 5e-3) == 10_000


def test_passes_fill_a_kernel() -> None:
    assert passes_for(1e9, 1e12, 1e-3) == 1
    assert passes_for(1e6, 1e12, 1e-3) == 1000


def test_the_fastest_come_first() -> None:
    assert fastest([3.0, 1.0, 2.0], 2) == [1, 2]
