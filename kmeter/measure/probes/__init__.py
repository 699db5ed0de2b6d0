"""The probes: a module each, beside the kernels it launches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from kmeter.discovery import public_modules
from kmeter.model.ceiling import Measure, Point

if TYPE_CHECKING:
    from kmeter.measure.gpu import Gpu
    from kmeter.measure.plan import GpuFacts, Options


class ProbeFailedError(Exception):
    """A probe whose result is wrong: what it timed is no ceiling."""


class ProbeSkippedError(Exception):
    """A probe that cannot run here and now, and why."""


class ProbeUnsupportedError(Exception):
    """A probe that this card or its software cannot run, and why."""


@dataclass(frozen=True)
class Measured:
    """What a probe found."""

    samples: tuple[float, ...]
    """In the probe's measure."""
    how: str = ""
    note: str = ""
    working_set_bytes: int | None = None
    sm_clock_hz: float | None = None
    """As counted by the kernel itself."""
    in_bursts: bool = False
    """Rests lie between the samples, so that a clock that NVML samples says little."""
    cycles: float | None = None
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Lab:
    """What a probe works with."""

    gpu: "Gpu"
    options: "Options"
    tell: Callable[[str], None] = field(default=lambda _: None)
    """Says what is going on inside the probe."""

    @property
    def facts(self) -> "GpuFacts":
        """What the planners know of the GPU."""
        return self.gpu.facts


@dataclass(frozen=True)
class Probe:
    """One ceiling: what it is called, what it shows, how it is measured."""

    name: str
    """As a user asks for it: ``dram-read``."""
    level: str
    """Where it stands in the table: ``DRAM``, ``tensor``."""
    measure: Measure
    what: str
    """One sentence for someone who does not know the name."""
    run: Callable[[Lab], Measured]
    limit: str = ""
    """The compute unit or level whose peak bounds it; empty where nobody publishes one."""
    counts: str = ""
    """What is counted, where that is not plain."""
    seconds: float = 1.0
    """What it takes on an H200, to say how much is left; a quarter of it with ``quick``."""
    in_quick: bool = True
    """Whether ``--quick`` without names runs it."""
    unsupported: Callable[["GpuFacts"], str] = field(default=lambda _: "")
    """Why this GPU cannot run it; empty where it can."""


def too_old(since: tuple[int, int], facts: "GpuFacts") -> str:
    """Why a card cannot run what needs compute capability ``since``; empty where it can."""
    if facts.compute_capability >= since:
        return ""
    return f"needs compute capability {since[0]}.{since[1]}"


def probes() -> Iterator[Probe]:
    """Every probe, level by level."""
    for name in _ORDER:
        yield from import_module(f"{__name__}.{name}").PROBES


_ORDER = (
    "dram", "l2", "l1", "working_set", "latency", "launch", "arithmetic", "tensor", "matmul",
    "host_link", "peer", "intensity",
)  # fmt: skip


def unlisted() -> set[str]:
    """Modules of this folder that the order above forgets; a test wants none."""
    return set(public_modules(__path__)) - set(_ORDER)
