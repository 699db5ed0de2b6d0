"""A roofline by what the card was measured to deliver, beside the one by its peaks."""

from kmeter.model.ceiling import DRAM_CEILINGS, Ceiling, CeilingRun, best, ceilings_of_unit
from kmeter.model.device import Quantity, Source
from kmeter.model.roofline import Roof, Roofline


def measured_roofline(line: Roofline, run: CeilingRun) -> Roofline | None:
    """The same roofs as they were measured on this very card.

    None where the memory or the judging unit was not measured; others are left out then.
    """
    memory = _measured(line.memory, best(run, DRAM_CEILINGS))
    compute = _measured(line.compute, best(run, ceilings_of_unit(line.compute.name)))
    if memory is None or compute is None:
        return None
    others = (_measured(roof, best(run, ceilings_of_unit(roof.name))) for roof in line.others)
    return Roofline(line.device, memory, compute, tuple(roof for roof in others if roof))


def _measured(roof: Roof, ceiling: Ceiling | None) -> Roof | None:
    if ceiling is None:
        return None
    clock = ceiling.conditions.sm_clock_hz
    return Roof(roof.name, roof.bound, Quantity(ceiling.value, Source.MEASURED, clock_hz=clock))
