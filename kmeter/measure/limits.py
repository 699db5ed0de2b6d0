"""What arithmetic allows each ceiling at most: from the device's peaks, and from how an SM is built."""

from kmeter.measure.plan import GpuFacts
from kmeter.model.ceiling import Limit
from kmeter.model.compute_units import UNITS, dense, is_tensor, label
from kmeter.model.device import Device, Quantity
from kmeter.model.peaks import Peaks, peaks

BANK_BYTES_PER_CLOCK = 128
"""Shared memory: 32 banks of 4 bytes (CUDA Programming Guide, "Shared Memory", from 5.0 on)."""
L1_BYTES_PER_CLOCK = {(7, 0): 128, (8, 0): 128, (9, 0): 128}
"""L1 hit bandwidth of an SM: GA100 and GV100 white papers; 9.0 shares the data path."""
SPECIAL_PER_CLOCK = 16
"""Special functions of an SM and clock: CUDA Programming Guide, throughput table, 5.0 to 12.x."""
TOLERANCE = 0.01
"""How far above its limit a rate may read before it is called broken: clocks are sampled."""

NOT_PUBLISHED = "nobody publishes one"


def limit_of(name: str, device: Device, facts: GpuFacts) -> Limit:
    """The limit that a probe names: a compute unit, ``dram``, ``l1``, ``shared``, ``pcie``."""
    if name in {"shared", "l1", "ex2"}:
        what = "operations" if name == "ex2" else "bytes"
        return _per_clock(_RATES[name](facts), what, device, facts)
    if name.startswith("pcie"):
        return _pcie(facts, both=name == "pcie-both")
    for unit in _units(name)[:-1]:
        if lacking(unit, device):
            name = name.removeprefix(f"{unit}|")
    return _of_peaks(name.split("|")[0], peaks(device))


def lacking(name: str, device: Device) -> str:
    """Why the card has no such unit at all; empty where it has one, or nobody knows."""
    units = _units(name)
    if not units or device.architecture is None:
        return ""
    if all(is_tensor(unit) for unit in units) and not device.has_tensor_cores:
        return f"{device.name} has no tensor cores"
    rates = device.architecture.rates
    if all(rates.get(dense(unit)) == 0 for unit in units):
        return f"{device.compute_capability} has no {label(units[0])} unit"
    return ""


def _units(name: str) -> list[str]:
    """The compute units that a limit names: ``fp64_tensor|fp64``, the first that a card has."""
    return [unit for unit in name.split("|") if unit in UNITS]


_RATES = {
    "shared": lambda facts: BANK_BYTES_PER_CLOCK if facts.compute_capability >= (5, 0) else None,
    "l1": lambda facts: L1_BYTES_PER_CLOCK.get(facts.compute_capability),
    "ex2": lambda facts: SPECIAL_PER_CLOCK if facts.compute_capability >= (5, 0) else None,
}


def _per_clock(rate: float | None, what: str, device: Device, facts: GpuFacts) -> Limit:
    if rate is None:
        return Limit(reason=NOT_PUBLISHED)
    if not device.sm_clock_hz:
        return Limit(reason="the SM clock is unknown")
    value = rate * facts.sm_count * device.sm_clock_hz
    return Limit(value, f"{rate:g} {what} per SM and clock", device.sm_clock_hz)


def _pcie(facts: GpuFacts, *, both: bool) -> Limit:
    if facts.pcie_bytes_per_s is None:
        return Limit(reason="no PCIe link, or NVML does not tell its generation and width")
    return Limit(facts.pcie_bytes_per_s * (2 if both else 1), "PCIe generation x width")


def _of_peaks(name: str, found: Peaks) -> Limit:
    if not name:
        return Limit(reason=NOT_PUBLISHED)
    quantity = found.dram_bytes_per_s if name == "dram" else found.flop_per_s.get(name)
    if quantity is None:
        return Limit(reason=NOT_PUBLISHED)
    return _of_quantity(quantity)


def _of_quantity(quantity: Quantity) -> Limit:
    if quantity.value is None:
        return Limit(reason=quantity.reason)
    return Limit(quantity.value, str(quantity.source or ""), quantity.clock_hz)


_LANE_BITS_PER_S = {1: 2.5e9, 2: 5e9, 3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}
_LINE_CODE = {1: 8 / 10, 2: 8 / 10}


def pcie_bytes_per_s(generation: int | None, width: int | None) -> float | None:
    """One way, after the line code: PCI Express Base Specification; None for what is unknown.

    >>> round(pcie_bytes_per_s(5, 16) / 1e9, 1)
    63.0
    """
    if generation not in _LANE_BITS_PER_S or not width:
        return None
    code = _LINE_CODE.get(generation, 1.0 if generation >= 6 else 128 / 130)
    return _LANE_BITS_PER_S[generation] * code * width / 8


def above(rate: float, limit: Limit, sm_clock_hz: float | None) -> bool:
    """Whether a rate is more than the card can do, at the clock that it held where that is known."""
    if not limit.value:
        return False
    scale = 1.0
    if limit.clock_hz and sm_clock_hz:
        scale = max(1.0, sm_clock_hz / limit.clock_hz)
    return rate > limit.value * scale * (1 + TOLERANCE)
