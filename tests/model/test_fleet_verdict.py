"""Reports judged: groups, what stands out and why, what counts once, what nobody can judge."""

import random
from dataclasses import replace
from typing import Any

import pytest
from fleets import figure, level_fleet, report

from kmeter.model.ceiling import Conditions, Measure, Status
from kmeter.model.fleet import Figure, Kind, Report
from kmeter.model.fleet_verdict import judge

NORMAL = Conditions(
    sm_clock_hz=1.98e9, memory_clock_hz=3.2e9, throttle_reasons_mask=0x4, busy_neighbours=0
)


def fleet_of(
    odd: Conditions = NORMAL, level: str = "DRAM", usual: Conditions = NORMAL, **fields: Any
) -> list[Report]:
    """Seven like GPUs, and an eighth at half of their speed under its own conditions."""

    def figures(value: float, conditions: Conditions) -> tuple[Figure, ...]:
        return (
            Figure("a-test", Measure.BYTES_PER_S, Status.OK, level, value=value, conditions=conditions),
        )  # fmt: skip

    known: dict[str, Any] = {
        "other_processes": 0,
        "pcie_width": 16,
        "pcie_generation": 5,
        "driver_version": "580.95.05",
        "ecc": False,
    }
    like = [replace(report(n, *figures(4e12, usual)), **known) for n in range(7)]
    return [*like, replace(report(7, *figures(2e12, odd)), **known | fields)]


def causes_of(reports: list[Report]) -> tuple[str, ...]:
    (finding,) = judge(reports).findings
    return finding.causes


# ---- what stands out ------------------------------------------------------------------------


def test_a_slow_gpu_is_found_in_rates_and_in_latencies() -> None:
    verdict = judge(level_fleet(1.0, 1.0, 1.0, 1.0, 0.9))
    assert [f.report.uuid for f in verdict.findings] == ["GPU-0004"] * 3
    assert [f.share for f in verdict.findings] == pytest.approx([0.9] * 3)
    assert {f.figure.name for f in verdict.findings if f.figure} == {
        "dram-read", "matmul-fp16", "l2-latency",
    }  # fmt: skip
    assert {f.lowest for f in verdict.findings} == {0.97}


def test_a_fast_gpu_is_no_finding() -> None:
    assert not judge(level_fleet(1.0, 1.0, 1.0, 1.0, 1.5)).findings


def test_3_percent_are_allowed() -> None:
    assert not judge(level_fleet(1.0, 1.0, 1.0, 1.0, 0.971)).findings
    assert judge(level_fleet(1.0, 1.0, 1.0, 1.0, 0.969)).findings


def test_the_worst_comes_first() -> None:
    verdict = judge(level_fleet(0.9, *[1.0] * 6, 0.3))
    assert [gpu.uuid for gpu in verdict.flagged] == ["GPU-0007", "GPU-0000"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_than_four_cannot_be_judged(count: int) -> None:
    verdict = judge(level_fleet(*[0.2, 1.0, 1.0][:count]))
    assert not verdict.findings
    assert not any(group.can_be_judged for group in verdict.groups)
    assert not verdict.is_certain


@pytest.mark.parametrize(
    "other", [{"gpu_name": "NVIDIA H100"}, {"power_limit_w": 500.0}, {"power_limit_w": None}]
)
def test_only_the_same_model_and_power_limit_are_compared(other: dict[str, Any]) -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0, 0.5)
    verdict = judge([*reports[:4], replace(reports[4], **other)])
    assert not verdict.findings
    assert len(verdict.groups) == 6


def test_a_quick_figure_is_another_test() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0, 0.5)
    quick = tuple(replace(f, is_quick=True) for f in reports[4].ceilings)
    assert not judge([*reports[:4], replace(reports[4], ceilings=quick)]).findings


def test_power_limits_of_the_same_watts_are_the_same() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0)
    limits = (700.0, 699.998, 700.0, 700.002)
    same = [replace(r, power_limit_w=w) for r, w in zip(reports, limits, strict=True)]
    assert len(judge(same).groups) == 3


def test_the_order_of_reports_changes_nothing() -> None:
    reports = level_fleet(*[1.0 + 0.001 * n for n in range(20)], 0.5, 0.6)
    reports += [replace(reports[20], started_at="2026-11-30T10:00:00Z", origin="old.json")]
    wanted = judge(reports)
    for seed in range(5):
        random.Random(seed).shuffle(reports)
        assert judge(reports) == wanted


# ---- why ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reports", "cause"),
    [
        (fleet_of(replace(NORMAL, throttle_reasons_mask=0x44)), "hardware thermal slowdown"),
        (fleet_of(replace(NORMAL, sm_clock_hz=6e8)), "SM clock 600 MHz, usual 1.98 GHz"),
        (fleet_of(replace(NORMAL, memory_clock_hz=1.6e9)), "memory clock 1.6 GHz, usual 3.2 GHz"),
        (fleet_of(level="host link", pcie_width=8), "PCIe x8, usual x16"),
        (fleet_of(level="host link", pcie_generation=4), "PCIe 4.0, usual 5.0"),
        (fleet_of(uncorrected_errors=3), "3 uncorrected ECC errors"),
        (fleet_of(ecc=True), "ECC is on, usually off"),
        (fleet_of(other_processes=2), "2 other processes on the card"),
        (fleet_of(replace(NORMAL, busy_neighbours=5)), "5 other GPUs of its host busy, usual 0"),
        (fleet_of(driver_version="550.54.15"), "driver 550.54.15, usual 580.95.05"),
    ],
)
def test_what_differs_is_named(reports: list[Report], cause: str) -> None:
    assert causes_of(reports) == (cause,)


def test_what_all_have_explains_nothing() -> None:
    shared = replace(NORMAL, throttle_reasons_mask=0x4 | 0x20, busy_neighbours=7)
    assert causes_of(fleet_of(shared, usual=shared)) == ()


def test_a_power_cap_that_the_others_do_not_have_is_named() -> None:
    calm = replace(NORMAL, throttle_reasons_mask=0)
    assert causes_of(fleet_of(NORMAL, usual=calm)) == ("power cap",)


def test_pcie_says_nothing_about_dram() -> None:
    assert causes_of(fleet_of(level="DRAM", pcie_width=8)) == ()


def test_unknown_conditions_are_no_cause() -> None:
    assert causes_of(fleet_of(Conditions(), pcie_width=None, driver_version=None, ecc=None)) == ()


# ---- a GPU once -----------------------------------------------------------------------------


def test_the_newest_complete_run_of_a_gpu_counts() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0, 1.0)
    old = replace(level_fleet(*[0.3] * 5)[4], started_at="2026-11-01T00:00:00Z", origin="old")
    cut = replace(old, started_at="2026-12-24T00:00:00Z", is_complete=False, origin="cut")
    verdict = judge([old, cut, *reports])
    assert len(verdict.reports) == 5
    assert {gpu.origin for gpu in verdict.duplicates} == {"old", "cut"}
    assert not verdict.findings


def test_a_newer_run_that_found_something_wrong_counts_more_than_an_older_whole_one() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0)
    newer = replace(reports[0], started_at="2026-12-24T00:00:00Z", is_complete=False)
    lost = replace(newer, ceilings=(), refusal="GPU lost")
    wrong = replace(newer, ceilings=(figure("dram-read", None, Status.FAILED, "wrong"),))
    for report_ in (lost, wrong):
        assert [f.report.started_at for f in judge([*reports, report_]).findings] == [
            newer.started_at
        ]


def test_the_newest_is_told_in_whatever_time_zone() -> None:
    (first, *others) = level_fleet(1.0, 1.0, 1.0, 1.0)
    older = replace(first, started_at="2026-12-01T11:00:00+02:00", origin="older")
    newer = replace(first, started_at="2026-12-01T10:00:00+00:00", origin="newer")
    (duplicate,) = judge([older, newer, *others]).duplicates
    assert duplicate.origin == "older"


def test_bus_ids_are_the_same_in_any_case() -> None:
    reports = [replace(r, uuid=None, pci_bus_id="0000:AB:00.0") for r in level_fleet(1.0)]
    lower = replace(reports[0], pci_bus_id="0000:ab:00.0")
    assert len(judge([*reports, lower]).reports) == 1


def test_a_gpu_without_uuid_is_its_place_in_a_host() -> None:
    reports = [replace(r, uuid=None) for r in level_fleet(*[1.0] * 10)]
    assert len(judge([*reports, *reports]).reports) == 10


# ---- what has no value ----------------------------------------------------------------------


def test_a_failed_test_is_a_finding_whatever_the_group() -> None:
    wrong = figure("dram-read", None, Status.FAILED, "its result was wrong")
    (finding,) = judge([report(0, wrong)]).findings
    assert (finding.kind, finding.causes, finding.share) == (
        Kind.FAILED, ("its result was wrong",), None,
    )  # fmt: skip


def test_a_gpu_that_could_not_be_measured_is_a_finding() -> None:
    (finding,) = judge([replace(report(0), refusal="GPU lost", is_complete=False)]).findings
    assert (finding.kind, finding.figure, finding.causes) == (Kind.FAILED, None, ("GPU lost",))


def test_a_skipped_test_is_named_where_others_did_it() -> None:
    skipped = figure("dram-read", None, Status.SKIPPED, "not enough memory is free")
    reports = [*level_fleet(1.0, 1.0, 1.0, 1.0), report(9, skipped)]
    verdict = judge(reports)
    assert not verdict.findings
    assert {item.report.uuid for item in verdict.unmeasured} == {"GPU-0009"}
    reasons = {item.figure.name: item.figure.reason for item in verdict.unmeasured}
    assert reasons["dram-read"] == "not enough memory is free"
    assert reasons["l2-latency"] == "its report does not have it"
    assert not verdict.is_certain


def test_a_test_that_only_few_did_is_not_missed() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0)
    extra = replace(reports[0].ceilings[0], name="dram-copy")
    reports[0] = replace(reports[0], ceilings=(*reports[0].ceilings, extra))
    assert not judge(reports).unmeasured


def test_gpus_that_have_no_like_are_named() -> None:
    reports = level_fleet(1.0, 1.0, 1.0, 1.0, 0.5)
    verdict = judge([*reports[:4], replace(reports[4], power_limit_w=350.0)])
    assert [gpu.uuid for gpu in verdict.unjudged] == ["GPU-0004"]
    assert not verdict.is_certain


@pytest.mark.parametrize("share", [1 / 3, 0.8])
def test_a_group_of_which_half_is_slow_cannot_be_judged(share: float) -> None:
    verdict = judge(level_fleet(*[1.0] * 8, *[share] * 8))
    assert not verdict.findings
    assert {g.why_not_judged for g in verdict.groups} == {"the GPUs lie too far apart"}
    assert len(verdict.unjudged) == 16


def test_what_no_gpu_of_a_model_can_do_is_not_named() -> None:
    missing = figure("matmul-fp8", None, Status.UNSUPPORTED, "no fp8 before 8.9")
    reports = [replace(r, ceilings=(*r.ceilings, missing)) for r in level_fleet(*[1.0] * 4)]
    assert not judge(reports).unmeasured


def test_nothing_gives_an_empty_verdict() -> None:
    verdict = judge([])
    assert (verdict.reports, verdict.groups, verdict.findings) == ((), (), ())
