"""How good a time is: the rates it means, and how near they come to what bounds the kernel."""

from collections.abc import Iterator
from typing import NamedTuple

from kmeter.model.benchmark import CacheState, Row
from kmeter.model.roofline import Bound, KernelPoint

_PLAUSIBLE = 1.02
"""Measured over theoretical above which a figure is impossible: clocks are known to 1 or 2 %."""


class Score(NamedTuple):
    """Rates and shares of a row; None where something to reckon with is unknown."""

    bytes_per_s: float | None = None
    flop_per_s: float | None = None
    arithmetic_intensity: float | None = None
    """FLOP per byte."""
    bound: Bound | None = None
    """Which roof is the lower one."""
    fraction_of_roof: float | None = None
    """Of the theoretical roof."""
    fraction_of_ceiling: float | None = None
    """Of what was measured on this card."""
    fraction_at_clock: float | None = None
    """Of the theoretical roof at the clock that was held."""
    reason: str = ""
    """Why there is no share of the roof."""


def score(row: Row) -> Score:
    """Rate a row by its median; raises nothing."""
    time = row.median_s
    if not time or time <= 0:
        return Score(reason=row.reason or "there is no time")
    bytes_per_s = row.bytes_per_call / time if row.bytes_per_call else None
    flop_per_s = row.flop_per_call / time if row.flop_per_call else None
    roofs = row.roofs
    bound, fraction = _share(row, roofs.dram_bytes_per_s, roofs.flop_per_s)
    _, of_ceiling = _share(row, roofs.measured_dram_bytes_per_s, roofs.measured_flop_per_s)
    _, at_clock = _share(row, roofs.dram_bytes_per_s, _at_held_clock(row))
    if row.bytes_per_call and row.flop_per_call:
        intensity = row.flop_per_call / row.bytes_per_call
    else:
        intensity = None
    reason = "" if fraction is not None else _why_not(row)
    return Score(bytes_per_s, flop_per_s, intensity, bound, fraction, of_ceiling, at_clock, reason)


def point_of(row: Row) -> KernelPoint | None:
    """Where a row stands on the roofline; None without a time, FLOP and bytes."""
    found = score(row)
    if not found.flop_per_s or not found.arithmetic_intensity:
        return None
    return KernelPoint(row.label, found.arithmetic_intensity, found.flop_per_s, found.bytes_per_s)


def _share(
    row: Row, dram_bytes_per_s: float | None, flop_per_s: float | None
) -> tuple[Bound | None, float | None]:
    """The roof that binds, and how near the row comes: the larger of the least times over its time.

    Where a row counts only bytes or only FLOP, that roof alone judges it; a row that counts both
    needs both roofs.
    """
    least = dict(_least_times(row, dram_bytes_per_s, flop_per_s))
    if not least or None in least.values():
        return None, None
    known = {bound: seconds for bound, seconds in least.items() if seconds is not None}
    bound = max(known, key=lambda item: known[item])
    return bound, known[bound] / (row.median_s or 1.0)


def _least_times(
    row: Row, dram_bytes_per_s: float | None, flop_per_s: float | None
) -> Iterator[tuple[Bound, float | None]]:
    if row.bytes_per_call:
        yield (
            Bound.MEMORY,
            row.bytes_per_call / dram_bytes_per_s if dram_bytes_per_s else None,
        )
    if row.flop_per_call:
        yield Bound.COMPUTE, row.flop_per_call / flop_per_s if flop_per_s else None


def _at_held_clock(row: Row) -> float | None:
    """The compute roof at the SM clock that was held; DRAM's does not follow that clock."""
    held, roofs = row.conditions.sm_clock_hz, row.roofs
    if roofs.flop_per_s is None or not roofs.clock_hz or not held:
        return None
    return roofs.flop_per_s * held / roofs.clock_hz


def _why_not(row: Row) -> str:
    if not row.bytes_per_call and not row.flop_per_call:
        return "neither bytes_per_call nor flops_per_call is given"
    return row.roofs.reason or "a roof is unknown"


def impossible(row: Row) -> str:
    """Why a row cannot be true, or nothing: above a peak, or above DRAM's from a cold L2.

    A warm L2, or writes that stay in a clean one, may well be faster than DRAM.
    """
    found, roofs = score(row), row.roofs
    if (
        found.bytes_per_s is not None
        and roofs.dram_bytes_per_s
        and row.cache_state in {CacheState.COLD, CacheState.ROTATING}
        and found.bytes_per_s > _PLAUSIBLE * roofs.dram_bytes_per_s
    ):
        return (
            f"{found.bytes_per_s / 1e9:.4g} GB/s from a cold L2 is above DRAM's peak of "
            f"{roofs.dram_bytes_per_s / 1e9:.4g}: check bytes_per_call, and what it really does"
        )
    if (
        found.flop_per_s is not None
        and roofs.flop_per_s
        and not roofs.unit_is_assumed
        and found.flop_per_s > _PLAUSIBLE * roofs.flop_per_s
    ):
        return (
            f"{found.flop_per_s / 1e12:.4g} TFLOP/s is above the {roofs.unit} peak of "
            f"{roofs.flop_per_s / 1e12:.4g}: check flops_per_call, dtype, and what it really does"
        )
    return ""
