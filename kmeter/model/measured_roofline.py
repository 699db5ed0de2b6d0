"""A roofline by what the card was measured to deliver, beside the one by its peaks."""

from kmeter.model.ceiling import (
    DRAM_CEILINGS,
    LEVEL_CEILINGS,
    Ceiling,
    CeilingRun,
    best,
    ceilings_of_unit,
)
from kmeter.model.device import Quantity, Source
from kmeter.model.roofline import Bound, Roof, Roofline


def measured_roofline(line: Roofline, run: CeilingRun) -> Roofline | None:
    """The same roofs as they were measured on this very card.

    None where the memory or the judging unit was not measured; others are left out then.
    """
    memory = _measured(line.memory, best(run, DRAM_CEILINGS))
    compute = _measured(line.compute, best(run, ceilings_of_unit(line.compute.name)))
    if memory is None or compute is None:
        return None
    others = (_measured(roof, best(run, ceilings_of_unit(roof.name))) for roof in line.others)
    known = tuple(roof for roof in others if roof)
    return Roofline(line.device, memory, compute, known, levels=levels_of(run))


def levels_of(run: CeilingRun) -> tuple[Roof, ...]:
    """The roofs of L2 and L1 by what reading from them delivers; no peak of either is published."""
    found = ((level, best(run, names)) for level, names in LEVEL_CEILINGS.items())
    return tuple(
        Roof(level, Bound.MEMORY, _rate(ceiling)) for level, ceiling in found if ceiling is not None
    )


def _measured(roof: Roof, ceiling: Ceiling | None) -> Roof | None:
    return None if ceiling is None else Roof(roof.name, roof.bound, _rate(ceiling))


def _rate(ceiling: Ceiling) -> Quantity:
    clock = ceiling.conditions.sm_clock_hz
    return Quantity(ceiling.value, Source.MEASURED, clock_hz=clock)
