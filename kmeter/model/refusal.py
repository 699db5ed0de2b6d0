"""Why a card would refuse a launch, in one sentence with the limit that it breaks."""

from kmeter.model.architecture import Architecture
from kmeter.model.launch import Launch
from kmeter.model.occupancy import (
    registers_checked_per_block,
    shared_bytes_limit_per_block,
)
from kmeter.units import size


def refusal(sm: Architecture, launch: Launch) -> str:
    """The first limit that the launch breaks; empty where the card would run it."""
    reasons = (
        _too_many_threads(sm, launch),
        _too_many_registers(sm, launch),
        _too_much_shared_memory(sm, launch),
        _too_many_barriers(sm, launch),
    )
    return next((reason for reason in reasons if reason), "")


def _too_many_threads(sm: Architecture, launch: Launch) -> str:
    if launch.block_size > sm.max_threads_per_block:
        return f"{launch.block_size} threads, a block has at most {sm.max_threads_per_block}"
    if launch.block_size > launch.max_threads_per_block:
        return (
            f"{launch.block_size} threads, the launch bounds allow {launch.max_threads_per_block}"
        )
    return ""


def _too_many_registers(sm: Architecture, launch: Launch) -> str:
    if launch.registers_per_thread > sm.max_registers_per_thread:
        return (
            f"{launch.registers_per_thread} registers a thread, "
            f"limit {sm.max_registers_per_thread} on {sm.compute_capability}"
        )
    needed = registers_checked_per_block(sm, launch)
    if needed > sm.registers_per_block:
        return (
            f"{needed} registers a block, limit {sm.registers_per_block} on {sm.compute_capability}"
        )
    return ""


def _too_much_shared_memory(sm: Architecture, launch: Launch) -> str:
    limit = shared_bytes_limit_per_block(sm, launch)
    if launch.shared_bytes > limit:
        return f"{size(launch.shared_bytes)}, limit {size(limit)} on {sm.compute_capability}"
    return ""


def _too_many_barriers(sm: Architecture, launch: Launch) -> str:
    if sm.barriers_per_sm is not None and launch.barriers > sm.barriers_per_sm:
        return (
            f"{launch.barriers} barriers, an SM of {sm.compute_capability} has {sm.barriers_per_sm}"
        )
    return ""
