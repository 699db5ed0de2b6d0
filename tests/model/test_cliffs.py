"""The smallest change that gains a block, checked against trying every value."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kmeter.model.architecture import ARCHITECTURES, architecture
from kmeter.model.cliffs import (
    Change,
    cliffs,
    headroom,
    most_registers,
    with_shared_bytes,
)
from kmeter.model.launch import Launch
from kmeter.model.occupancy import occupancy
from kmeter.model.refusal import refusal

launches = st.builds(
    Launch,
    block_size=st.integers(1, 1024),
    registers_per_thread=st.integers(16, 128),
    static_shared_bytes=st.sampled_from([0, 1000, 8192]),
    dynamic_shared_bytes=st.sampled_from([0, 1000, 16384]),
)
architectures = st.sampled_from(sorted(ARCHITECTURES))


def blocks(cc: str, launch: Launch) -> int:
    return occupancy(architecture(cc), launch).blocks_per_sm


def test_fewer_registers_gain_a_block() -> None:
    by_registers, by_block = cliffs(architecture("8.6"), Launch(128, 54))
    assert by_registers.changes == (Change("registers", 54, 48),)
    assert (by_registers.before.blocks_per_sm, by_registers.after.blocks_per_sm) == (9, 10)
    assert by_block.changes == (Change("block_size", 128, 96),)


def test_where_two_resources_bind_both_must_change() -> None:
    both, *_ = cliffs(architecture("9.0"), Launch(256, 64, dynamic_shared_bytes=48 * 1024))
    assert both.changes == (Change("registers", 64, 48), Change("shared", 49152, 45568))
    assert both.after.blocks_per_sm == both.before.blocks_per_sm + 1


def test_a_full_sm_has_no_cliff_in_registers() -> None:
    found = cliffs(architecture("8.6"), Launch(32, 16))
    assert found == ()


@given(architectures, launches)
def test_no_smaller_change_of_registers_gains_a_block(cc: str, launch: Launch) -> None:
    assume(not refusal(architecture(cc), launch))
    before = blocks(cc, launch)
    for cliff in cliffs(architecture(cc), launch):
        if [change.resource for change in cliff.changes] == ["registers"]:
            after = cliff.changes[0].after
            one_more = replace(launch, registers_per_thread=after + 1)
            assert blocks(cc, replace(launch, registers_per_thread=after)) > before
            assert blocks(cc, one_more) == before


@given(architectures, launches)
def test_room_is_the_last_that_keeps_the_blocks(cc: str, launch: Launch) -> None:
    sm, before = architecture(cc), blocks(cc, launch)
    assume(not refusal(sm, launch))
    room = headroom(sm, launch)
    if room.registers_per_thread is not None:
        kept = replace(launch, registers_per_thread=room.registers_per_thread)
        assert blocks(cc, kept) == before
        if room.registers_per_thread < sm.max_registers_per_thread:
            lost = replace(launch, registers_per_thread=room.registers_per_thread + 1)
            assert blocks(cc, lost) < before
    if room.shared_bytes is not None:
        assert blocks(cc, with_shared_bytes(launch, room.shared_bytes)) == before
        more = with_shared_bytes(launch, room.shared_bytes + 1)
        assert blocks(cc, more) < before


@pytest.mark.parametrize(
    ("threads", "min_blocks", "registers"),
    [(1024, 2, 32), (256, 8, 32), (128, 16, 32), (96, 7, 80), (256, 4, 64)],
)
def test_launch_bounds_ask_for_what_nvcc_gave(
    threads: int, min_blocks: int, registers: int
) -> None:
    """Register counts of kernels compiled with these bounds for an H200."""
    assert most_registers(architecture("9.0"), Launch(threads, 1), min_blocks) == registers
