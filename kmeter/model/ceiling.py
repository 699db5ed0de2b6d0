"""Ceilings: what a card was measured to deliver, under which conditions, beside what it could."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median


class Status(StrEnum):
    """What became of a probe."""

    OK = "ok"
    FAILED = "failed"
    """Its result was wrong, or above what the card can do: no ceiling."""
    UNSUPPORTED = "unsupported"
    """The card or its software cannot do this."""
    SKIPPED = "skipped"
    """It could run, but not here and now."""


class Measure(StrEnum):
    """What a ceiling is counted in."""

    BYTES_PER_S = "bytes_per_s"
    FLOP_PER_S = "flop_per_s"
    OP_PER_S = "op_per_s"
    SECONDS = "s"

    @property
    def more_is_better(self) -> bool:
        """A rate is a ceiling from below, a latency from above."""
        return self is not Measure.SECONDS


@dataclass(frozen=True)
class Limit:
    """What arithmetic allows at most, or None and the reason why nobody can say."""

    value: float | None = None
    source: str = ""
    """Where it comes from, in words."""
    clock_hz: float | None = None
    """The SM clock it assumes; None where it does not depend on one."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The card while a probe ran; None is unknown."""

    sm_clock_hz: float | None = None
    sm_clock_source: str = ""
    """``SM`` where the kernel counted its own cycles, ``NVML`` where it was sampled."""
    memory_clock_hz: float | None = None
    power_w: float | None = None
    """The most of all samples."""
    temperature_c: float | None = None
    """The most of all samples."""
    throttle_reasons_mask: int | None = None
    """Every reason that any sample gave."""
    samples: int = 0
    busy_neighbours: int | None = None
    """Other GPUs of the host that were at work when the probe ended."""


@dataclass(frozen=True)
class Point:
    """One place of a sweep."""

    x: float
    """Bytes of the working set, or FLOP per byte."""
    value: float


@dataclass(frozen=True)
class Ceiling:
    """The result of one probe."""

    name: str
    level: str
    measure: Measure
    status: Status
    reason: str = ""
    """Why there is no value."""
    value: float | None = None
    """The median of the samples, in base units."""
    samples: tuple[float, ...] = ()
    cycles: float | None = None
    """A latency in cycles of the SM."""
    how: str = ""
    """Which of the variants that were tried won."""
    counts: str = ""
    """What is counted: ``read + write``."""
    note: str = ""
    working_set_bytes: int | None = None
    limit: Limit = field(default_factory=Limit)
    conditions: Conditions = field(default_factory=Conditions)
    points: tuple[Point, ...] = ()
    seconds: float = 0.0
    """How long the probe took, with its search and its checks."""
    measured_at: str = ""
    """ISO 8601, UTC."""
    is_quick: bool = False

    @property
    def spread(self) -> float | None:
        """Largest less smallest sample over the median; None for a single one."""
        if self.value is None or len(self.samples) < 2 or not self.value:
            return None
        return (max(self.samples) - min(self.samples)) / self.value

    @property
    def fraction_of_limit(self) -> float | None:
        """Measured over possible; None for a latency or an unknown limit."""
        if self.value is None or not self.limit.value or not self.measure.more_is_better:
            return None
        return self.value / self.limit.value

    @property
    def fraction_at_clock(self) -> float | None:
        """Measured over what is possible at the clock that was held."""
        fraction, held = self.fraction_of_limit, self.conditions.sm_clock_hz
        if fraction is None or self.limit.clock_hz is None:
            return fraction
        return fraction * self.limit.clock_hz / held if held else None


@dataclass(frozen=True)
class CeilingRun:
    """The ceilings of one card, from one run."""

    gpu_name: str
    uuid: str | None
    compute_capability: str
    driver_version: str | None
    cuda_version: str
    """The newest CUDA that the driver runs."""
    compiler_version: str
    kmeter_version: str
    started_at: str
    """ISO 8601, UTC."""
    quick: bool
    planned_bytes: int
    """Device memory that the run allowed itself."""
    peak_bytes: int | None
    """The most that it held."""
    ceilings: tuple[Ceiling, ...] = ()
    ecc: bool | None = None
    pcie_width: int | None = None
    pcie_generation: int | None = None
    other_processes: int | None = None
    """Compute processes on the card beside this one."""
    is_complete: bool = True
    """False where the run was interrupted."""
    host: str | None = None
    pci_bus_id: str | None = None
    power_limit_w: float | None = None
    """The one that is enforced."""
    uncorrected_errors: int | None = None
    """ECC errors since the driver was loaded that could not be corrected."""
    number: str = ""
    """``GPU 3``: what names it in its host where it has neither UUID nor bus id."""
    refusal: str = ""
    """Why it could not be measured, or not to its end, through a fault that was no interruption."""

    @property
    def called(self) -> str:
        """What names its GPU within its host."""
        return self.uuid or self.pci_bus_id or self.number

    @property
    def was_interrupted(self) -> bool:
        """Whether it ended before its end, through no fault of the GPU's."""
        return not self.is_complete and not self.refusal

    @property
    def failed(self) -> list[str]:
        """The ceilings that the GPU failed."""
        return [ceiling.name for ceiling in self.ceilings if ceiling.status is Status.FAILED]

    def named(self, name: str) -> Ceiling | None:
        """The ceiling of that name, or None."""
        return next((item for item in self.ceilings if item.name == name), None)

    def rate(self, name: str) -> float | None:
        """The value of a ceiling that was measured well, or None."""
        found = self.named(name)
        return found.value if found and found.status is Status.OK else None


DRAM_CEILINGS = tuple(
    f"dram-{name}" for name in ("read", "write", "copy", "scale", "add", "triad", "dot")
)


LEVEL_CEILINGS = {"L2": ("l2-read", "l2-read-large"), "L1": ("l1-read",)}
"""The ceilings that tell what a memory nearer than DRAM delivers."""


def ceilings_of_unit(unit: str) -> tuple[str, ...]:
    """The ceilings that tell what a compute unit delivers: by its instructions, by a library."""
    if unit == "fp16_tensor_fp16_accumulate":
        return ("tensor-fp16-fp16",)
    if unit == "fp8_tensor_fp32_accumulate":
        return ("tensor-fp8", "matmul-fp8")
    if unit.endswith("_tensor"):
        name = unit.removesuffix("_tensor")
        return (f"tensor-{name}", f"matmul-{name}")
    if unit == "fp64":  # a library's product of it runs on tensor cores
        return ("arithmetic-fp64",)
    return (f"arithmetic-{unit.replace('_', '-')}", f"matmul-{unit}")


def best(run: CeilingRun, names: tuple[str, ...]) -> Ceiling | None:
    """The highest of these rates that was measured well, or None."""
    found = [c for name in names if (c := run.named(name)) and c.status is Status.OK and c.value]
    return max(found, key=lambda c: c.value or 0.0, default=None)


def merged(old: CeilingRun | None, new: CeilingRun) -> CeilingRun:
    """The new run with what only the old one knows, both of the same card.

    Failures are not kept, and a quick figure does not replace a thorough one. What another driver
    or another kmeter measured is forgotten.
    """
    kept = {c.name: c for c in new.ceilings if c.status is Status.OK}
    if old is not None and _is_comparable(old, new):
        for ceiling in old.ceilings:
            fresh = kept.get(ceiling.name)
            if fresh is None or (fresh.is_quick and not ceiling.is_quick):
                kept[ceiling.name] = ceiling
    return replace(new, ceilings=tuple(kept.values()))


def _is_comparable(old: CeilingRun, new: CeilingRun) -> bool:
    return (old.uuid, old.driver_version, old.kmeter_version) == (
        new.uuid,
        new.driver_version,
        new.kmeter_version,
    )


def middle(samples: tuple[float, ...]) -> float | None:
    """The median, None of nothing."""
    return median(samples) if samples else None
