"""What kmeter asks NVML about a GPU: a row a field, converted to base units where it is read."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kmeter.model.card import Fact
from kmeter.model.device import Source
from kmeter.sources._nvml import Nvml, Reading, decoded

MHZ, MILLI, KIB, MIB = 1e6, 1e-3, 1024, 2**20
SLICE_ONLY = frozenset({"utilisation", "processes", "memory_total_bytes", "memory_used_bytes"})
"""Fields that a MIG slice has of its own or not at all."""
NVLINK_FIELD = "nvlinks"
NVLINKS = 18
"""More links than any GPU has so far."""


class Field(NamedTuple):
    """One field: NVML's function and arguments, and how its answer becomes a value."""

    name: str
    function: str
    arguments: tuple[Any, ...] = ()
    """Numbers, or names of NVML's constants."""
    convert: Callable[[Any], Any] = lambda value: value


def _times(scale: float) -> Callable[[Any], float]:
    return lambda value: value * scale


def _first_is_on(modes: Any) -> bool:
    return bool(modes[0])


FIELDS = (
    Field("nvml_index", "nvmlDeviceGetIndex"),
    Field("brand", "nvmlDeviceGetBrand"),
    Field("sm_clock_hz", "nvmlDeviceGetClockInfo", ("NVML_CLOCK_SM",), _times(MHZ)),
    Field("memory_clock_hz", "nvmlDeviceGetClockInfo", ("NVML_CLOCK_MEM",), _times(MHZ)),
    Field("sm_clock_max_hz", "nvmlDeviceGetMaxClockInfo", ("NVML_CLOCK_SM",), _times(MHZ)),
    Field("memory_clock_max_hz", "nvmlDeviceGetMaxClockInfo", ("NVML_CLOCK_MEM",), _times(MHZ)),
    Field("memory_bus_bits", "nvmlDeviceGetMemoryBusWidth"),
    Field("power_w", "nvmlDeviceGetPowerUsage", (), _times(MILLI)),
    Field("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", (), _times(MILLI)),
    Field("temperature_c", "nvmlDeviceGetTemperature", ("NVML_TEMPERATURE_GPU",)),
    Field("throttle_reasons_mask", "nvmlDeviceGetCurrentClocksThrottleReasons"),
    Field("performance_state", "nvmlDeviceGetPerformanceState"),
    Field("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    Field("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
    Field("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    Field("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    Field("ecc", "nvmlDeviceGetEccMode", (), _first_is_on),
    Field("mig", "nvmlDeviceGetMigMode", (), _first_is_on),
    Field("persistence", "nvmlDeviceGetPersistenceMode", (), bool),
    Field("memory_total_bytes", "nvmlDeviceGetMemoryInfo", (), lambda info: info.total),
    Field("memory_used_bytes", "nvmlDeviceGetMemoryInfo", (), lambda info: info.used),
    Field("utilisation", "nvmlDeviceGetUtilizationRates", (), lambda rates: rates.gpu / 100),
    Field("processes", "nvmlDeviceGetComputeRunningProcesses", (), len),
    Field("vbios", "nvmlDeviceGetVbiosVersion", (), decoded),
)

LIVE_FIELDS = (
    Field(
        "memory_reserved_bytes", "nvmlDeviceGetMemoryInfo", ("nvmlMemory_v2",),
        lambda info: info.reserved,
    ),
    Field(
        "memory_utilisation", "nvmlDeviceGetUtilizationRates", (), lambda rates: rates.memory / 100
    ),
    Field("energy_j", "nvmlDeviceGetTotalEnergyConsumption", (), _times(MILLI)),
)  # fmt: skip
"""What nobody asks but those who watch. The driver keeps the reserved memory for itself, and counts it as
used in the answer of the first version, which ``memory_used_bytes`` is."""


def read_fields(nvml: Nvml, handle: Any) -> dict[str, Fact]:
    """Every field of one GPU."""
    asked: dict[tuple[Any, ...], Reading] = {}
    facts = {field.name: _read(nvml, handle, field, asked) for field in FIELDS}
    return facts | {NVLINK_FIELD: _nvlinks(nvml, handle)}


def read_field(nvml: Nvml, handle: Any, name: str) -> Fact:
    """One field by its name, where the others are not wanted."""
    return read_named(nvml, handle, (name,))[name]


def read_named(nvml: Nvml, handle: Any, names: Iterable[str]) -> dict[str, Fact]:
    """Fields by their names; those that one call answers cost one call."""
    asked: dict[tuple[Any, ...], Reading] = {}
    return {name: _read(nvml, handle, _BY_NAME[name], asked) for name in names}


_BY_NAME = {field.name: field for field in (*FIELDS, *LIVE_FIELDS)}


def _read(nvml: Nvml, handle: Any, field: Field, asked: dict[tuple[Any, ...], Reading]) -> Fact:
    call = (field.function, *field.arguments)
    if call not in asked:
        arguments = (_constant(nvml, argument) for argument in field.arguments)
        asked[call] = nvml.read(field.function, handle, *arguments)
    return fact_of(asked[call], field.convert)


def fact_of(reading: Reading, convert: Callable[[Any], Any]) -> Fact:
    """The reading as a fact of NVML's."""
    if reading.reason:
        return Fact(reason=reading.reason)
    return Fact(convert(reading.value), Source.NVML)


def _constant(nvml: Nvml, argument: Any) -> Any:
    return nvml.constant(argument) if isinstance(argument, str) else argument


def _nvlinks(nvml: Nvml, handle: Any) -> Fact:
    """Links that are up; the first that does not exist ends the count."""
    active = 0
    for link in range(NVLINKS):
        state = nvml.read("nvmlDeviceGetNvLinkState", handle, link)
        if state.reason:
            return Fact(reason=state.reason) if link == 0 else Fact(active, Source.NVML)
        active += bool(state.value)
    return Fact(active, Source.NVML)
