"""The other questions of ``cuda_occupancy.h``: the best block size, and room for shared memory."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kmeter.errors import InvalidLaunchError
from kmeter.model.architecture import Architecture
from kmeter.model.launch import WARP_SIZE, Launch
from kmeter.model.occupancy import (
    occupancy,
    round_up,
    shared_bytes_per_sm,
)


class BestBlock(NamedTuple):
    """The block size that keeps the most threads resident."""

    block_size: int
    blocks_per_sm: int

    def min_grid(self, sm_count: int) -> int:
        """The smallest grid that fills every SM."""
        return self.blocks_per_sm * sm_count


def best_block(sm: Architecture, launch: Launch) -> BestBlock:
    """As ``cudaOccupancyMaxPotentialBlockSize``: of equals the larger; 0 where nothing runs."""
    best = BestBlock(0, 0)
    for block_size in _block_sizes_downward(sm, launch):
        blocks = occupancy(sm, replace(launch, block_size=block_size)).blocks_per_sm
        if blocks * block_size > best.blocks_per_sm * best.block_size:
            best = BestBlock(block_size, blocks)
        if best.blocks_per_sm * best.block_size == sm.max_threads_per_sm:
            break
    return best


def _block_sizes_downward(sm: Architecture, launch: Launch) -> Iterator[int]:
    limit = min(sm.max_threads_per_block, launch.max_threads_per_block)
    for aligned in range(round_up(limit, WARP_SIZE), 0, -WARP_SIZE):
        yield min(limit, aligned)


def dynamic_shared_room(sm: Architecture, launch: Launch, blocks: int) -> int | None:
    """Bytes of dynamic shared memory a block may use with ``blocks`` of them on an SM.

    None where that many blocks do not fit even without. As ``cudaOccupancyAvailableDynamic-
    SMemPerBlock``, but where the header's unsigned subtraction wraps around (a carve-out smaller
    than the block's static share), this says 0.
    """
    if blocks < 1:
        raise InvalidLaunchError("dynamic shared memory is asked for 1 block or more")
    limit = launch.dynamic_shared_limit
    bare = replace(launch, dynamic_shared_bytes=0, max_dynamic_shared_bytes=limit)
    if occupancy(sm, bare).blocks_per_sm < blocks:
        return None
    return max(0, min(unclamped_dynamic_shared_room(sm, bare, blocks), limit))


def unclamped_dynamic_shared_room(sm: Architecture, launch: Launch, blocks: int) -> int:
    """The header's sum before it is capped; below 0 its unsigned arithmetic wraps."""
    reserved = sm.reserved_shared_bytes_per_block
    cap = sm.shared_bytes_per_block_opt_in if launch.shared_opt_in else sm.shared_bytes_per_block
    cap += reserved
    if blocks == 1:
        share = cap
    else:
        available = shared_bytes_per_sm(sm, launch) or sm.shared_carveouts[1]
        share = available // blocks
    share = share // sm.shared_allocation_unit * sm.shared_allocation_unit
    return min(share, cap) - launch.static_shared_bytes - reserved
