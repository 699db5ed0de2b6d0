"""A GPU as its source describes it: physical parameters, each unknown one with its reason."""

from enum import StrEnum
from typing import NamedTuple

from kmeter.model.architecture import Architecture


class Source(StrEnum):
    """Where a number comes from."""

    DRIVER = "driver"
    NVML = "nvml"
    CATALOGUE = "catalogue"
    DERIVED = "derived"
    MEASURED = "measured"
    RECORDING = "recording"
    """The driver's words, kept in a file."""
    GIVEN = "given"
    """By the user, on the command line."""
    ASSUMED = "assumed"


class Quantity(NamedTuple):
    """A number with its source, or None with the reason why nobody can tell."""

    value: float | None
    source: Source | None = None
    reason: str = ""
    clock_hz: float | None = None
    """The clock that a peak assumes."""

    @classmethod
    def unknown(cls, reason: str) -> "Quantity":
        """A value that cannot be known, and why."""
        return cls(value=None, reason=reason)


class PrintedFigure(NamedTuple):
    """A figure of the vendor's data sheet, kept beside what kmeter derives."""

    unit: str
    """A compute unit, or ``dram``."""
    printed: str
    value: float
    """FLOP/s or OP/s; bytes/s for ``dram``."""
    sources: tuple[str, ...]
    exception: str = ""
    """Why the derived figure is more than 1 % away."""


class Device(NamedTuple):
    """Physical parameters of one GPU. None is unknown."""

    target: str
    """How to name it again: ``catalogue:h100-sxm``, ``cuda:0``."""
    source: Source
    name: str
    compute_capability: str
    architecture: Architecture | None
    """None where the table has no row for the compute capability."""
    sm_count: int | None = None
    sm_clock_hz: float | None = None
    tensor_clock_hz: float | None = None
    """The lower clock of the vendor's tensor figures; None where they share the SM clock."""
    memory_bus_bits: int | None = None
    memory_bits_per_s_per_pin: float | None = None
    """Effective data rate, both edges counted."""
    dram: Quantity = Quantity(None, reason="no memory clock is known")
    """Bandwidth in bytes/s, where bus and data rate do not give it."""
    memory_type: str = ""
    memory_gb: float | None = None
    """Capacity as the vendor prints it."""
    l2_bytes: int | None = None
    tdp_w: float | None = None
    halved_fp32_accumulate: bool | None = False
    """GeForce: tensor rates with fp32 accumulation run at half. None: nobody says."""
    has_tensor_cores: bool = True
    printed_rates_only: frozenset[str] = frozenset()
    """Units that the vendor runs slower than the chip could: peaks are what it prints."""
    notes: tuple[str, ...] = ()
    printed: tuple[PrintedFigure, ...] = ()
