"""A verdict about many GPUs as JSON: the same reports give the same bytes."""

from collections.abc import Sequence
from typing import Any

from kmeter.model.fleet import Finding, Group, Report, Test, Unmeasured, Verdict
from kmeter.views.fleet import interrupted


def fleet_document(
    verdict: Verdict,
    unreadable: Sequence[tuple[str, str]],
    left_out: Sequence[str],
    *,
    is_certain: bool,
) -> dict[str, Any]:
    """``kmeter.fleet/1``: a median is in the base unit that its ``measure`` names, a share is a fraction.

    ``left_out`` are workers and GPUs that a run did not hear of; where there are any, or files that were
    unreadable, it is not certain.
    """
    return {
        "schema": "kmeter.fleet/1",
        "gpus": len(verdict.reports),
        "hosts": verdict.hosts,
        "gpus_flagged": len(verdict.flagged),
        "findings": [_finding(finding) for finding in verdict.findings],
        "recovered": [_finding(finding) for finding in verdict.recovered],
        "groups": [_group(group) for group in verdict.groups],
        "unmeasured": [_unmeasured(item) for item in verdict.unmeasured],
        "unjudged": [_gpu(report) for report in verdict.unjudged],
        "interrupted": [_gpu(report) for report in interrupted(verdict)],
        "duplicates": [{**_gpu(r), "origin": r.origin} for r in verdict.duplicates],
        "left_out": list(left_out),
        "is_certain": is_certain,
        "unreadable": [{"path": path, "reason": reason} for path, reason in unreadable],
    }


def _gpu(report: Report) -> dict[str, Any]:
    return {
        "host": report.host,
        "pci_bus_id": report.pci_bus_id,
        "uuid": report.uuid,
        "gpu_name": report.gpu_name,
        "started_at": report.started_at,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """What has no value has its causes for a reason."""
    figure = finding.figure
    reason = None if finding.share is not None else "; ".join(finding.causes)
    return {
        "kind": finding.kind,
        **_gpu(finding.report),
        "test": figure.name if figure else None,
        "test_reason": None if figure else "nothing could be measured",
        "is_quick": figure.is_quick if figure else None,
        "measure": figure.measure if figure else None,
        "value": figure.value if figure else None,
        "value_reason": reason,
        "median": finding.median,
        "share_of_median": finding.share,
        "share_of_median_reason": reason,
        "flagged_below_share": finding.lowest,
        "causes": list(finding.causes),
    }


def _group(group: Group) -> dict[str, Any]:
    shares = group.shares
    return {
        **_test(group.test),
        "gpus": len(shares),
        "median": group.median,
        "mad_share": group.spread.mad,
        "margin_share": group.spread.margin if group.can_be_judged else None,
        "margin_share_reason": group.why_not_judged,
        "least_share": shares[0],
        "most_share": shares[-1],
        "gpus_slow": len(group.slow),
    }


def _test(test: Test) -> dict[str, Any]:
    return {
        "gpu_name": test.gpu_name,
        "power_limit_w": test.power_limit_w,
        "test": test.name,
        "is_quick": test.is_quick,
        "measure": test.measure,
    }


def _unmeasured(item: Unmeasured) -> dict[str, Any]:
    figure = item.figure
    return {
        **_gpu(item.report), "test": figure.name, "status": figure.status, "reason": figure.reason,
    }  # fmt: skip
