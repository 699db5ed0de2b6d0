"""Is this card as fast as it was, or as its like: ceilings against a reference, and why not."""

from collections.abc import Iterator
from dataclasses import dataclass

from kmeter.errors import UsageError
from kmeter.model.ceiling import Ceiling, CeilingRun, Status
from kmeter.model.throttle import throttle_words

LOWER_CLOCK = 0.98
"""An SM clock below this share of the reference's is named as a cause."""
THROTTLING = 0xEC
"""Power cap, hardware slowdown, thermal slowdowns, power brake: what holds clocks down."""


@dataclass(frozen=True)
class Shortfall:
    """A ceiling that is not what the reference has."""

    name: str
    reference: Ceiling
    found: Ceiling | None
    """None where the run has no such ceiling."""
    fraction: float | None
    """Found over reference, of a latency the other way round; None without a value."""
    causes: tuple[str, ...]


def shortfalls(
    run: CeilingRun, reference: CeilingRun, names: tuple[str, ...], tolerance: float
) -> list[Shortfall]:
    """The ceilings among ``names`` that are more than ``tolerance`` (a fraction) worse.

    Raises UsageError where the reference is of another model, or has none of them.
    """
    if run.gpu_name != reference.gpu_name:
        raise UsageError(
            f"the reference is of {reference.gpu_name!r}, this is {run.gpu_name!r}",
            "Compare with a card of the same model",
        )
    expected = [
        c for c in reference.ceilings if c.name in names and c.status is Status.OK and c.value
    ]
    if not expected:
        raise UsageError("the reference has none of these ceilings")
    compared = (_compared(run, reference, ceiling) for ceiling in expected)
    return [item for item in compared if item.fraction is None or item.fraction < 1 - tolerance]


def _compared(run: CeilingRun, reference: CeilingRun, expected: Ceiling) -> Shortfall:
    found = run.named(expected.name)
    fraction = _fraction(found, expected)
    return Shortfall(
        expected.name, expected, found, fraction, tuple(_causes(run, reference, found, expected))
    )


def _fraction(found: Ceiling | None, expected: Ceiling) -> float | None:
    if found is None or not found.value or not expected.value:
        return None
    ratio = found.value / expected.value
    return ratio if expected.measure.more_is_better else 1 / ratio


def _causes(
    run: CeilingRun, reference: CeilingRun, found: Ceiling | None, expected: Ceiling
) -> Iterator[str]:
    """What differs from the reference and can slow a card down, the likeliest first."""
    if found is None or found.status is not Status.OK:
        yield found.reason if found and found.reason else "it was not measured"
        return
    new, old = found.conditions, expected.conditions
    yield from throttle_words(
        (new.throttle_reasons_mask or 0) & THROTTLING & ~(old.throttle_reasons_mask or 0)
    )
    if _is_lower(new.sm_clock_hz, old.sm_clock_hz):
        yield "lower SM clock"
    if _is_lower(new.memory_clock_hz, old.memory_clock_hz):
        yield "lower memory clock"
    if expected.level == "host link":
        if _is_lower(run.pcie_width, reference.pcie_width):
            yield f"PCIe x{run.pcie_width} instead of x{reference.pcie_width}"
        if _is_lower(run.pcie_generation, reference.pcie_generation):
            yield f"PCIe {run.pcie_generation} instead of {reference.pcie_generation}"
    if run.ecc and reference.ecc is False:
        yield "ECC is on"
    if run.other_processes:
        yield f"{run.other_processes} other processes on the card"


def _is_lower(new: float | None, old: float | None) -> bool:
    return bool(new and old and new < LOWER_CLOCK * old)
