"""Theoretical peaks: SMs x rate x clock, and bus width x data rate."""

from collections.abc import Mapping
from typing import NamedTuple

from kmeter.model.architecture import Rate
from kmeter.model.compute_units import (
    BOOST_CLOCKED_TENSOR_UNITS,
    UNITS,
    dense,
    is_tensor,
    label,
)
from kmeter.model.device import Device, Quantity, Source


class Peaks(NamedTuple):
    """What a GPU could do at best, each with its source and the clock it assumes."""

    dram_bytes_per_s: Quantity
    flop_per_s: Mapping[str, Quantity]
    """By compute unit; integer units count operations."""


def peaks(device: Device) -> Peaks:
    """Peaks of every unit; what the parameters do not give is unknown, with its reason."""
    return Peaks(
        dram_bytes_per_s=_dram(device),
        flop_per_s={unit: _flop_per_s(device, unit) for unit in UNITS},
    )


def _dram(device: Device) -> Quantity:
    bits, rate = device.memory_bus_bits, device.memory_bits_per_s_per_pin
    if bits and rate:
        return Quantity(bits / 8 * rate, Source.DERIVED)
    return device.dram


def _flop_per_s(device: Device, unit: str) -> Quantity:
    if dense(unit) in device.printed_rates_only:
        return _printed(device, unit)
    rate, clock = _rate(device, unit), _clock_hz(device, unit)
    if rate.value is None:
        return Quantity.unknown(rate.reason)
    if not device.sm_count or not clock:
        missing = "SM clock" if device.sm_count else "SM count"
        return Quantity.unknown(f"the {missing} is unknown")
    return Quantity(device.sm_count * rate.value * clock, Source.DERIVED, clock_hz=clock)


def _rate(device: Device, unit: str) -> Rate:
    """FLOP per SM and clock of this card: its architecture's, less what the product lacks."""
    sm, halved = device.architecture, device.halved_fp32_accumulate
    if sm is None:
        return Rate(None, f"compute capability {device.compute_capability} is not in the table")
    if is_tensor(unit) and not device.has_tensor_cores:
        return Rate(None, f"{device.name} has no tensor cores")
    if halved is None and dense(unit) in sm.halved_units:
        return Rate(None, "nobody says whether this is a GeForce, which would halve it")
    return sm.flop_per_clock_per_sm(unit, halved=bool(halved))


def _printed(device: Device, unit: str) -> Quantity:
    for figure in device.printed:
        if figure.unit == unit:
            return Quantity(figure.value, Source.CATALOGUE)
    return Quantity.unknown(f"the vendor limits {label(unit)} on this card and prints no figure")


def _clock_hz(device: Device, unit: str) -> float | None:
    if is_tensor(unit) and dense(unit) not in BOOST_CLOCKED_TENSOR_UNITS:
        return device.tensor_clock_hz or device.sm_clock_hz
    return device.sm_clock_hz
