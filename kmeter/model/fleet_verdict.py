"""Reports of many GPUs judged: each against the median of its like, the same for any order of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import median

from kmeter.model.ceiling import Status
from kmeter.model.fleet import (
    Figure,
    Finding,
    Group,
    Kind,
    Member,
    Report,
    Test,
    Unmeasured,
    Verdict,
)
from kmeter.model.fleet_causes import causes, usual_of
from kmeter.model.outliers import FEWEST, spread_of

Figures = list[tuple[Report, Figure]]


def judge(reports: Iterable[Report]) -> Verdict:
    """Which GPUs are slower than their like, which failed, and which nobody can judge.

    A GPU that reported more than once counts once: its newest complete run. A test without a value
    is a finding where the GPU failed it, and named apart where it was skipped while others did it.
    """
    counted, duplicates = _once_each(reports)
    groups = tuple(
        _group(test, found) for test, found in sorted(_measured(counted).items(), key=_order)
    )
    findings = [finding for group in groups for finding in group.slow]
    findings += (finding for report in counted for finding in _failures(report))
    return Verdict(
        tuple(counted),
        tuple(duplicates),
        groups,
        tuple(sorted(findings, key=_severity)),
        tuple(_unmeasured(counted, {group.test for group in groups})),
    )


# ---- a GPU once -----------------------------------------------------------------------------


def _once_each(reports: Iterable[Report]) -> tuple[list[Report], list[Report]]:
    """The report that counts of each GPU, and the others."""
    by_gpu: dict[tuple[str, str], list[Report]] = defaultdict(list)
    for report in reports:
        by_gpu[report.identity].append(report)
    counted, duplicates = [], []
    for same in by_gpu.values():
        newest, *others = sorted(same, key=_age) if len(same) > 1 else same
        counted.append(newest)
        duplicates += others
    return sorted(counted, key=_place), sorted(duplicates, key=_place)


def _age(report: Report) -> tuple[bool, tuple[int, ...], str, str]:
    """Sorts complete runs first, the newest first, and those of the same second always alike."""
    newest_first = tuple(-ord(sign) for sign in report.started_at)
    return not report.is_complete, newest_first, report.origin, repr(report)


def _place(report: Report) -> tuple[str, ...]:
    return report.host or "", report.pci_bus_id or "", report.uuid or "", report.origin


# ---- groups ---------------------------------------------------------------------------------


def test_of(report: Report, figure: Figure) -> Test:
    """What a figure is compared in."""
    watts = None if report.power_limit_w is None else round(report.power_limit_w)
    return Test(report.gpu_name, watts, figure.name, figure.is_quick, figure.measure)


def _measured(reports: Iterable[Report]) -> dict[Test, Figures]:
    groups: dict[Test, Figures] = defaultdict(list)
    for report in reports:
        for figure in report.ceilings:
            if figure.status is Status.OK and figure.value:
                groups[test_of(report, figure)].append((report, figure))
    return groups


def _order(item: tuple[Test, Figures]) -> tuple[str, int, str, bool, str]:
    test = item[0]
    return test.gpu_name, test.power_limit_w or 0, test.name, test.is_quick, test.measure


def _group(test: Test, found: Figures) -> Group:
    values = [figure.value or 0.0 for _, figure in found]
    middle = median(values)
    shares = [test.share(value, middle) for value in values]
    spread = spread_of(shares)
    slow: tuple[Finding, ...] = ()
    lowest = 1.0 - spread.margin
    if len(found) >= FEWEST and min(shares) < lowest:
        members = [Member(*both, share) for both, share in zip(found, shares, strict=True)]
        usual = usual_of(members)
        slow = tuple(
            Finding(
                Kind.SLOW, m.report, m.figure, m.share, causes(m.report, m.figure, usual), middle, lowest
            )
            for m in members
            if m.share < lowest
        )  # fmt: skip
    return Group(test, middle, spread, tuple(sorted(shares)), slow)


# ---- what has no value ----------------------------------------------------------------------


def _failures(report: Report) -> Iterator[Finding]:
    if report.refusal:
        yield Finding(Kind.FAILED, report, None, None, (report.refusal,))
    for figure in report.ceilings:
        if figure.status is Status.FAILED:
            yield Finding(Kind.FAILED, report, figure, None, (figure.reason,))


def _unmeasured(reports: Iterable[Report], tests: set[Test]) -> Iterator[Unmeasured]:
    """Tests that a GPU did not do while its like did."""
    for report in reports:
        for figure in report.ceilings:
            is_left_out = figure.status in {Status.SKIPPED, Status.UNSUPPORTED}
            if is_left_out and test_of(report, figure) in tests:
                yield Unmeasured(report, figure)


def _severity(finding: Finding) -> tuple[float, tuple[str, ...], str]:
    share = -1.0 if finding.share is None else finding.share
    return share, _place(finding.report), finding.figure.name if finding.figure else ""
