"""A verdict as Prometheus' metrics: read back, and held against plain numbers."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fleets import figure, level_fleet, noisy_fleet, report
from prometheus_client.parser import text_string_to_metric_families

from kmeter.model.ceiling import Status
from kmeter.model.fleet import Report
from kmeter.model.fleet_verdict import judge
from kmeter.views.prometheus import dcgm_bus_id
from kmeter.views.prometheus_fleet import fleet_metrics

Series = dict[tuple[tuple[str, str], ...], float]
HOSTILE = '<script>"quoted" back\\slash\nnext {line}, a="b" # HELP é'
GPU = {
    "UUID": "GPU-0008", "pci_bus_id": "00000000:00:00.0", "modelName": "NVIDIA H200",
    "Hostname": "node01",
}  # fmt: skip


def read(reports: Sequence[Report]) -> dict[str, Series]:
    """Every metric by its name; each series once and without a timestamp."""
    found: dict[str, Series] = {}
    for family in text_string_to_metric_families(fleet_metrics(judge(reports))):
        assert family.type == "gauge"
        assert family.documentation.endswith(".")
        series = found[family.name] = {}
        for sample in family.samples:
            assert sample.timestamp is None
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in series
            series[labels] = sample.value
    return found


def one(found: dict[str, Series], name: str, **labels: str) -> float | None:
    """The value of the only series that has these labels; None where there is none."""
    values = [v for own, v in found.get(name, {}).items() if labels.items() <= dict(own).items()]
    assert len(values) < 2
    return values[0] if values else None


def test_the_fleet_is_counted() -> None:
    found = read(level_fleet(*[1.0] * 8, 0.5))
    assert one(found, "kmeter_fleet_gpus") == 9
    assert one(found, "kmeter_fleet_hosts") == 2
    assert one(found, "kmeter_fleet_flagged_gpus") == 1
    assert one(found, "kmeter_fleet_judged") == 1


def test_an_empty_fleet_has_no_gpus_and_nothing_else() -> None:
    found = read([])
    assert one(found, "kmeter_fleet_gpus") == 0
    assert one(found, "kmeter_fleet_flagged_gpus") == 0
    assert {name.split("_")[1] for name in found} == {"fleet"}


@pytest.mark.parametrize(
    ("test", "unit", "measured", "median"),
    [
        ("dram-read", "bytes_per_second", 2e12, 4e12),
        ("matmul-fp16", "flop_per_second", 400e12, 800e12),
        ("l2-latency", "seconds", 500e-9, 250e-9),
    ],
)
def test_a_test_is_told_in_base_units(test: str, unit: str, measured: float, median: float) -> None:
    found = read(level_fleet(*[1.0] * 8, 0.5))
    labels = {"test": test, "quick": "false", "power_limit_watts": "700"}
    assert one(found, f"kmeter_ceiling_{unit}", **GPU, **labels) == pytest.approx(measured)
    assert one(found, "kmeter_ceiling_share_of_median", **GPU, **labels) == pytest.approx(0.5)
    group = {"modelName": "NVIDIA H200", **labels}
    assert one(found, f"kmeter_group_median_{unit}", **group) == pytest.approx(median)
    assert one(found, "kmeter_group_margin_share", **group) == pytest.approx(0.03)
    assert one(found, "kmeter_group_gpus", **group) == 9


def test_a_group_and_its_gpus_have_the_labels_in_common_that_join_them() -> None:
    found = read(level_fleet(*[1.0] * 8))
    groups = set(found["kmeter_group_margin_share"])
    for labels in found["kmeter_ceiling_share_of_median"]:
        shared = {name: value for name, value in labels if name not in GPU.keys() - {"modelName"}}
        assert tuple(sorted(shared.items())) in groups


def test_flagged_gpus_are_1_and_the_others_0() -> None:
    flagged = read(level_fleet(*[1.0] * 8, 0.5))["kmeter_gpu_flagged"]
    assert flagged.pop(tuple(sorted(GPU.items()))) == 1
    assert set(flagged.values()) == {0}
    assert len(flagged) == 8


def test_findings_are_told_with_their_causes() -> None:
    found = read(noisy_fleet(32, {17: 0.92, 24: 1 / 3}, tests=1))["kmeter_gpu_finding_info"]
    told = [{name: dict(own).get(name) for name in ("UUID", "kind", "cause")} for own in found]
    assert set(found.values()) == {1}
    assert told == [
        {"UUID": "GPU-0024", "kind": "slow", "cause": "SM clock 858 MHz, usual 1.98 GHz"},
        {"UUID": "GPU-0017", "kind": "slow", "cause": None},
    ]


def test_a_failed_gpu_is_flagged_and_has_no_value() -> None:
    dead = replace(report(8), refusal="the driver does not answer")
    wrong = report(9, figure("dram-read", None, Status.FAILED, "element 7 is wrong"))
    found = read([*level_fleet(*[1.0] * 8), dead, wrong])
    for gpu, reason in (("GPU-0008", dead.refusal), ("GPU-0009", "element 7 is wrong")):
        assert one(found, "kmeter_gpu_flagged", UUID=gpu) == 1
        assert one(found, "kmeter_gpu_finding_info", UUID=gpu, kind="failed", cause=reason) == 1
        assert one(found, "kmeter_ceiling_bytes_per_second", UUID=gpu) is None
        assert one(found, "kmeter_ceiling_share_of_median", UUID=gpu) is None


def test_three_gpus_have_values_but_no_share_no_margin_and_no_verdict() -> None:
    found = read(level_fleet(1.0, 1.0, 0.3))
    assert one(found, "kmeter_fleet_judged") == 0
    assert one(found, "kmeter_group_gpus", test="dram-read") == 3
    assert one(found, "kmeter_group_median_bytes_per_second", test="dram-read") == 4e12
    assert len(found["kmeter_ceiling_bytes_per_second"]) == 3
    for name in ("ceiling_share_of_median", "group_margin_share", "gpu_flagged"):
        assert f"kmeter_{name}" not in found


def test_what_is_unknown_is_absent() -> None:
    fleet = level_fleet(*[1.0] * 8)
    fleet[2] = replace(
        fleet[2], host=None, pci_bus_id=None, power_limit_w=None, started_at="yesterday"
    )
    text = fleet_metrics(judge(fleet))
    found = read(fleet)
    assert 'kmeter_gpu_run_start_time_seconds{UUID="GPU-0002"' not in text
    assert (
        'kmeter_ceiling_seconds{UUID="GPU-0002",measure="s",modelName="NVIDIA H200",'
        'quick="false",test="l2-latency"} 2.5e-07\n'
    ) in text
    assert one(found, "kmeter_fleet_hosts") == 1
    assert '=""' not in text


def test_the_beginning_of_a_run_is_in_unix_time() -> None:
    fleet = level_fleet(*[1.0] * 2)
    fleet[1] = replace(fleet[1], started_at="1970-01-02T00:00:00")
    found = read(fleet)
    assert one(found, "kmeter_gpu_run_start_time_seconds", UUID="GPU-0000") == 1796119200
    assert one(found, "kmeter_gpu_run_start_time_seconds", UUID="GPU-0001") == 86400


def test_hostile_words_come_back_as_they_were() -> None:
    fleet = [
        replace(
            gpu, gpu_name=HOSTILE, host=HOSTILE, pci_bus_id=HOSTILE, uuid=HOSTILE + str(place),
            ceilings=tuple(replace(item, name=HOSTILE + item.name) for item in gpu.ceilings),
        )
        for place, gpu in enumerate(level_fleet(*[1.0] * 8, 0.5))
    ]  # fmt: skip
    fleet.append(replace(fleet[0], uuid="dead", ceilings=(), refusal=HOSTILE))
    found = read(fleet)
    gpu = {
        "UUID": HOSTILE + "8",
        "Hostname": HOSTILE,
        "modelName": HOSTILE,
        "pci_bus_id": dcgm_bus_id(HOSTILE),
    }
    assert one(found, "kmeter_gpu_flagged", **gpu) == 1
    assert one(found, "kmeter_ceiling_seconds", **gpu, test=f"{HOSTILE}l2-latency") == 500e-9
    assert one(found, "kmeter_gpu_finding_info", UUID="dead", cause=HOSTILE) == 1


def test_characters_that_no_file_can_hold_are_replaced_and_no_series_is_there_twice() -> None:
    fleet = level_fleet(*[1.0] * 4)
    fleet[0] = replace(fleet[0], uuid="a\ud800", host=None, pci_bus_id=None)
    fleet[1] = replace(fleet[1], uuid="a\ud801", host=None, pci_bus_id=None)
    found = read(fleet)
    assert one(found, "kmeter_gpu_flagged", UUID="a\ufffd") == 0
    assert len(found["kmeter_gpu_flagged"]) == 3


def test_the_same_reports_in_any_order_give_the_same_bytes() -> None:
    fleet = noisy_fleet(64, {5: 0.8, 6: 0.8, 40: 0.3})
    text = fleet_metrics(judge(fleet))
    assert text == fleet_metrics(judge(fleet))
    assert text == fleet_metrics(judge(random.Random(3).sample(fleet, len(fleet))))


def test_20_000_figures_take_seconds() -> None:
    verdict = judge(noisy_fleet(1000, {}, tests=20))
    began = time.perf_counter()
    text = fleet_metrics(verdict)
    assert text.count("kmeter_ceiling_bytes_per_second{") == 20_000
    assert time.perf_counter() - began < 20
