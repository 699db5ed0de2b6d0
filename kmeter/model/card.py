"""One GPU with all that its driver and NVML say about it, each field a value or a reason."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kmeter.model.device import Device, Source


class Fact(NamedTuple):
    """A field that somebody answered for, or None and the reason why nobody does."""

    value: Any = None
    source: Source | None = None
    reason: str = ""
    note: str = ""
    """What a reader must know beside the value: that it is the parent's, say."""


class Attribute(NamedTuple):
    """One attribute of the CUDA driver, as it came."""

    id: int
    name: str
    """cuda.h's name without its prefix, or ``attribute_<id>`` where it has none yet."""
    value: int
    meaning: str


class Card(NamedTuple):
    """A GPU of a machine, or the recording of one."""

    device: Device
    ordinal: int | None
    """Its number for CUDA, in this process."""
    uuid: str | None
    pci_bus_id: str | None
    attributes: tuple[Attribute, ...]
    """By id."""
    facts: Mapping[str, Fact] = MappingProxyType({})
    """Fields by name, in base units; see ``kmeter.sources._readings``."""
    lost: str = ""
    """Why the card answers no more; empty while it does."""
    catalogue: Device | None = None
    """The catalogue's entry of exactly this name: shown beside, never instead."""

    def attribute(self, name: str, otherwise: int | None = None) -> int | None:
        """An attribute's value by name, or ``otherwise``."""
        return next((a.value for a in self.attributes if a.name == name), otherwise)

    def fact(self, name: str) -> Fact:
        """A field by name; one that was never asked is unknown."""
        return self.facts.get(name, Fact(reason="not read"))


class Identity(NamedTuple):
    """A GPU by every name that it goes by; None where it has none there."""

    ordinal: int | None
    nvml_index: int | None
    pci_bus_id: str | None
    uuid: str | None
    name: str | None
    mig: bool | None
    lost: str = ""


class Machine(NamedTuple):
    """The GPUs that a process sees, and the versions of what told about them."""

    cards: tuple[Card, ...]
    driver_version: Fact
    """The kernel driver's, as NVML says it: ``580.159.04``."""
    cuda_version: Fact
    """The newest CUDA that the driver runs: ``13.0``."""
    nvml_version: Fact
    recorded_at: str = ""
    """When a recording was made; empty for the machine itself."""
