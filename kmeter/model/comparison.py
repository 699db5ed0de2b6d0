"""GPUs side by side: what each could attain at an arithmetic intensity, per watt and per dollar."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.model.device import Device, Quantity
from kmeter.model.peaks import peaks
from kmeter.model.roofline import KernelPoint, Roofline, roofline


class Contender(NamedTuple):
    """One GPU of a comparison."""

    device: Device
    dram_bytes_per_s: Quantity
    flop_per_s: Quantity
    """The peak of the unit that is compared."""
    line: Roofline | None
    """None where the bandwidth or the peak is unknown."""
    attainable: tuple[float | None, ...]
    """FLOP/s at each intensity that was asked for."""
    cost_per_hour: float | None

    @property
    def unknown(self) -> str:
        """Why there is no roofline; empty where there is one."""
        return self.dram_bytes_per_s.reason or self.flop_per_s.reason

    def per_watt(self, index: int) -> float | None:
        """FLOP/s at an intensity per watt of the card's power limit."""
        return _ratio(self.attainable[index], self.device.tdp_w)

    def per_cost(self, index: int) -> float | None:
        """FLOP at an intensity per unit of cost."""
        hourly = _ratio(self.attainable[index], self.cost_per_hour)
        return None if hourly is None else hourly * SECONDS_PER_HOUR


SECONDS_PER_HOUR = 3600
NO_POWER_LIMIT = "its power limit is unknown"
NO_PRICE = "no price is given"


class Comparison(NamedTuple):
    """GPUs in the order they were named; the first is what the others are measured against."""

    unit: str
    intensities: tuple[float, ...]
    contenders: tuple[Contender, ...]

    @property
    def is_priced(self) -> bool:
        """Whether any of them has a price."""
        return any(contender.cost_per_hour for contender in self.contenders)

    def relative(self, contender: Contender, index: int) -> float | None:
        """Attainable over the first contender's, at an intensity."""
        return _ratio(contender.attainable[index], self.contenders[0].attainable[index])


def comparison(
    devices: Sequence[Device],
    unit: str,
    intensities: Sequence[float],
    costs: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare at FLOP/byte ``intensities``; ``costs`` are per hour, by the device's target."""
    return Comparison(
        unit=unit,
        intensities=tuple(intensities),
        contenders=tuple(_contender(device, unit, intensities, costs or {}) for device in devices),
    )


def _contender(
    device: Device, unit: str, intensities: Sequence[float], costs: Mapping[str, float]
) -> Contender:
    found = peaks(device)
    try:
        line = roofline(device, found, (unit,))
    except UsageError:
        line = None
    return Contender(
        device=device,
        dram_bytes_per_s=found.dram_bytes_per_s,
        flop_per_s=found.flop_per_s[unit],
        line=line,
        attainable=tuple(_attainable(line, intensity) for intensity in intensities),
        cost_per_hour=costs.get(device.target),
    )


def _attainable(line: Roofline | None, intensity: float) -> float | None:
    if line is None:
        return None
    return line.place(KernelPoint("", intensity)).attainable_flop_per_s


def _ratio(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None
