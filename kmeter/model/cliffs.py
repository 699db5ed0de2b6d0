"""The edges of occupancy: the smallest change that gains a block, and the room before one is lost."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from kmeter.model.architecture import Architecture
from kmeter.model.launch import WARP_SIZE, Launch
from kmeter.model.occupancy import Occupancy, occupancy
from kmeter.model.refusal import refusal


class Change(NamedTuple):
    """One resource of a block, before and after."""

    resource: str
    """``registers`` a thread, ``shared`` bytes or ``block_size`` threads."""
    before: int
    after: int


class Cliff(NamedTuple):
    """The smallest change that puts one more block on an SM."""

    changes: tuple[Change, ...]
    """All of them are needed."""
    before: Occupancy
    after: Occupancy
    launch: Launch
    """The launch after the change."""


def cliffs(sm: Architecture, launch: Launch) -> tuple[Cliff, ...]:
    """By fewer registers and shared bytes, and by a smaller block.

    Empty where nothing gains a block, and where the SM has no warp left to gain.
    """
    before = occupancy(sm, launch)
    if before.active_warps_per_sm == before.max_warps_per_sm:
        return ()
    leaner = (_leaner(sm, launch, before), _smaller(sm, launch, before))
    found = []
    for after in leaner:
        if after is not None:
            changes = _changes(launch, after)
            found.append(Cliff(changes, before, occupancy(sm, after), after))
    return tuple(found)


def _leaner(sm: Architecture, launch: Launch, before: Occupancy) -> Launch | None:
    """The same block with just as few registers and shared bytes as one more block asks for."""
    blocks = before.blocks_per_sm + 1
    registers = most_registers(sm, launch, blocks)
    shared = most_shared_bytes(sm, launch, blocks)
    if registers is None or shared is None:
        return None
    after = with_shared_bytes(
        replace(launch, registers_per_thread=min(registers, launch.registers_per_thread)),
        min(shared, launch.shared_bytes),
    )
    return after if occupancy(sm, after).blocks_per_sm >= blocks else None


def _smaller(sm: Architecture, launch: Launch, before: Occupancy) -> Launch | None:
    """The largest smaller block, in whole warps, of which an SM holds more."""
    largest = (launch.block_size - 1) // WARP_SIZE * WARP_SIZE
    for block_size in range(largest, 0, -WARP_SIZE):
        after = replace(launch, block_size=block_size)
        if occupancy(sm, after).blocks_per_sm > before.blocks_per_sm and not refusal(sm, after):
            return after
    return None


def _changes(before: Launch, after: Launch) -> tuple[Change, ...]:
    pairs = (
        Change("block_size", before.block_size, after.block_size),
        Change("registers", before.registers_per_thread, after.registers_per_thread),
        Change("shared", before.shared_bytes, after.shared_bytes),
    )
    return tuple(change for change in pairs if change.before != change.after)


# ---- how much a block may use --------------------------------------------------------------


class Headroom(NamedTuple):
    """How much a block may use before an SM holds one block less; None where it holds none."""

    registers_per_thread: int | None
    shared_bytes: int | None


def headroom(sm: Architecture, launch: Launch) -> Headroom:
    """The most registers and shared bytes, each alone, that keep the blocks per SM."""
    blocks = occupancy(sm, launch).blocks_per_sm
    if blocks == 0:
        return Headroom(None, None)
    return Headroom(most_registers(sm, launch, blocks), most_shared_bytes(sm, launch, blocks))


def most_registers(sm: Architecture, launch: Launch, blocks: int) -> int | None:
    """The most registers a thread may have with ``blocks`` on an SM, as far as registers go.

    This is what ``__launch_bounds__(block_size, blocks)`` asks the compiler to keep to.
    """

    def fits(registers: int) -> bool:
        found = occupancy(sm, replace(launch, registers_per_thread=registers))
        return _allows(found.blocks_allowed_by["registers"], blocks)

    return _last_that_fits(range(1, sm.max_registers_per_thread + 1), fits)


def most_shared_bytes(sm: Architecture, launch: Launch, blocks: int) -> int | None:
    """The most static + dynamic shared memory of a block with ``blocks`` on an SM, in bytes."""
    # The reserved share is a multiple of the allocation unit, so the edges are multiples too.
    sizes = range(0, sm.shared_bytes_per_block_opt_in + 1, sm.shared_allocation_unit)

    def fits(shared_bytes: int) -> bool:
        found = occupancy(sm, with_shared_bytes(launch, shared_bytes))
        return _allows(found.blocks_allowed_by["shared"], blocks)

    return _last_that_fits(sizes, fits)


def with_shared_bytes(launch: Launch, shared_bytes: int) -> Launch:
    """The launch with so much shared memory: what changes is dynamic, as long as it can be."""
    static = min(launch.static_shared_bytes, shared_bytes)
    dynamic = shared_bytes - static
    limit = launch.max_dynamic_shared_bytes
    return replace(
        launch,
        static_shared_bytes=static,
        dynamic_shared_bytes=dynamic,
        max_dynamic_shared_bytes=None if limit is None else max(dynamic, limit),
    )


def _allows(allowed: int | None, blocks: int) -> bool:
    return allowed is None or allowed >= blocks


def _last_that_fits(candidates: range, fits: Callable[[int], bool]) -> int | None:
    """The last of ``candidates`` that fits, where none does after the first that does not."""
    index = bisect_left(candidates, True, key=lambda value: not fits(value))
    return candidates[index - 1] if index else None
