"""A Card out of what CUDA and NVML say: which of their numbers can be believed, and which not."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kmeter.model.architecture import Architecture, known_architecture
from kmeter.model.card import Attribute, Card, Fact
from kmeter.model.device import Device, Quantity, Source
from kmeter.sources._attributes import ATTRIBUTES
from kmeter.sources._nvml import GPU_LOST
from kmeter.sources.catalogue import twin

KHZ = 1e3
BITS_PER_CLOCK = 2
"""Both edges of the memory clock that the driver reports, on GDDR and HBM alike."""

MAJOR, MINOR, SM_COUNT, SM_CLOCK_KHZ = 75, 76, 16, 13
MEMORY_CLOCK_KHZ, BUS_BITS, L2_BYTES, INTEGRATED = 36, 37, 38, 18

GEFORCE_BRANDS = frozenset({5, 15})
"""NVML_BRAND_GEFORCE and NVML_BRAND_GEFORCE_RTX: tensor rates with fp32 accumulation are halved."""


class CudaFacts(NamedTuple):
    """What the CUDA driver says about one GPU, as it came."""

    name: str
    uuid: str | None
    pci_bus_id: str | None
    total_memory_bytes: int
    attributes: Mapping[int, int]

    @property
    def is_mig(self) -> bool:
        """Whether this is a slice of a GPU."""
        return " MIG " in self.name

    @property
    def is_integrated(self) -> bool:
        """Whether the GPU uses the host's memory."""
        return bool(self.attributes.get(INTEGRATED))


class CardReading(NamedTuple):
    """Everything that one GPU answered; what a recording keeps."""

    cuda: CudaFacts
    nvml: Mapping[str, Fact]

    @property
    def lost(self) -> str:
        """Why the GPU answers no more; empty while it does."""
        if not self.cuda.attributes:
            return "the driver answers nothing about it"
        return GPU_LOST if any(fact.reason == GPU_LOST for fact in self.nvml.values()) else ""


def card_of(
    reading: CardReading, target: str, ordinal: int | None, source: Source = Source.DRIVER
) -> Card:
    """The reading as a card, with the device that peaks are derived from."""
    return Card(
        device=device_of(reading.cuda, reading.nvml, target, source),
        ordinal=ordinal,
        uuid=reading.cuda.uuid,
        pci_bus_id=reading.cuda.pci_bus_id,
        attributes=tuple(named_attributes(reading.cuda.attributes)),
        facts=dict(reading.nvml) | memory_facts(reading.cuda, reading.nvml),
        lost=reading.lost,
        catalogue=twin(reading.cuda.name),
    )


def named_attributes(attributes: Mapping[int, int]) -> Iterator[Attribute]:
    """The attributes with their names; ids that no header names yet keep their number."""
    for id_, value in sorted(attributes.items()):
        name, meaning = ATTRIBUTES.get(id_, (f"attribute_{id_}", "cuda.h has no name for it yet"))
        yield Attribute(id_, name, value, meaning)


def memory_facts(cuda: CudaFacts, nvml: Mapping[str, Fact]) -> dict[str, Fact]:
    """Total memory: what CUDA says, or for an integrated GPU the host's, which it shares."""
    return {
        "total_memory_bytes": _total_memory(cuda, nvml["memory_total_bytes"]),
        "memory_is_unified": Fact(cuda.is_integrated, Source.DRIVER),
    }


def _total_memory(cuda: CudaFacts, told: Fact) -> Fact:
    if cuda.total_memory_bytes:
        return Fact(cuda.total_memory_bytes, Source.DRIVER)
    if cuda.is_integrated:
        return host_memory()
    return told if told.value else Fact(reason=told.reason or "the driver says 0")


def host_memory() -> Fact:
    """The host's memory, as its kernel says."""
    try:
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return Fact(reason="the host's memory size cannot be read")
    return Fact(pages * page, Source.DERIVED)


def device_of(
    cuda: CudaFacts, nvml: Mapping[str, Fact], target: str, source: Source = Source.DRIVER
) -> Device:
    """The parameters that peaks are derived from; each unknown one with its reason."""
    attributes = cuda.attributes
    compute_capability = f"{attributes[MAJOR]}.{attributes[MINOR]}" if attributes else ""
    row = known_architecture(compute_capability) if attributes else None
    clock, bus_bits = _memory_clock_hz(cuda, nvml), _bus_bits(cuda, nvml)
    rate = None if clock.value is None else clock.value * BITS_PER_CLOCK
    trusted = rate if bus_bits and not cuda.is_mig else None
    return Device(
        target=target,
        source=source,
        name=cuda.name,
        compute_capability=compute_capability,
        architecture=row,
        sm_count=attributes.get(SM_COUNT),
        sm_clock_hz=_sm_clock_hz(cuda, nvml),
        memory_bus_bits=bus_bits,
        memory_bits_per_s_per_pin=trusted,
        dram=Quantity.unknown(_why_no_bandwidth(cuda, clock, bus_bits)),
        l2_bytes=attributes.get(L2_BYTES),
        tdp_w=nvml["power_limit_w"].value if "power_limit_w" in nvml else None,
        halved_fp32_accumulate=_is_halved(row, nvml),
        has_tensor_cores=row is None
        or attributes.get(SM_COUNT, 0) > row.most_sms_without_tensor_cores,
    )


def _sm_clock_hz(cuda: CudaFacts, nvml: Mapping[str, Fact]) -> float | None:
    khz = cuda.attributes.get(SM_CLOCK_KHZ, 0)
    return khz * KHZ if khz else nvml["sm_clock_max_hz"].value


def _memory_clock_hz(cuda: CudaFacts, nvml: Mapping[str, Fact]) -> Fact:
    """The driver's memory clock, or NVML's where CUDA 13 reports 0; None where neither can be."""
    hz = cuda.attributes.get(MEMORY_CLOCK_KHZ, 0) * KHZ
    if hz and cuda.is_integrated and hz == cuda.attributes.get(SM_CLOCK_KHZ, 0) * KHZ:
        return Fact(reason="the driver repeats the GPU's clock as the memory's")
    if hz:
        return Fact(hz, Source.DRIVER)
    told = nvml["memory_clock_max_hz"]
    if told.value and not cuda.is_integrated:
        return told
    return Fact(reason="the driver reports no memory clock")


def _bus_bits(cuda: CudaFacts, nvml: Mapping[str, Fact]) -> int | None:
    bits: int | None = cuda.attributes.get(BUS_BITS) or nvml["memory_bus_bits"].value
    return bits


def _why_no_bandwidth(cuda: CudaFacts, clock: Fact, bus_bits: int | None) -> str:
    if cuda.is_mig:
        return "a MIG slice has a share of its parent's bandwidth that the driver does not state"
    return clock.reason or ("" if bus_bits else "the driver reports no memory bus width")


def _is_halved(row: Architecture | None, nvml: Mapping[str, Fact]) -> bool | None:
    if row is None or not row.halved_units:
        return False
    brand = nvml["brand"]
    return None if brand.value is None else brand.value in GEFORCE_BRANDS
