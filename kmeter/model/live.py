"""What GPUs do at one moment: what changes, each field a value or a reason."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from kmeter.model.card import Fact, Identity
from kmeter.model.device import Device
from kmeter.model.throttle import throttle_words


class Process(NamedTuple):
    """A process that computes on a GPU."""

    pid: int
    memory_bytes: int | None
    """What it holds of the GPU's memory; None where the driver does not tell."""
    command: str
    """Its name; empty where it is another user's or another container's."""


class LiveGpu(NamedTuple):
    """One GPU at that moment."""

    identity: Identity
    facts: Mapping[str, Fact]
    """Fields by name, in base units; see ``kmeter.sources._readings`` and ``_gpm``."""
    processes: tuple[Process, ...] = ()
    device: Device | None = None
    """What its peaks are derived from; None where only NVML sees it, and in a recorded session."""

    @property
    def is_answering(self) -> bool:
        """Whether anything is known of it now."""
        return any(fact.value is not None for fact in self.facts.values())

    def fact(self, name: str) -> Fact:
        """A field by name; one that was never asked is unknown."""
        return self.facts.get(name, Fact(reason="not read"))

    def share(self, name: str, of: str) -> float | None:
        """One field as a fraction of another; None where either is unknown."""
        value, whole = self.fact(name).value, self.fact(of).value
        return None if value is None or not whole else value / whole

    @property
    def throttled_by(self) -> tuple[str, ...]:
        """Why its clocks are held down, in words."""
        return tuple(throttle_words(int(self.fact("throttle_reasons_mask").value or 0)))


class Moment(NamedTuple):
    """Every GPU that is watched, read at one time."""

    at: str
    """UTC, as ISO 8601 has it."""
    gpus: tuple[LiveGpu, ...]
    reason: str = ""
    """Why there is nothing to be read."""
    driver_version: str = ""
    """The kernel driver's; empty where nobody tells, and in a recorded session."""


LEAST_INTERVAL_S, FIRST_INTERVAL_S = 0.1, 0.2
"""Between two readings, and before the first: NVML's counters need two samples that lie apart."""

ORDERS = ("index", "utilisation", "memory", "power", "temperature")
"""What rows can be sorted by."""
_FIELD_OF_ORDER = {
    "utilisation": "utilisation",
    "memory": "memory_used_bytes",
    "power": "power_w",
    "temperature": "temperature_c",
}


def ordered(gpus: tuple[LiveGpu, ...], order: str) -> tuple[LiveGpu, ...]:
    """The busiest first by a field, the unknown last; by index as they are."""
    if order == "index":
        return gpus
    field = _FIELD_OF_ORDER[order]

    def busy(gpu: LiveGpu) -> float:
        value = gpu.fact(field).value
        return -1.0 if value is None else float(value)

    return tuple(sorted(gpus, key=busy, reverse=True))


def seconds_between(one: Moment, other: Moment) -> float:
    """How long one moment is after another."""
    return (datetime.fromisoformat(other.at) - datetime.fromisoformat(one.at)).total_seconds()
