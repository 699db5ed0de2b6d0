"""The roofline: what a kernel of a given arithmetic intensity can attain, and how near one comes.

Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model", CACM 52(4).
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from kmeter.errors import UsageError
from kmeter.model.device import Device, Quantity, Source
from kmeter.model.peaks import Peaks
from kmeter.units import quoted

DRAM = "DRAM"
_ROUNDING = 1e-9
"""What the arithmetic may put a point above the roof it lies on."""


class Bound(StrEnum):
    """Which kind of roof a kernel meets first."""

    MEMORY = "memory"
    COMPUTE = "compute"


@dataclass(frozen=True)
class Roof:
    """One limit: a slope (bytes/s) or a ceiling of the drawing (FLOP/s)."""

    name: str
    """A memory level (``DRAM``) or a compute unit (``fp32``)."""
    bound: Bound
    rate: Quantity
    """bytes/s of a memory roof, FLOP/s of a compute roof."""

    def at(self, arithmetic_intensity: float) -> float:
        """FLOP/s that this roof alone allows; the rate must be known."""
        if self.rate.value is None:
            raise UsageError(f"the {self.name} roof is unknown", self.rate.reason)
        is_slope = self.bound is Bound.MEMORY
        return self.rate.value * arithmetic_intensity if is_slope else self.rate.value


@dataclass(frozen=True)
class KernelPoint:
    """A kernel on the roofline: FLOP per byte, and what it reached where it was timed."""

    name: str
    arithmetic_intensity: float
    """FLOP per byte of that memory's traffic."""
    flop_per_s: float | None = None
    """None for an intensity alone: a question, not a measurement."""
    bytes_per_s: float | None = None
    level: str = DRAM
    """The memory whose bytes are counted."""
    unit: str | None = None
    """What computes it; None for whatever the roofline is judged by."""

    def __post_init__(self) -> None:
        intensity = self.arithmetic_intensity
        if not (math.isfinite(intensity) and intensity > 0):
            raise UsageError(f"an arithmetic intensity is above 0 and finite, not {intensity:g}")

    @classmethod
    def timed(
        cls,
        name: str,
        flop: float,
        bytes_moved: float,
        seconds: float,
        *,
        level: str = DRAM,
        unit: str | None = None,
    ) -> "KernelPoint":
        """A point from what a kernel did: FLOP, bytes of a memory's traffic, seconds."""
        for what, amount in (("flop", flop), ("bytes", bytes_moved), ("time", seconds)):
            if not (math.isfinite(amount) and amount > 0):
                raise UsageError(f"point {quoted(name)}: {what} must be above 0, not {amount:g}")
        return cls(
            name, flop / bytes_moved, flop / seconds, bytes_moved / seconds, level=level, unit=unit
        )


@dataclass(frozen=True)
class Placed:
    """A point under the roofs."""

    point: KernelPoint
    attainable_flop_per_s: float
    bound: Bound
    roof: Roof
    """The roof that binds at this intensity."""

    @property
    def fraction_of_roof(self) -> float | None:
        """Reached over attainable; None for a point that was not timed."""
        if self.point.flop_per_s is None:
            return None
        return self.point.flop_per_s / self.attainable_flop_per_s

    @property
    def above_roof(self) -> bool:
        """Faster than the roof allows: the counts or the clocks are not what they seem."""
        return self.fraction_of_roof is not None and self.fraction_of_roof > 1 + _ROUNDING


@dataclass(frozen=True)
class Roofline:
    """A memory roof and a compute roof that points are judged against, and others to draw."""

    device: Device
    memory: Roof
    compute: Roof
    others: tuple[Roof, ...] = ()
    unknown: tuple[Roof, ...] = ()
    """Asked for, but without a rate: each with its reason."""
    levels: tuple[Roof, ...] = ()
    """Memories that are nearer than DRAM, as far as they were measured."""

    @property
    def roofs(self) -> tuple[Roof, ...]:
        """Every roof that can be drawn, the two that judge first."""
        return (self.memory, self.compute, *self.others, *self.levels)

    @property
    def ridge(self) -> float:
        """FLOP/byte where the memory roof meets the compute roof."""
        return ridge(self.memory, self.compute)

    def place(self, point: KernelPoint) -> Placed:
        """The point under the lower of its two roofs; on the ridge memory binds no more.

        Raises UsageError where a roof of its own is unknown.
        """
        intensity = point.arithmetic_intensity
        memory, compute = self._memory_of(point), self._compute_of(point)
        roof = memory if intensity < ridge(memory, compute) else compute
        return Placed(point, roof.at(intensity), roof.bound, roof)

    def _memory_of(self, point: KernelPoint) -> Roof:
        if point.level == DRAM:
            return self.memory
        return _called(point.level, self.levels, "kmeter ceiling measures it, on this card alone")

    def _compute_of(self, point: KernelPoint) -> Roof:
        if point.unit is None:
            return self.compute
        return _called(point.unit, (self.compute, *self.others), "--dtype names further ones")


def _called(name: str, roofs: tuple[Roof, ...], way_out: str) -> Roof:
    for roof in roofs:
        if roof.name == name:
            return roof
    raise UsageError(f"the {name} roof is unknown", way_out)


def ridge(memory: Roof, compute: Roof) -> float:
    """FLOP/byte above which the compute roof is the lower one."""
    return compute.at(1) / memory.at(1)


def roofline(
    device: Device,
    found: Peaks,
    units: tuple[str, ...] = ("fp32",),
    *,
    dram_bytes_per_s: float | None = None,
    flop_per_s: float | None = None,
) -> Roofline:
    """The roofline of a device: DRAM and the first unit judge, further units are drawn beside.

    ``dram_bytes_per_s`` and ``flop_per_s`` replace the derived peaks (of the first unit).
    Raises UsageError where a judging roof is unknown, naming the option that gives it; a further
    one without a rate is kept apart, with its reason.
    """
    memory = Roof(DRAM, Bound.MEMORY, _given_or(dram_bytes_per_s, found.dram_bytes_per_s))
    first, *others = [Roof(unit, Bound.COMPUTE, found.flop_per_s[unit]) for unit in units]
    compute = Roof(first.name, Bound.COMPUTE, _given_or(flop_per_s, first.rate))
    _demand(device, memory, "--peak-bw GB/s")
    _demand(device, compute, "--peak-tflops TF")
    known = tuple(roof for roof in others if roof.rate.value is not None)
    unknown = tuple(roof for roof in others if roof.rate.value is None)
    return Roofline(device, memory, compute, known, unknown)


def _given_or(value: float | None, derived: Quantity) -> Quantity:
    return derived if value is None else Quantity(value, Source.GIVEN)


def _demand(device: Device, roof: Roof, option: str) -> None:
    if roof.rate.value is None:
        raise UsageError(
            f"the {roof.name} roof of {device.name} is unknown: {roof.rate.reason}",
            f"Give it with {option}",
        )
