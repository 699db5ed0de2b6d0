"""Theoretical occupancy: how many blocks and warps of a launch one SM holds at once.

Equal to NVIDIA's ``cuda_occupancy.h`` (as shipped with CUDA 13.5) for every compute capability
in the table: the same blocks, the same limiters, the same allocations.
"""

from typing import NamedTuple

from kmeter.errors import InvalidLaunchError
from kmeter.model.architecture import Architecture
from kmeter.model.launch import WARP_SIZE, CachePreference, GlobalCaching, Launch

_CARVEOUT_OF_PREFERENCE = {
    CachePreference.L1: 0,
    CachePreference.SHARED: 100,
    CachePreference.EQUAL: 50,
}


class Occupancy(NamedTuple):
    """What fits on one SM, what each resource alone would allow, and which of them bind."""

    blocks_per_sm: int
    active_warps_per_sm: int
    max_warps_per_sm: int
    limiters: tuple[str, ...]
    """Every resource that ties with the minimum: warps, registers, shared, blocks, barriers."""
    blocks_allowed_by: dict[str, int | None]
    """Blocks by resource; None where the launch does not use the resource."""
    allocated_registers_per_block: int
    allocated_shared_bytes_per_block: int
    """With the driver's reserved share, rounded up to the allocation unit."""
    global_caching: GlobalCaching = GlobalCaching.OFF
    """What is left of the request: ON falls back to OFF where a block needs a whole SM."""

    @property
    def fraction(self) -> float:
        """Active warps over the warps an SM can hold, 0 to 1."""
        return self.active_warps_per_sm / self.max_warps_per_sm


def occupancy(sm: Architecture, launch: Launch) -> Occupancy:
    """Blocks and warps of ``launch`` that one SM holds.

    Raises InvalidLaunchError for a carve-out outside 0-100 %.
    """
    by_registers, caching = _by_registers(sm, launch)
    allocated_shared = allocated_shared_bytes(sm, launch)
    allowed = {
        "warps": _by_warps(sm, launch, caching),
        "registers": by_registers,
        "shared": _by_shared_memory(sm, launch, allocated_shared),
        "blocks": sm.max_blocks_per_sm,
    }
    blocks = _least(allowed)
    limiters = [resource for resource, count in allowed.items() if count == blocks]
    # The header looks at barriers last, and leaves the earlier limiters named.
    by_barriers = _by_barriers(sm, launch)
    if by_barriers is not None and by_barriers <= blocks:
        blocks = by_barriers
        limiters.append("barriers")
    return Occupancy(
        blocks_per_sm=blocks,
        active_warps_per_sm=blocks * launch.warps_per_block,
        max_warps_per_sm=sm.max_warps_per_sm,
        limiters=tuple(limiters),
        blocks_allowed_by=allowed | {"barriers": by_barriers},
        allocated_registers_per_block=allocated_registers_per_block(sm, launch),
        allocated_shared_bytes_per_block=allocated_shared,
        global_caching=caching,
    )


def _least(allowed: dict[str, int | None]) -> int:
    return min(count for count in allowed.values() if count is not None)


# ---- warps ----------------------------------------------------------------------------------


def _by_warps(sm: Architecture, launch: Launch, caching: GlobalCaching) -> int:
    if launch.block_size > sm.max_threads_per_block:
        return 0
    if caching is GlobalCaching.OFF:
        return sm.max_warps_per_sm // launch.warps_per_block
    # With caching on, a block lives in one half of the SM.
    return 2 * (sm.max_warps_per_sm // 2 // launch.warps_per_block)


# ---- registers ------------------------------------------------------------------------------


def registers_per_warp(sm: Architecture, registers_per_thread: int) -> int:
    """Registers that the hardware sets aside for one warp."""
    return round_up(registers_per_thread * WARP_SIZE, sm.register_allocation_unit)


def allocated_registers_per_block(sm: Architecture, launch: Launch) -> int:
    """Registers that the warps of one block get together."""
    return registers_per_warp(sm, launch.registers_per_thread) * launch.warps_per_block


def registers_checked_per_block(sm: Architecture, launch: Launch) -> int:
    """What the launch check counts: as if every sub-partition took the same number of warps."""
    warps = round_up(launch.warps_per_block, sm.sub_partitions)
    return registers_per_warp(sm, launch.registers_per_thread) * warps


def _by_registers(sm: Architecture, launch: Launch) -> tuple[int | None, GlobalCaching]:
    caching = launch.global_caching if sm.partitioned_global_caching else GlobalCaching.OFF
    blocks, caching = _registers_on(sm, sm.sub_partitions, launch, caching)
    if blocks and sm.portable_sub_partitions:
        # The header refuses on GP100 (two sub-partitions) what GP10x (four) could not run.
        portable, _ = _registers_on(sm, sm.portable_sub_partitions, launch, caching)
        blocks = blocks if portable else 0
    return blocks, caching


def _registers_on(
    sm: Architecture, sub_partitions: int, launch: Launch, caching: GlobalCaching
) -> tuple[int | None, GlobalCaching]:
    per_warp = registers_per_warp(sm, launch.registers_per_thread)
    warps = launch.warps_per_block
    if (
        per_warp * round_up(warps, sub_partitions) > sm.registers_per_block
        or launch.registers_per_thread > sm.accepted_registers_per_thread
    ):
        return 0, caching
    if per_warp == 0:
        return None, caching
    warps_per_partition = sm.registers_per_sm // sub_partitions // per_warp
    if caching is not GlobalCaching.OFF:
        halves = 2 * (warps_per_partition * (sub_partitions // 2) // warps)
        if halves or caching is GlobalCaching.STRICT:
            return halves, caching
    return warps_per_partition * sub_partitions // warps, GlobalCaching.OFF


# ---- shared memory --------------------------------------------------------------------------


def allocated_shared_bytes(sm: Architecture, launch: Launch) -> int:
    """Shared memory that one block takes from the SM, with the driver's reserved share."""
    wanted = launch.shared_bytes + sm.reserved_shared_bytes_per_block
    return round_up(wanted, sm.shared_allocation_unit)


def shared_bytes_limit_per_block(sm: Architecture, launch: Launch) -> int:
    """The most static + dynamic shared memory that this kernel's block may have."""
    raised = (
        launch.shared_opt_in
        and launch.static_shared_bytes
        + sm.reserved_shared_bytes_per_block
        + launch.dynamic_shared_limit
        > sm.shared_bytes_per_block
    )
    return sm.shared_bytes_per_block_opt_in if raised else sm.shared_bytes_per_block


def shared_bytes_per_sm(sm: Architecture, launch: Launch) -> int:
    """The SM's shared memory under the launch's carve-out or cache preference."""
    if not sm.shared_carveouts:
        return sm.shared_bytes_by_preference.get(launch.cache_preference, sm.shared_bytes_per_sm)
    percent = launch.carveout_percent
    if percent is None:
        percent = _CARVEOUT_OF_PREFERENCE.get(launch.cache_preference, 100)
    if not 0 <= percent <= 100:
        raise InvalidLaunchError(f"a carve-out is between 0 and 100 %, not {percent}")
    return _next_carveout(sm, percent * sm.shared_bytes_per_sm // 100)


def _by_shared_memory(sm: Architecture, launch: Launch, allocated: int) -> int | None:
    available = shared_bytes_per_sm(sm, launch)
    if launch.shared_opt_in and launch.dynamic_shared_bytes > launch.dynamic_shared_limit:
        return 0
    limit = shared_bytes_limit_per_block(sm, launch) + sm.reserved_shared_bytes_per_block
    if allocated > limit:
        return 0
    if allocated == 0:
        return None
    if available < allocated:
        # A preference too small for one block is passed over.
        available = _next_carveout(sm, allocated) if sm.shared_carveouts else sm.shared_bytes_per_sm
    return available // allocated


def _next_carveout(sm: Architecture, wanted: int) -> int:
    return next(size for size in sm.shared_carveouts if size >= wanted)


# ---- barriers -------------------------------------------------------------------------------


def _by_barriers(sm: Architecture, launch: Launch) -> int | None:
    if sm.barriers_per_sm is None or launch.barriers == 0:
        return None
    return sm.barriers_per_sm // launch.barriers


def round_up(value: int, unit: int) -> int:
    """The smallest multiple of ``unit`` that is not below ``value``."""
    return -(-value // unit) * unit
