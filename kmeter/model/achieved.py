"""What a GPU is doing at one moment, in FLOP/s and bytes/s: how busy its units are, times their peaks."""

from collections.abc import Mapping
from typing import NamedTuple

from kmeter.model.compute_units import label
from kmeter.model.device import Device
from kmeter.model.live import LiveGpu
from kmeter.model.peaks import Peaks, peaks
from kmeter.model.roofline import KernelPoint

ACTIVITY_OF_UNIT: Mapping[str, str] = {
    "fp32": "fp32_active",
    "fp64": "fp64_active",
    "fp64_tensor": "tensor_fp64_active",
    "tf32_tensor": "tensor_float_active",
    "fp16_tensor": "tensor_float_active",
    "bf16_tensor": "tensor_float_active",
    "fp8_tensor_fp32_accumulate": "tensor_float_active",
    "int8_tensor": "tensor_int_active",
}
"""NVML's share of cycles in which the unit worked. Tensor cores do not tell with which data type, and
the counter of fp16 outside of them reads 92 % at half of the peak on an H200: it is left out."""

SLOWED_BY_TENSOR_CORES: Mapping[str, float] = {"9.0": 0.907}
"""What SMs run at while their tensor cores work, of the clock that NVML reports: ``clock64`` against
``globaltimer`` beside eleven loads that kept them busy, bf16, fp16, tf32, fp8 and int8, random numbers and
zeros (0.88 to 0.92; fp64 products are not slowed; H200, driver 580.159.04, 2026-12-03). A load that kept
them busy for 40 % of the time agrees with it by its rate."""


class Achieved(NamedTuple):
    """Rates of the time since the reading before; None where a counter or a peak is unknown."""

    unit: str
    flop_per_s: float | None
    """As if every instruction of the unit were a fused multiply-add or a whole matrix product."""
    dram_bytes_per_s: float | None
    reason: str = ""

    def point(self, name: str) -> KernelPoint | None:
        """Where that is on the roofline; None where nothing is computed or moved."""
        if not self.flop_per_s or not self.dram_bytes_per_s:
            return None
        intensity = self.flop_per_s / self.dram_bytes_per_s
        return KernelPoint(name, intensity, self.flop_per_s, self.dram_bytes_per_s)


def achieved(gpu: LiveGpu, device: Device, unit: str) -> Achieved:
    """What ``unit`` and DRAM did; ``device`` has the peaks of this GPU."""
    found = peaks(device)
    dram, activity = found.dram_bytes_per_s, gpu.fact("dram_active")
    moved = None if None in {dram.value, activity.value} else dram.value * activity.value
    rate, reason = _flop_per_s(gpu, device, found, unit)
    return Achieved(unit, rate, moved, reason or activity.reason or dram.reason)


def _flop_per_s(gpu: LiveGpu, device: Device, found: Peaks, unit: str) -> tuple[float | None, str]:
    if unit not in ACTIVITY_OF_UNIT:
        return None, f"no counter tells how busy {label(unit)} is"
    activity, clock = gpu.fact(ACTIVITY_OF_UNIT[unit]), gpu.fact("sm_clock_hz")
    peak = found.flop_per_s[unit]
    if activity.value is None or clock.value is None or peak.value is None or not peak.clock_hz:
        return None, activity.reason or clock.reason or peak.reason or "the peak has no clock"
    held = clock.value * _slowed(device, ACTIVITY_OF_UNIT[unit])
    return activity.value * peak.value * held / peak.clock_hz, ""


def _slowed(device: Device, activity: str) -> float:
    if activity in {"tensor_float_active", "tensor_int_active"}:
        return SLOWED_BY_TENSOR_CORES.get(device.compute_capability, 1.0)
    return 1.0


def busiest_unit(gpu: LiveGpu) -> str:
    """The unit that works most, a tensor core taken to compute in fp16; fp32 where none is known."""
    candidates = ("fp32", "fp64", "fp64_tensor", "fp16_tensor", "int8_tensor")
    shares = {unit: gpu.fact(ACTIVITY_OF_UNIT[unit]).value or 0.0 for unit in candidates}
    return max(candidates, key=lambda unit: shares[unit])
