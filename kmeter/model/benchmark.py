"""What became of a benchmark: its times, whether its result was right, and under which conditions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kmeter.model.ceiling import Conditions
from kmeter.model.launched_kernel import LaunchedKernel
from kmeter.model.samples import Interval, Summary, median_interval, quantile, summary


class Outcome(StrEnum):
    """What became of one benchmark."""

    OK = "ok"
    WRONG = "wrong"
    """Its result is not the reference's, or it did not do its work when it was timed."""
    IMPOSSIBLE = "impossible"
    """Faster than the card allows: the counts or the work are not what they seem."""
    FAILED = "failed"
    """It raised."""
    CRASHED = "crashed"
    """It took its process or the CUDA context with it."""
    HUNG = "hung"
    """It did not end in the time it was given."""

    @property
    def in_words(self) -> str:
        """What a benchmark did or is: ``is wrong``, ``crashed``."""
        adjectives = {Outcome.OK, Outcome.WRONG, Outcome.IMPOSSIBLE}
        return f"is {self}" if self in adjectives else str(self)

    @property
    def is_good(self) -> bool:
        """Whether its time can be used."""
        return self is Outcome.OK


class CacheState(StrEnum):
    """What L2 held when the kernel began."""

    COLD = "cold"
    """Another's data, written: the kernel pays for writing that back."""
    CLEAN = "clean"
    """Another's data, only read: the kernel's own writes may stay in L2 unpaid."""
    WARM = "warm"
    """What the call before left there."""
    ROTATING = "rotating"
    """What calls on other buffers left there: inputs come from DRAM, and each call pays for writing
    another's results back."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Check:
    """A result held against the reference's."""

    passed: bool
    reason: str = ""
    """What was wrong, where something was."""
    largest_error: float | None = None
    """The largest absolute difference."""
    tolerance: str = ""
    """How much was allowed, in words."""
    runs: int = 0
    """Results that were compared, each of fresh inputs."""
    golden: bool = False
    """Whether the reference's own error against fp64 was taken into account."""
    same_inputs: bool = False
    """Whether every trial had the same values: a result that is kept would not be seen."""


@dataclass(frozen=True)
class Roofs:
    """What bounds the kernel on its card; None is unknown."""

    device_name: str = ""
    dram_bytes_per_s: float | None = None
    flop_per_s: float | None = None
    """Of the unit that the benchmark names, or as its author gave it."""
    unit: str = ""
    unit_is_assumed: bool = False
    """The author names none: fp32, as kernelmeter has it."""
    clock_hz: float | None = None
    """The SM clock that ``flop_per_s`` assumes."""
    measured_dram_bytes_per_s: float | None = None
    """What ``kmeter ceiling`` measured on this very card."""
    measured_flop_per_s: float | None = None
    reason: str = ""
    """Why a roof is unknown."""


@dataclass(frozen=True)
class Row:
    """One benchmark with one set of parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    reason: str = ""
    """Why there is no time, or why it cannot be used."""
    engine: str = ""
    """Which clock: ``events``, ``graph``, ``cupti`` or ``host``."""
    cache_state: CacheState = CacheState.UNKNOWN
    cache_note: str = ""
    """How that state was reached, or why not the one asked for."""
    samples_s: tuple[float, ...] = ()
    """Every sample, seconds, in the order they were taken."""
    throttled: tuple[int, ...] = ()
    """Indices of samples during which the card held its clock down."""
    reference_samples_s: tuple[float, ...] = ()
    """Of the reference, taken in turns with ``samples_s``."""
    overhead_s: float | None = None
    """What the engine itself takes, measured and already taken off every sample."""
    rival_samples_s: tuple[float, ...] = ()
    """Of the same benchmark in another file, taken in turns with ``samples_s``."""
    host_s: float | None = None
    """How long the call keeps the host before it returns."""
    bytes_per_call: float | None = None
    flop_per_call: float | None = None
    check: Check | None = None
    """None where there is no reference."""
    roofs: Roofs = field(default_factory=Roofs)
    conditions: Conditions = field(default_factory=Conditions)
    energy_j: float | None = None
    """Per call, from NVML's counter over calls back to back."""
    stopped_by: str = ""
    """``precision``, ``time limit`` or ``count``."""
    notes: tuple[str, ...] = ()
    kernels: tuple[LaunchedKernel, ...] = ()
    """What one call launched, where CUPTI or the framework tells."""
    tags: tuple[str, ...] = ()
    sampling_s: float = 0.0
    """How long taking the samples took."""
    seconds: float = 0.0
    """How long it all took."""

    @property
    def label(self) -> str:
        """The name with its parameters: ``copy[n=1024, dtype=fp16]``."""
        return labelled(self.name, self.parameters)

    @property
    def used_s(self) -> tuple[float, ...]:
        """The samples that count: those at full clocks where they are at least half of them."""
        held = set(self.throttled)
        free = tuple(s for n, s in enumerate(self.samples_s) if n not in held)
        return free if 2 * len(free) >= len(self.samples_s) else self.samples_s

    @property
    def times(self) -> Summary | None:
        """The samples that count, summed up."""
        return summary(self.used_s)

    @property
    def median_s(self) -> float | None:
        return self.times.median if self.times else None

    @property
    def correct(self) -> bool | None:
        """None where nothing was compared."""
        return self.check.passed if self.check else None

    @property
    def speedups(self) -> tuple[float, ...]:
        """The reference's time over the kernel's, of samples taken in turns."""
        pairs = zip(self.reference_samples_s, self.samples_s, strict=False)
        return tuple(ref / own for ref, own in pairs if own > 0)

    @property
    def speedup(self) -> float | None:
        """How many times faster than the reference; None without one."""
        return quantile(sorted(self.speedups), 0.5) if self.speedups else None

    @property
    def speedup_interval(self) -> Interval | None:
        return median_interval(self.speedups)

    @property
    def is_launch_bound(self) -> bool:
        """Whether the host takes longer to launch the work than the GPU to do it."""
        return (
            self.engine != "host"
            and self.host_s is not None
            and self.median_s is not None
            and self.host_s > self.median_s
        )


def labelled(name: str, parameters: Mapping[str, Any]) -> str:
    """A benchmark's name with its parameters, as people see it."""
    if not parameters:
        return name
    return f"{name}[{', '.join(f'{key}={value}' for key, value in parameters.items())}]"


@dataclass(frozen=True)
class Environment:
    """Where the times were taken; None is unknown."""

    gpu_name: str | None = None
    gpu_uuid: str | None = None
    compute_capability: str | None = None
    driver_version: str | None = None
    cuda_version: str | None = None
    sm_clock_max_hz: float | None = None
    no_gpu_reason: str = ""
    """Why there is no GPU."""
    host_name: str = ""
    host_processor: str = ""
    python_version: str = ""
    kmeter_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of the frameworks that the file imported."""
    file: str = ""
    file_sha256: str = ""
    git_commit: str | None = None
    """Of the benchmark file's repository."""
    git_is_dirty: bool | None = None
    """Whether that file differs from the commit's."""


@dataclass(frozen=True)
class BenchRun:
    """The rows of one file, from one run."""

    environment: Environment
    started_at: str
    """ISO 8601, UTC."""
    rows: tuple[Row, ...] = ()
    tag: str | None = None
    is_complete: bool = True
    """False where the run was interrupted."""

    @property
    def failures(self) -> tuple[Row, ...]:
        """Rows that make the command end with exit code 1."""
        return tuple(row for row in self.rows if not row.outcome.is_good)
