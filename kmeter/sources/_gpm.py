"""NVML's GPM counters (Hopper and newer): how busy each unit was between two samples.

They need no privileges. Shares are of cycles that passed, so that times a peak at the clock held they
give a rate (nvml.h, nvmlGpmMetricId_t).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kmeter.model.card import Fact
from kmeter.model.device import Source
from kmeter.sources._nvml import Nvml, Reading

_PERCENT, _MIB = 0.01, float(2**20)


class Metric(NamedTuple):
    """One counter: NVML's name without its prefix, and what turns it into base units."""

    constant: str
    scale: float


METRICS: Mapping[str, Metric] = {
    "engine_active": Metric("GRAPHICS_UTIL", _PERCENT),
    "sm_active": Metric("SM_UTIL", _PERCENT),
    "sm_occupancy": Metric("SM_OCCUPANCY", _PERCENT),
    "tensor_active": Metric("ANY_TENSOR_UTIL", _PERCENT),
    "tensor_float_active": Metric("HMMA_TENSOR_UTIL", _PERCENT),
    "tensor_fp64_active": Metric("DFMA_TENSOR_UTIL", _PERCENT),
    "tensor_int_active": Metric("IMMA_TENSOR_UTIL", _PERCENT),
    "fp64_active": Metric("FP64_UTIL", _PERCENT),
    "fp32_active": Metric("FP32_UTIL", _PERCENT),
    "fp16_active": Metric("FP16_UTIL", _PERCENT),
    "integer_active": Metric("INTEGER_UTIL", _PERCENT),
    "dram_active": Metric("DRAM_BW_UTIL", _PERCENT),
    "pcie_sent_bytes_per_s": Metric("PCIE_TX_PER_SEC", _MIB),
    "pcie_received_bytes_per_s": Metric("PCIE_RX_PER_SEC", _MIB),
    "nvlink_sent_bytes_per_s": Metric("NVLINK_TOTAL_TX_PER_SEC", _MIB),
    "nvlink_received_bytes_per_s": Metric("NVLINK_TOTAL_RX_PER_SEC", _MIB),
}
"""By the field's name. A GPU sends to the host what PCIe calls transmitted."""


class Gpm:
    """The counters of one GPU, each reading since the one before."""

    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self._samples: list[Any] = []
        self._reason = self._unsupported() or self._allocated()

    def _unsupported(self) -> str:
        support = self._nvml.read("nvmlGpmQueryDeviceSupport", self._handle)
        if support.reason:
            return support.reason
        return "" if support.value.isSupportedDevice else "not supported"

    def _allocated(self) -> str:
        for _ in range(2):
            sample = self._nvml.read("nvmlGpmSampleAlloc")
            if sample.reason:
                return sample.reason
            self._samples.append(sample.value)
        return self._nvml.read("nvmlGpmSampleGet", self._handle, self._samples[0]).reason

    def read(self) -> dict[str, Fact]:
        """Every counter since the last call, or since the beginning."""
        if self._reason:
            return dict.fromkeys(METRICS, Fact(reason=self._reason))
        before, now = self._samples
        taken = self._nvml.read("nvmlGpmSampleGet", self._handle, now)
        if taken.reason:
            return dict.fromkeys(METRICS, Fact(reason=taken.reason))
        self._samples.reverse()
        return self._between(before, now)

    def _between(self, before: Any, now: Any) -> dict[str, Fact]:
        import pynvml

        asked = pynvml.c_nvmlGpmMetricsGet_t()
        asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
        asked.sample1, asked.sample2, asked.numMetrics = before, now, len(METRICS)
        for place, metric in zip(asked.metrics, METRICS.values(), strict=False):
            place.metricId = self._nvml.constant(f"NVML_GPM_METRIC_{metric.constant}")
        answer = self._nvml.read("nvmlGpmMetricsGet", asked)
        if answer.reason:
            return dict.fromkeys(METRICS, Fact(reason=answer.reason))
        return {
            name: _fact(place, metric)
            for (name, metric), place in zip(METRICS.items(), asked.metrics, strict=False)
        }

    def close(self) -> None:
        """Give the samples back."""
        for sample in self._samples:
            self._nvml.read("nvmlGpmSampleFree", sample)
        self._samples = []


def _fact(place: Any, metric: Metric) -> Fact:
    answer = Reading(reason="not supported") if place.nvmlReturn else Reading(float(place.value))
    if answer.reason:
        return Fact(reason=answer.reason)
    return Fact(answer.value * metric.scale, Source.NVML)
