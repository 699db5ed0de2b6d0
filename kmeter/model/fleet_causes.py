"""Why a GPU may be slower than its like: what was otherwise with it, in words."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple, TypeVar

from kmeter.model.ceiling_check import LOWER_CLOCK, THROTTLING
from kmeter.model.fleet import Figure, Member, Report
from kmeter.model.throttle import throttle_words
from kmeter.units import si

Value = TypeVar("Value", bound=Hashable)

_HOST_LEVELS = frozenset({"host link"})
"""Levels of ceilings that PCIe bounds."""


class Usual(NamedTuple):
    """How it is with most members of a group; None where nobody knows."""

    throttle_reasons_mask: int
    """Reasons that at least half of the members had."""
    sm_clock_hz: float | None
    memory_clock_hz: float | None
    pcie_width: int | None
    pcie_generation: int | None
    ecc: bool | None
    driver_version: str | None
    other_processes: int
    busy_neighbours: int


def usual_of(members: Sequence[Member]) -> Usual:
    """What the members have in common."""
    conditions = [member.figure.conditions for member in members]
    reports = [member.report for member in members]
    return Usual(
        _common_bits([c.throttle_reasons_mask or 0 for c in conditions]),
        _middle(c.sm_clock_hz for c in conditions),
        _middle(c.memory_clock_hz for c in conditions),
        _commonest(r.pcie_width for r in reports),
        _commonest(r.pcie_generation for r in reports),
        _commonest(r.ecc for r in reports),
        _commonest(r.driver_version for r in reports),
        int(_middle(r.other_processes for r in reports) or 0),
        int(_middle(c.busy_neighbours for c in conditions) or 0),
    )


def causes(report: Report, figure: Figure, usual: Usual) -> tuple[str, ...]:
    """What differs from the others and can slow a GPU down, the likeliest first."""
    return tuple(_causes(report, figure, usual))


def _causes(report: Report, figure: Figure, usual: Usual) -> Iterator[str]:
    seen = figure.conditions
    own_reasons = (seen.throttle_reasons_mask or 0) & ~usual.throttle_reasons_mask
    yield from throttle_words(own_reasons & THROTTLING)
    yield from _lower("SM clock", seen.sm_clock_hz, usual.sm_clock_hz)
    yield from _lower("memory clock", seen.memory_clock_hz, usual.memory_clock_hz)
    if figure.level in _HOST_LEVELS:
        if (report.pcie_width or 0) < (usual.pcie_width or 0) and report.pcie_width:
            yield f"PCIe x{report.pcie_width}, usual x{usual.pcie_width}"
        if (report.pcie_generation or 0) < (usual.pcie_generation or 0) and report.pcie_generation:
            yield f"PCIe {report.pcie_generation}.0, usual {usual.pcie_generation}.0"
    if report.uncorrected_errors:
        yield f"{report.uncorrected_errors} uncorrected ECC errors"
    if report.ecc and usual.ecc is False:
        yield "ECC is on, usually off"
    if (report.other_processes or 0) > usual.other_processes:
        yield f"{report.other_processes} other processes on the card"
    if (seen.busy_neighbours or 0) > usual.busy_neighbours:
        yield f"{seen.busy_neighbours} other GPUs of its host busy, usual {usual.busy_neighbours}"
    if report.driver_version and report.driver_version != usual.driver_version:
        yield f"driver {report.driver_version}, usual {usual.driver_version}"


def _lower(what: str, found_hz: float | None, usual_hz: float | None) -> Iterator[str]:
    if found_hz and usual_hz and found_hz < LOWER_CLOCK * usual_hz:
        yield f"{what} {si(found_hz, 'Hz')}, usual {si(usual_hz, 'Hz')}"


def _common_bits(masks: Sequence[int]) -> int:
    counts = Counter(bit for mask in masks for bit in range(mask.bit_length()) if mask >> bit & 1)
    return sum(1 << bit for bit, count in counts.items() if 2 * count >= len(masks))


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _commonest(values: Iterable[Value | None]) -> Value | None:
    """The value that most have; of equally common ones the first."""
    counts = Counter(value for value in values if value is not None)
    return counts.most_common(1)[0][0] if counts else None
