"""Reports of many GPUs judged: each against the median of its like, the same for any order of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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
from kmeter.model.outliers import spread_of

Figures = list[tuple[Report, Figure]]


def judge(reports: Iterable[Report]) -> Verdict:
    """Which GPUs are slower than their like, which failed, and which nobody can judge.

    A GPU that reported more than once counts once: by its newest run, or by the one before where the
    newest was interrupted and found nothing wrong. A test without a value is a finding where the GPU
    failed it, and named apart where others have one.
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
        tuple(_unmeasured(counted, groups)),
        tuple(_unjudged(counted, groups, findings)),
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


def _age(report: Report) -> tuple[bool, float, str, str]:
    """Sorts the newest first, those that were only interrupted last, and equal ones always alike."""
    found_nothing = not report.is_complete and not report.has_failed
    began_s = float("-inf") if report.started_s is None else report.started_s
    return found_nothing, -began_s, report.origin, repr(report)


def _place(report: Report) -> tuple[str, ...]:
    return report.host or "", report.place, report.uuid or "", report.origin


# ---- groups ---------------------------------------------------------------------------------


def test_of(report: Report, figure: Figure) -> Test:
    """What a figure is compared in."""
    return Test(report.gpu_name, _watts(report), figure.name, figure.is_quick, figure.measure)


def _watts(report: Report) -> int | None:
    return round(report.power_limit_w) if report.power_limit_w else None


def _measured(reports: Iterable[Report]) -> dict[Test, Figures]:
    groups: dict[Test, Figures] = defaultdict(list)
    for report in reports:
        for figure in report.measured:
            groups[test_of(report, figure)].append((report, figure))
    return groups


def _order(item: tuple[Test, Figures]) -> tuple[str, int, bool, str, str]:
    test = item[0]
    return test.gpu_name, test.power_limit_w or 0, test.is_quick, test.name, test.measure


def _group(test: Test, found: Figures) -> Group:
    values = [figure.value or 0.0 for _, figure in found]
    middle = median(values)
    shares = [test.share(value, middle) for value in values]
    spread = spread_of(shares)
    group = Group(test, middle, spread, tuple(sorted(shares)), ())
    lowest = spread.lowest
    if group.can_be_judged and group.shares[0] < lowest:
        members = [Member(*both, share) for both, share in zip(found, shares, strict=True)]
        usual = usual_of(members)
        return replace(group, slow=tuple(
            Finding(
                Kind.SLOW, m.report, m.figure, m.share, causes(m.report, m.figure, usual), middle, lowest
            )
            for m in members
            if m.share < lowest
        ))  # fmt: skip
    return group


# ---- what has no value ----------------------------------------------------------------------


def _failures(report: Report) -> Iterator[Finding]:
    if report.refusal:
        yield Finding(Kind.FAILED, report, None, None, (report.refusal,))
    for figure in report.ceilings:
        if figure.status is Status.FAILED:
            yield Finding(Kind.FAILED, report, figure, None, (figure.reason,))


def _unmeasured(reports: Sequence[Report], groups: Sequence[Group]) -> Iterator[Unmeasured]:
    """Tests that a GPU has no value of while its like have one."""
    tests = {group.test for group in groups}
    usual = _usual_tests(reports, groups)
    for report in reports:
        for figure in report.ceilings:
            is_left_out = figure.status in {Status.SKIPPED, Status.UNSUPPORTED}
            if is_left_out and test_of(report, figure) in tests:
                yield Unmeasured(report, figure)
        if report.is_complete and not report.refusal:
            known = {figure.name for figure in report.ceilings}
            for test in usual.get(_section(report), ()):
                if test.name not in known:
                    reason = "its report does not have it"
                    missing = Figure(
                        test.name,
                        test.measure,
                        Status.SKIPPED,
                        reason=reason,
                        is_quick=test.is_quick,
                    )
                    yield Unmeasured(report, missing)


def _section(report: Report) -> tuple[str, int | None, bool]:
    """What reports have in common that are to have the same tests."""
    is_quick = any(figure.is_quick for figure in report.ceilings)
    return report.gpu_name, _watts(report), is_quick


def _usual_tests(
    reports: Iterable[Report], groups: Iterable[Group]
) -> dict[tuple[str, int | None, bool], list[Test]]:
    """Tests that at least half of a section's GPUs have a value of."""
    sizes = Counter(map(_section, reports))
    usual = defaultdict(list)
    for group in groups:
        section = group.test.gpu_name, group.test.power_limit_w, group.test.is_quick
        if 2 * len(group.shares) >= sizes[section]:
            usual[section].append(group.test)
    return usual


def _unjudged(
    reports: Iterable[Report], groups: Iterable[Group], findings: Iterable[Finding]
) -> Iterator[Report]:
    """GPUs that no judged group has."""
    judged = {group.test for group in groups if group.can_be_judged}
    found = {finding.report.identity for finding in findings}
    for report in reports:
        tests = (test_of(report, figure) for figure in report.measured)
        if report.identity not in found and not any(test in judged for test in tests):
            yield report


def _severity(finding: Finding) -> tuple[float, tuple[str, ...], str]:
    share = -1.0 if finding.share is None else finding.share
    return share, _place(finding.report), finding.figure.name if finding.figure else ""
