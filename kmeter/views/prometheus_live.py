"""GPUs at one moment as metrics: names, units and labels of NVIDIA's DCGM exporter where it has them.

Its names are those of DCGM's fields (dcgm_fields.h, and the exporter's default-counters.csv and
dcp-metrics-included.csv); what it has none for is called ``kmeter_`` and is in base units.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from kmeter.model.achieved import ACTIVITY_OF_UNIT, achieved
from kmeter.model.card import Identity
from kmeter.model.live import LiveGpu, Moment
from kmeter.model.throttle import REASONS
from kmeter.views.markup import clean
from kmeter.views.prometheus import Metric, Sample, dcgm_bus_id

Seconds = Mapping[str, float]
"""How long a GPU's clocks were held down, by the reason in words."""

_PER_MHZ, _PER_MIB, _PERCENT = 1e-6, 2.0**-20, 100.0


class _Gauge(NamedTuple):
    name: str
    help: str
    value: Callable[[LiveGpu], float | None]


def _field(name: str, scale: float = 1.0) -> Callable[[LiveGpu], float | None]:
    return lambda gpu: _scaled(gpu.fact(name).value, scale)


def _difference(name: str, less: str, scale: float) -> Callable[[LiveGpu], float | None]:
    def difference(gpu: LiveGpu) -> float | None:
        whole, part = gpu.fact(name).value, gpu.fact(less).value
        return None if None in {whole, part} else _scaled(whole - part, scale)

    return difference


def _scaled(value: float | None, scale: float) -> float | None:
    """To twelve digits, so that 29 % is 29 and not 28.999999999999996."""
    return None if value is None else float(f"{value * scale:.12g}")


_DCGM = (
    _Gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock in MHz.", _field("sm_clock_hz", _PER_MHZ)),
    _Gauge("DCGM_FI_DEV_MEM_CLOCK", "Memory clock in MHz.", _field("memory_clock_hz", _PER_MHZ)),
    _Gauge("DCGM_FI_DEV_MAX_SM_CLOCK", "Highest SM clock in MHz.",
           _field("sm_clock_max_hz", _PER_MHZ)),
    _Gauge("DCGM_FI_DEV_MAX_MEM_CLOCK", "Highest memory clock in MHz.",
           _field("memory_clock_max_hz", _PER_MHZ)),
    _Gauge("DCGM_FI_DEV_GPU_TEMP", "Temperature of the GPU in C.", _field("temperature_c")),
    _Gauge("DCGM_FI_DEV_POWER_USAGE", "Power drawn in W.", _field("power_w")),
    _Gauge("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "Power limit that the driver enforces in W.",
           _field("power_limit_w")),
    _Gauge("DCGM_FI_DEV_GPU_UTIL", "Share of the time in which a kernel ran in %.",
           _field("utilisation", _PERCENT)),
    _Gauge("DCGM_FI_DEV_MEM_COPY_UTIL", "Share of the time in which memory was read or written in %.",
           _field("memory_utilisation", _PERCENT)),
    _Gauge("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
           "Energy since the driver was loaded in mJ; read less often.", _field("energy_j", 1e3)),
    _Gauge("DCGM_FI_DEV_FB_TOTAL", "Memory of the GPU in MiB.",
           _field("memory_total_bytes", _PER_MIB)),
    _Gauge("DCGM_FI_DEV_FB_USED", "Memory used in MiB, without what the driver reserves.",
           _difference("memory_used_bytes", "memory_reserved_bytes", _PER_MIB)),
    _Gauge("DCGM_FI_DEV_FB_FREE", "Memory free in MiB.",
           _difference("memory_total_bytes", "memory_used_bytes", _PER_MIB)),
    _Gauge("DCGM_FI_DEV_FB_RESERVED", "Memory that the driver reserves in MiB.",
           _field("memory_reserved_bytes", _PER_MIB)),
    _Gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "Why clocks are held down: NVML's bits.",
           _field("throttle_reasons_mask")),
    _Gauge("DCGM_FI_DEV_PCIE_LINK_GEN", "PCIe generation of the link now.",
           _field("pcie_generation")),
    _Gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", "PCIe lanes of the link now.", _field("pcie_width")),
    _Gauge("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time that the engine was busy.",
           _field("engine_active")),
    _Gauge("DCGM_FI_PROF_SM_ACTIVE", "Ratio of cycles that an SM held a warp.",
           _field("sm_active")),
    _Gauge("DCGM_FI_PROF_SM_OCCUPANCY", "Ratio of warps on SMs to what they can hold.",
           _field("sm_occupancy")),
    _Gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Ratio of cycles that tensor cores worked.",
           _field("tensor_active")),
    _Gauge("DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE",
           "Ratio of cycles that tensor cores worked on floating point below fp64.",
           _field("tensor_float_active")),
    _Gauge("DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE",
           "Ratio of cycles that tensor cores worked on integers.", _field("tensor_int_active")),
    _Gauge("DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE",
           "Ratio of cycles that tensor cores worked on fp64.", _field("tensor_fp64_active")),
    _Gauge("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "Ratio of cycles that the fp64 pipe worked.",
           _field("fp64_active")),
    _Gauge("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "Ratio of cycles that the fp32 pipe worked.",
           _field("fp32_active")),
    _Gauge("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "Ratio of cycles that the fp16 pipe worked.",
           _field("fp16_active")),
    _Gauge("DCGM_FI_PROF_PIPE_INT_ACTIVE", "Ratio of cycles that the integer pipe worked.",
           _field("integer_active")),
    _Gauge("DCGM_FI_PROF_DRAM_ACTIVE", "Ratio of cycles that DRAM sent or received.",
           _field("dram_active")),
    _Gauge("DCGM_FI_PROF_PCIE_TX_BYTES", "Sent over PCIe in bytes per second.",
           _field("pcie_sent_bytes_per_s")),
    _Gauge("DCGM_FI_PROF_PCIE_RX_BYTES", "Received over PCIe in bytes per second.",
           _field("pcie_received_bytes_per_s")),
    _Gauge("DCGM_FI_PROF_NVLINK_TX_BYTES", "Sent over NVLink in bytes per second.",
           _field("nvlink_sent_bytes_per_s")),
    _Gauge("DCGM_FI_PROF_NVLINK_RX_BYTES", "Received over NVLink in bytes per second.",
           _field("nvlink_received_bytes_per_s")),
)  # fmt: skip


def live_metrics(
    moment: Moment, held: Mapping[Identity, Seconds], hostname: str
) -> Iterator[Metric]:
    """Every metric of a moment; what is unknown has no sample, and a GPU that does not answer is not up.

    ``held`` is what was seen of its clocks so far.
    """
    labelled = [(gpu, _labels(gpu.identity, moment, hostname)) for gpu in moment.gpus]
    yield _reading_time(moment, hostname)
    yield Metric(
        "kmeter_gpu_up", "gauge", "1 while the GPU answers NVML, 0 where it is lost or hangs.",
        tuple(Sample(labels, float(gpu.is_answering)) for gpu, labels in labelled),
    )  # fmt: skip
    answering = [(gpu, labels) for gpu, labels in labelled if gpu.is_answering]
    for gauge in _DCGM:
        yield _of_each(gauge, answering)
    yield _of_each(_DRAM_RATE, answering)
    yield Metric(
        "kmeter_achieved_flop_per_second", "gauge",
        "How busy a unit was, times its peak at the clock held. Tensor cores do not tell their data type: "
        "of those, take the one that runs.",
        tuple(sample for gpu, labels in answering for sample in _rates(gpu, labels)),
    )  # fmt: skip
    yield Metric(
        "kmeter_clock_event_seconds_total", "counter",
        "How long readings found the clocks held down, by reason, since kmeter began to read.",
        tuple(s for gpu, labels in answering for s in _held(gpu, labels, held)),
    )  # fmt: skip


def _labels(identity: Identity, moment: Moment, hostname: str) -> dict[str, str]:
    """The DCGM exporter's, which counts GPUs as NVML does; a name that nobody knows is left out."""
    index = identity.nvml_index
    labels = {
        "gpu": None if index is None else str(index),
        "UUID": identity.uuid,
        "pci_bus_id": dcgm_bus_id(identity.pci_bus_id) if identity.pci_bus_id else None,
        "device": None if index is None else f"nvidia{index}",
        "modelName": identity.name,
        "Hostname": hostname,
        "DCGM_FI_DRIVER_VERSION": moment.driver_version,
    }
    return {name: clean(value) for name, value in labels.items() if value}


def _reading_time(moment: Moment, hostname: str) -> Metric:
    seconds = datetime.fromisoformat(moment.at).timestamp()
    return Metric(
        "kmeter_reading_timestamp_seconds", "gauge", "When the GPUs were read, Unix time.",
        (Sample({"Hostname": hostname}, seconds),),
    )  # fmt: skip


def _of_each(gauge: _Gauge, labelled: list[tuple[LiveGpu, dict[str, str]]]) -> Metric:
    values = [(labels, gauge.value(gpu)) for gpu, labels in labelled]
    samples = tuple(Sample(labels, value) for labels, value in values if value is not None)
    return Metric(gauge.name, "gauge", gauge.help, samples)


def _dram_rate(gpu: LiveGpu) -> float | None:
    return achieved(gpu, gpu.device, "fp32").dram_bytes_per_s if gpu.device else None


_DRAM_RATE = _Gauge(
    "kmeter_dram_bytes_per_second", "How busy DRAM was, times its peak.", _dram_rate
)


def _rates(gpu: LiveGpu, labels: dict[str, str]) -> Iterator[Sample]:
    if gpu.device is None:
        return
    for unit in ACTIVITY_OF_UNIT:
        rate = achieved(gpu, gpu.device, unit).flop_per_s
        if rate is not None:
            yield Sample({**labels, "unit": unit}, rate)


def _held(
    gpu: LiveGpu, labels: dict[str, str], held: Mapping[Identity, Seconds]
) -> Iterator[Sample]:
    """Every reason that NVML has a name for, and those that were seen."""
    if gpu.fact("throttle_reasons_mask").value is None:
        return
    seen = held.get(gpu.identity, {})
    for reason in dict.fromkeys((*REASONS.values(), *seen)):
        yield Sample({**labels, "reason": reason}, seen.get(reason, 0.0))
