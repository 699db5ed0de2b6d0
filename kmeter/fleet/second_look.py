"""Before a GPU is called bad it is measured again: one slow moment is no slow card."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kmeter.fleet.reports import decode_report, report_text
from kmeter.fleet.run import FleetRun
from kmeter.model.ceiling import CeilingRun
from kmeter.model.fleet import Finding, Verdict
from kmeter.model.fleet_verdict import judge


def verdict_of(runs: Iterable[CeilingRun]) -> Verdict:
    """The verdict that the same runs give from files."""
    return judge(decode_report(report_text(run).encode(), "") for run in runs)


def measured_and_judged(
    fleet: FleetRun, tell: Callable[[int], object] = lambda gpus: None
) -> Verdict:
    """Measure every GPU, and what stands out once more; ``fleet.runs`` is what counts.

    ``tell`` hears how many GPUs are measured again.
    """
    fleet.measure_all()
    first = verdict_of(fleet.runs.values())
    wanted = suspects(first, fleet.runs)
    if not wanted:
        return first
    tell(len(wanted))
    for key, again in fleet.measure_again(wanted).items():
        fleet.runs[key] = corrected(fleet.runs[key], again)
    second = verdict_of(fleet.runs.values())
    confirmed = {_what(finding) for finding in second.findings}
    recovered = (f for f in first.findings if f.figure and _what(f) not in confirmed)
    return replace(second, recovered=tuple(recovered))


def suspects(verdict: Verdict, runs: Mapping[str, CeilingRun]) -> dict[str, list[str]]:
    """The tests that each GPU stands out in, by the GPU's key."""
    keys = {
        (run.uuid or "", run.pci_bus_id or "", run.host or ""): key for key, run in runs.items()
    }
    wanted: dict[str, list[str]] = {}
    for finding in verdict.findings:
        report = finding.report
        key = keys[report.uuid or "", report.pci_bus_id or "", report.host or ""]
        if finding.figure is not None:
            wanted.setdefault(key, []).append(finding.figure.name)
    return wanted


def corrected(run: CeilingRun, again: CeilingRun) -> CeilingRun:
    """The run with what was measured again in the place of what it had; a GPU that then failed has failed.

    A GPU that was given up and reported after all has the run that it reported.
    """
    if run.refusal and not run.ceilings:
        return again
    newer = {ceiling.name: ceiling for ceiling in again.ceilings}
    ceilings = tuple(newer.get(ceiling.name, ceiling) for ceiling in run.ceilings)
    return replace(run, ceilings=ceilings, refusal=run.refusal or again.refusal)


def _what(finding: Finding) -> tuple[tuple[str, str], str]:
    return finding.report.identity, finding.figure.name if finding.figure else ""
