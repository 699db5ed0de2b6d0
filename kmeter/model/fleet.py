"""Many GPUs of the same models: what each reported, what they are judged by, and the verdict."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from kmeter.model.ceiling import Conditions, Measure, Status
from kmeter.model.outliers import FEWEST, MOST_MARGIN, Spread


@dataclass(frozen=True, slots=True)
class Figure:
    """What a GPU reached in one test: a ceiling without its samples."""

    name: str
    measure: Measure
    status: Status
    level: str = ""
    reason: str = ""
    """Why there is no value."""
    value: float | None = None
    """In the base unit that ``measure`` names."""
    is_quick: bool = False
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def is_measured(self) -> bool:
        """Whether it has a value that can be compared."""
        return self.status is Status.OK and bool(self.value)


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured on one GPU in one run; the fields are those of a file of ceilings."""

    gpu_name: str
    uuid: str | None
    started_at: str
    """ISO 8601, UTC."""
    ceilings: tuple[Figure, ...] = ()
    host: str | None = None
    pci_bus_id: str | None = None
    driver_version: str | None = None
    power_limit_w: float | None = None
    ecc: bool | None = None
    uncorrected_errors: int | None = None
    pcie_width: int | None = None
    pcie_generation: int | None = None
    other_processes: int | None = None
    is_complete: bool = True
    refusal: str = ""
    """Why it could not be measured, or not to its end."""
    number: str = ""
    """``GPU 3``: what names it in its host where nothing else does."""
    origin: str = ""
    """The file that it came from, or who sent it."""

    @property
    def identity(self) -> tuple[str, str]:
        """What makes it this GPU and no other: its UUID, else its place in a host; empty where unknown."""
        if self.uuid:
            return (self.uuid.lower(), "")
        place = (self.pci_bus_id or "").lower() or self.number
        return (self.host, place) if self.host and place else ("", "")

    @property
    def place(self) -> str:
        """Its bus id in its host, or its number there; empty where neither is known."""
        return self.pci_bus_id or self.number

    @property
    def started_s(self) -> float | None:
        """When it began, in seconds since 1970, UTC where no zone is named; None where that is no time."""
        try:
            began = datetime.fromisoformat(self.started_at)
            return (began if began.tzinfo else began.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None

    @property
    def measured(self) -> Iterator[Figure]:
        """The tests that it has a value of."""
        return (figure for figure in self.ceilings if figure.is_measured)

    @property
    def was_interrupted(self) -> bool:
        """Whether its run ended before its end, through no fault of the GPU's."""
        return not self.is_complete and not self.refusal

    @property
    def has_failed(self) -> bool:
        """Whether something was wrong with it, not only with the run."""
        failed = any(figure.status is Status.FAILED for figure in self.ceilings)
        return failed or bool(self.refusal)


class Test(NamedTuple):
    """What is compared: GPUs of one model at one power limit in one test."""

    gpu_name: str
    power_limit_w: int | None
    """Whole watts."""
    name: str
    is_quick: bool
    measure: Measure

    def share(self, value: float, median: float) -> float:
        """A value as a share of the median, above 1 where it is better."""
        return value / median if self.measure.more_is_better else median / value


@dataclass(frozen=True)
class Member:
    """One GPU's part in a group."""

    report: Report
    figure: Figure
    share: float
    """Of the group's median, above 1 where it is faster; a latency's the other way round."""


class Kind(StrEnum):
    """What is wrong with a GPU."""

    SLOW = "slow"
    FAILED = "failed"
    """A test's result was wrong, or its process died; or nothing could be measured at all."""


@dataclass(frozen=True)
class Finding:
    """A GPU that needs somebody's attention, and what was seen that explains it."""

    kind: Kind
    report: Report
    figure: Figure | None
    """None where nothing at all could be measured."""
    share: float | None
    """Of its group's median; None without a value."""
    causes: tuple[str, ...]
    """In words, the likeliest first; empty where nothing was seen."""
    median: float | None = None
    """What it was compared with, in the base unit of the figure's measure; None where with nothing."""
    lowest: float | None = None
    """The share of the median below which it is a finding."""


@dataclass(frozen=True)
class Group:
    """The GPUs that are compared in one test."""

    test: Test
    median: float
    """In the base unit of the test's measure."""
    spread: Spread
    shares: tuple[float, ...]
    """Of the median, lowest first."""
    slow: tuple[Finding, ...]

    def share_of(self, value: float) -> float:
        """A figure's value as a share of the median; a latency's is the other way round."""
        return self.test.share(value, self.median)

    @property
    def can_be_judged(self) -> bool:
        """Whether anybody can say which one is the odd one."""
        return not self.why_not_judged

    @property
    def why_not_judged(self) -> str:
        """Why nobody can say which one is the odd one; empty where one can."""
        if len(self.shares) < FEWEST:
            return f"fewer than {FEWEST} GPUs"
        return "the GPUs lie too far apart" if self.spread.margin >= MOST_MARGIN else ""


@dataclass(frozen=True)
class Unmeasured:
    """A test that a GPU was to do and did not, and why: no fault of its own."""

    report: Report
    figure: Figure


@dataclass(frozen=True)
class Verdict:
    """What is to be said about a fleet."""

    reports: tuple[Report, ...]
    """A GPU once, in the order of hosts and bus ids."""
    duplicates: tuple[Report, ...]
    """Reports that another one of the same GPU stands for."""
    groups: tuple[Group, ...]
    findings: tuple[Finding, ...]
    """The worst first."""
    unmeasured: tuple[Unmeasured, ...]
    unjudged: tuple[Report, ...]
    """GPUs without a finding of which no test could be judged."""
    recovered: tuple[Finding, ...] = ()
    """What was found at first, and was not when it was measured again."""

    @property
    def hosts(self) -> int:
        """How many hosts reported; those that did not say which one are not counted."""
        return len({report.host for report in self.reports} - {None})

    @property
    def flagged(self) -> tuple[Report, ...]:
        """The GPUs that something was found about, each once."""
        return tuple({f.report.identity: f.report for f in self.findings}.values())

    @property
    def is_certain(self) -> bool:
        """Whether every test of every GPU could be judged."""
        judged = all(group.can_be_judged for group in self.groups) and not self.unjudged
        return judged and not self.unmeasured and all(r.is_complete for r in self.reports)
