"""Occupancy over many block sizes and register counts at once.

Launches with the same warps per block and the same registers per warp get the same answer, so a
sweep of 1024 x 255 launches is about a thousand computations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kmeter.model.architecture import Architecture
from kmeter.model.launch import WARP_SIZE, Launch
from kmeter.model.occupancy import Occupancy, occupancy, registers_per_warp

Row = tuple[Occupancy, ...]

WARP_MULTIPLES = range(WARP_SIZE, 1024 + 1, WARP_SIZE)


def sweep(
    sm: Architecture, launch: Launch, block_sizes: Iterable[int], registers: Sequence[int]
) -> tuple[Row, ...]:
    """Occupancy by block size (rows) and registers per thread (columns), the rest as in ``launch``."""
    rows: dict[tuple[int, bool], Row] = {}
    swept = []
    for block_size in block_sizes:
        key = (-(-block_size // WARP_SIZE), block_size > sm.max_threads_per_block)
        if key not in rows:
            rows[key] = _row(sm, replace(launch, block_size=block_size), registers)
        swept.append(rows[key])
    return tuple(swept)


def sweep_block_sizes(sm: Architecture, launch: Launch) -> dict[int, Occupancy]:
    """Occupancy of every whole number of warps that the launch bounds allow, and of their most threads."""
    most = launch.max_threads_per_block
    block_sizes = list(dict.fromkeys(min(most, block_size) for block_size in WARP_MULTIPLES))
    rows = sweep(sm, launch, block_sizes, (launch.registers_per_thread,))
    return {block_size: row[0] for block_size, row in zip(block_sizes, rows, strict=True)}


def _row(sm: Architecture, launch: Launch, registers: Sequence[int]) -> Row:
    answers: dict[tuple[int, bool], Occupancy] = {}
    row = []
    for count in registers:
        key = (registers_per_warp(sm, count), count > sm.accepted_registers_per_thread)
        if key not in answers:
            answers[key] = occupancy(sm, replace(launch, registers_per_thread=count))
        row.append(answers[key])
    return tuple(row)
