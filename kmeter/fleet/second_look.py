"""Before a GPU is called bad it is measured again: one slow moment is no slow card."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kmeter.errors import UsageError
from kmeter.fleet.reports import decode_report, report_text
from kmeter.fleet.run import FleetRun
from kmeter.model.ceiling import CeilingRun, Status
from kmeter.model.fleet import Finding, Kind, Report, Verdict
from kmeter.model.fleet_verdict import judge
from kmeter.units import printable


def verdict_of(runs: Iterable[CeilingRun]) -> Verdict:
    """The verdict that the same runs give from files."""
    return judge(map(report_of, runs))


def report_of(run: CeilingRun) -> Report:
    """A run as its file would tell of it; where that would be no report, the reason why not."""
    try:
        return decode_report(report_text(run).encode(), "")
    except UsageError as error:
        named = (run.gpu_name, run.uuid, run.host, run.pci_bus_id)
        name, uuid, host, bus_id = (text and printable(text) for text in named)
        return Report(
            name or "", uuid, run.started_at, host=host, pci_bus_id=bus_id, number=run.number,
            is_complete=False, refusal=f"its report is none: {error.message}",
        )  # fmt: skip


def measured_and_judged(
    fleet: FleetRun, tell: Callable[[int], object] = lambda gpus: None
) -> Verdict:
    """Measure every GPU, and what stands out once more; ``fleet.runs`` is what counts.

    ``tell`` hears how many GPUs are measured again.
    """
    fleet.measure_all()
    reports = {key: report_of(run) for key, run in fleet.runs.items()}
    first = judge(reports.values())
    wanted = suspects(first, reports)
    if not wanted:
        return first
    tell(len(wanted))
    for key, again in fleet.measure_again(wanted).items():
        before = fleet.runs.get(key)  # none of a GPU whose worker came meanwhile
        fleet.runs[key] = again if before is None else corrected(before, again)
        reports[key] = report_of(fleet.runs[key])
    second = judge(reports.values())
    confirmed = {_what(finding) for finding in second.findings}
    slow = (f for f in first.findings if f.kind is Kind.SLOW)
    recovered = (f for f in slow if _what(f) not in confirmed)
    return replace(second, recovered=tuple(recovered))


def suspects(verdict: Verdict, reports: Mapping[str, Report]) -> dict[str, list[str]]:
    """The tests that each GPU is slow in, by the GPU's key; what failed has failed."""
    keys = {report.identity: key for key, report in reports.items()}
    wanted: dict[str, list[str]] = {}
    for finding in verdict.findings:
        if finding.kind is Kind.SLOW and finding.figure is not None:
            wanted.setdefault(keys[finding.report.identity], []).append(finding.figure.name)
    return wanted


def corrected(run: CeilingRun, again: CeilingRun) -> CeilingRun:
    """The run with what was measured again in the place of what it had; a GPU that then failed has failed.

    A GPU that was given up and reported after all has the run that it reported.
    """
    if run.refusal and not run.ceilings:
        return again
    judged = {Status.OK, Status.FAILED}
    newer = {ceiling.name: ceiling for ceiling in again.ceilings if ceiling.status in judged}
    ceilings = tuple(newer.get(ceiling.name, ceiling) for ceiling in run.ceilings)
    return replace(run, ceilings=ceilings, refusal=run.refusal or again.refusal)


def _what(finding: Finding) -> tuple[tuple[str, str], str]:
    return finding.report.identity, finding.figure.name if finding.figure else ""
