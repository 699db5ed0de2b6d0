"""A verdict about many GPUs as metrics, for the textfile collector of Prometheus' node_exporter.

Labels of a GPU are called what NVIDIA's DCGM exporter calls them, so that both can be joined.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kmeter.model.ceiling import Measure
from kmeter.model.fleet import Finding, Group, Report, Test, Verdict
from kmeter.model.fleet_verdict import test_of
from kmeter.views.markup import clean
from kmeter.views.prometheus import Metric, Sample, dcgm_bus_id, families

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

Labels = dict[str, str]


class _Unit(NamedTuple):
    """How a measure is written in a metric's name, and in words."""

    suffix: str
    words: str


_UNITS = {
    Measure.BYTES_PER_S: _Unit("bytes_per_second", "bytes/s"),
    Measure.FLOP_PER_S: _Unit("flop_per_second", "FLOP/s"),
    Measure.OP_PER_S: _Unit("operations_per_second", "operations/s"),
    Measure.SECONDS: _Unit("seconds", "seconds"),
}


def fleet_metrics(verdict: Verdict) -> str:
    """Gauges in Prometheus' text format; the same verdict gives the same text.

    Values are in base units, shares are fractions. What is unknown has no series: a share where a
    group is too small to be judged, ``kmeter_gpu_flagged`` where nothing of a GPU could be.
    """
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(verdict))
    return generate_latest(registry).decode()


class _Collector:
    """What the library asks for metrics; no tuple, since it is hashed."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def collect(self) -> Iterator["Family"]:
        return families(_metrics(self.verdict))


def _metrics(verdict: Verdict) -> Iterator[Metric]:
    yield from _of_the_fleet(verdict)
    yield from _of_gpus(verdict)
    yield from _of_groups(verdict.groups)
    yield from _of_tests(verdict)


def _gauge(name: str, words: str, samples: Iterable[tuple[Labels, float]]) -> Metric:
    """A metric in which no series is there twice."""
    unique = {tuple(labels.items()): Sample(labels, value) for labels, value in samples}
    return Metric(name, "gauge", words, tuple(unique.values()))


# ---- labels ---------------------------------------------------------------------------------


def _labels(**labels: str | None) -> Labels:
    """Those that are known, without what no file can hold."""
    return {name: clean(value) for name, value in labels.items() if value}


def _gpu_labels(report: Report) -> Labels:
    return _labels(
        UUID=report.uuid,
        gpu=None if report.uuid or report.pci_bus_id else report.number,
        pci_bus_id=report.pci_bus_id and dcgm_bus_id(report.pci_bus_id),
        modelName=report.gpu_name,
        Hostname=report.host,
    )


def _test_labels(test: Test) -> Labels:
    """What a group's series and those of its GPUs have in common, beside ``modelName``."""
    watts = test.power_limit_w
    return _labels(
        test=test.name,
        measure=test.measure,
        quick=_flag(test.is_quick),
        power_limit_watts=None if watts is None else str(watts),
    )


def _group_labels(test: Test) -> Labels:
    return _labels(modelName=test.gpu_name) | _test_labels(test)


def _flag(is_so: bool) -> str:
    return "true" if is_so else "false"


# ---- the fleet and its GPUs -----------------------------------------------------------------


def _of_the_fleet(verdict: Verdict) -> Iterator[Metric]:
    for name, words, value in (
        ("gpus", "GPUs that reported, each once.", len(verdict.reports)),
        ("hosts", "Hosts that are known of them.", verdict.hosts),
        ("flagged_gpus", "GPUs that need attention.", len(verdict.flagged)),
        ("judged", "Whether every test of every GPU could be judged.", verdict.is_certain),
    ):
        yield _gauge(f"kmeter_fleet_{name}", words, [({}, float(value))])


def _of_gpus(verdict: Verdict) -> Iterator[Metric]:
    yield _gauge(
        "kmeter_gpu_flagged",
        "Whether a GPU needs attention: it failed or is slower than its like.",
        _flagged(verdict),
    )
    yield _gauge(
        "kmeter_gpu_finding_info",
        "What was found about a GPU: a series a cause, one without a cause where none was seen.",
        (sample for finding in verdict.findings for sample in _found(finding)),
    )
    yield _gauge(
        "kmeter_gpu_run_start_time_seconds",
        "When the run began that the GPU is judged by, in Unix time.",
        (
            (_gpu_labels(report), report.started_s)
            for report in verdict.reports
            if report.started_s is not None
        ),
    )


def _flagged(verdict: Verdict) -> Iterator[tuple[Labels, float]]:
    flagged = {report.identity for report in verdict.flagged}
    unjudged = {report.identity for report in verdict.unjudged}
    for report in verdict.reports:
        if report.identity not in unjudged:
            yield _gpu_labels(report), float(report.identity in flagged)


def _found(finding: Finding) -> Iterator[tuple[Labels, float]]:
    figure = finding.figure
    named = _gpu_labels(finding.report) | _labels(
        kind=finding.kind, test=figure.name if figure else None
    )
    for cause in finding.causes or ("",):
        yield named | _labels(cause=cause), 1.0


# ---- groups and tests -----------------------------------------------------------------------


def _of_groups(groups: Iterable[Group]) -> Iterator[Metric]:
    named = [(group, _group_labels(group.test)) for group in groups]
    yield _gauge(
        "kmeter_group_gpus",
        "GPUs of one model at one power limit that did a test.",
        ((labels, float(len(group.shares))) for group, labels in named),
    )
    yield _gauge(
        "kmeter_group_margin_share",
        "What a GPU may fall short of its group's median by, as a share of it.",
        ((labels, group.spread.margin) for group, labels in named if group.can_be_judged),
    )
    for measure, unit in _UNITS.items():
        yield _gauge(
            f"kmeter_group_median_{unit.suffix}",
            f"The median of a test's results in a group, in {unit.words}.",
            ((labels, group.median) for group, labels in named if group.test.measure is measure),
        )


def _of_tests(verdict: Verdict) -> Iterator[Metric]:
    found = list(_results(verdict))
    yield _gauge(
        "kmeter_ceiling_share_of_median",
        "A GPU's result over its group's median; a latency's the other way round: less is worse.",
        (
            (result.labels, result.group.share_of(result.value))
            for result in found
            if result.group.can_be_judged
        ),
    )
    for measure, unit in _UNITS.items():
        yield _gauge(
            f"kmeter_ceiling_{unit.suffix}",
            f"What a GPU reached in a test, in {unit.words}.",
            ((r.labels, r.value) for r in found if r.group.test.measure is measure),
        )


class _Result(NamedTuple):
    """What a GPU reached in a test, and which group that belongs to."""

    labels: Labels
    value: float
    group: Group


def _results(verdict: Verdict) -> Iterator[_Result]:
    """Those of every GPU, in the order of the verdict's reports."""
    groups = {group.test: (group, _test_labels(group.test)) for group in verdict.groups}
    for report in verdict.reports:
        gpu = _gpu_labels(report)
        for figure in report.measured:
            group, labels = groups[test_of(report, figure)]
            yield _Result(gpu | labels, figure.value or 0.0, group)
