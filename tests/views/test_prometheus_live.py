"""Moments as metrics: DCGM's names and units, and no sample for what nobody knows."""

from collections.abc import Mapping

import pytest
from devices import H100_SXM
from prometheus_client.metrics_core import Metric as Family

from kmeter.model.card import Fact, Identity
from kmeter.model.device import Device
from kmeter.model.live import LiveGpu, Moment
from kmeter.views.prometheus import Metric, Sample, families
from kmeter.views.prometheus_live import Seconds, live_metrics

ONE = Identity(0, 3, "0000:4a:00.0", "GPU-1", "NVIDIA H200", mig=False)
HIDDEN = Identity(None, None, None, None, None, None, lost="GPU lost")
AT = "2026-12-02T22:00:00.250+00:00"


def metrics(
    *gpus: LiveGpu, held: Mapping[Identity, Seconds] | None = None, driver: str = ""
) -> dict[str, Metric]:
    """By name, those that have samples."""
    found = live_metrics(Moment(AT, gpus, driver_version=driver), held or {}, "box")
    return {metric.name: metric for metric in found if metric.samples}


def gpu(identity: Identity = ONE, device: Device | None = None, **facts: float | None) -> LiveGpu:
    """A fact of None is one that cannot be read."""
    known = {
        name: Fact(reason="not supported") if value is None else Fact(value)
        for name, value in facts.items()
    }
    return LiveGpu(identity, known, device=device)


def values(metric: Metric) -> list[float]:
    return [sample.value for sample in metric.samples]


@pytest.mark.parametrize(
    ("name", "facts", "value"),
    [
        ("DCGM_FI_DEV_SM_CLOCK", {"sm_clock_hz": 1.515e9}, 1515),
        ("DCGM_FI_DEV_MEM_CLOCK", {"memory_clock_hz": 3.201e9}, 3201),
        ("DCGM_FI_DEV_MAX_SM_CLOCK", {"sm_clock_max_hz": 1.98e9}, 1980),
        ("DCGM_FI_DEV_GPU_TEMP", {"temperature_c": 58}, 58),
        ("DCGM_FI_DEV_POWER_USAGE", {"power_w": 692042 * 1e-3}, 692.042),
        ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", {"power_limit_w": 700.0}, 700),
        ("DCGM_FI_DEV_GPU_UTIL", {"utilisation": 29 / 100}, 29),
        ("DCGM_FI_DEV_FB_TOTAL", {"memory_total_bytes": 141 * 2**30}, 144384),
        (
            "DCGM_FI_DEV_FB_USED",
            {"memory_used_bytes": 5 * 2**30, "memory_reserved_bytes": 2**30},
            4096,
        ),
        (
            "DCGM_FI_DEV_FB_FREE",
            {"memory_total_bytes": 141 * 2**30, "memory_used_bytes": 5 * 2**30},
            139264,
        ),
        ("DCGM_FI_DEV_FB_RESERVED", {"memory_reserved_bytes": 2**30}, 1024),
        ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", {"throttle_reasons_mask": 0x24}, 36),
        ("DCGM_FI_PROF_SM_OCCUPANCY", {"sm_occupancy": 14 * 0.01}, 0.14),
        ("DCGM_FI_PROF_PIPE_INT_ACTIVE", {"integer_active": 0.0}, 0),
        ("DCGM_FI_PROF_PCIE_RX_BYTES", {"pcie_received_bytes_per_s": 13 * 2.0**20}, 13631488),
    ],
)
def test_dcgms_names_and_units(name: str, facts: dict[str, float], value: float) -> None:
    known = {field: Fact(number) for field, number in facts.items()}
    assert values(metrics(LiveGpu(ONE, known))[name]) == [value]


def test_labels_are_the_exporters() -> None:
    found = metrics(gpu(power_w=90.0), driver="580.95.05")
    (sample,) = found["DCGM_FI_DEV_POWER_USAGE"].samples
    assert sample.labels == {
        "gpu": "3",
        "UUID": "GPU-1",
        "pci_bus_id": "00000000:4A:00.0",
        "device": "nvidia3",
        "modelName": "NVIDIA H200",
        "Hostname": "box",
        "DCGM_FI_DRIVER_VERSION": "580.95.05",
    }


def test_a_name_that_nobody_knows_is_no_label() -> None:
    (sample,) = metrics(gpu(HIDDEN, power_w=1.0))["kmeter_gpu_up"].samples
    assert sample.labels == {"Hostname": "box"}


def test_what_is_unknown_has_no_sample() -> None:
    found = metrics(gpu(power_w=None, sm_clock_hz=1e9, memory_used_bytes=2**30))
    assert set(found) == {
        "kmeter_reading_timestamp_seconds", "kmeter_gpu_up", "DCGM_FI_DEV_SM_CLOCK",
    }  # fmt: skip


def test_a_gpu_that_does_not_answer_is_down_and_nothing_else() -> None:
    lost = gpu(HIDDEN, power_w=None, throttle_reasons_mask=None)
    found = metrics(lost, gpu(power_w=90.0), held={HIDDEN: {"idle": 3.0}})
    assert values(found["kmeter_gpu_up"]) == [0, 1]
    named = {name for name, metric in found.items() if len(metric.samples) == 2}
    assert named == {"kmeter_gpu_up"}


def test_when_it_was_read() -> None:
    (sample,) = metrics()["kmeter_reading_timestamp_seconds"].samples
    assert sample == Sample({"Hostname": "box"}, 1796248800.25)


def test_what_busy_units_amount_to() -> None:
    busy = gpu(
        device=H100_SXM, sm_clock_hz=H100_SXM.sm_clock_hz, fp32_active=0.5, dram_active=0.25,
        tensor_int_active=None,
    )  # fmt: skip
    found = metrics(busy)
    rates = {s.labels["unit"]: s.value for s in found["kmeter_achieved_flop_per_second"].samples}
    assert rates == {"fp32": pytest.approx(33.45e12, rel=1e-3)}
    assert values(found["kmeter_dram_bytes_per_second"]) == [pytest.approx(0.838e12, rel=1e-3)]
    assert "kmeter_dram_bytes_per_second" not in metrics(gpu(dram_active=0.25))


def test_how_long_clocks_were_held_down() -> None:
    held = {ONE: {"power cap": 1.5, "reason 0x800": 0.5}}
    found = metrics(gpu(throttle_reasons_mask=4), held=held)["kmeter_clock_event_seconds_total"]
    seconds = {sample.labels["reason"]: sample.value for sample in found.samples}
    assert seconds["power cap"] == 1.5
    assert seconds["idle"] == 0, "a reason that could have been seen"
    assert seconds["reason 0x800"] == 0.5
    assert found.kind == "counter"


def test_a_mask_that_cannot_be_read_says_nothing_about_any_reason() -> None:
    found = metrics(gpu(power_w=1.0, throttle_reasons_mask=None), held={ONE: {"idle": 1.0}})
    assert "kmeter_clock_event_seconds_total" not in found


def test_as_the_librarys_own_types() -> None:
    counter = Metric("kmeter_x_total", "counter", "Help.", (Sample({"a": "b"}, 2.0),))
    (family,) = families([counter, Metric("kmeter_y", "gauge", "Help.", ())])
    assert isinstance(family, Family)
    assert (family.name, family.type) == ("kmeter_x", "counter")
    assert [(s.name, s.labels, s.value) for s in family.samples] == [
        ("kmeter_x_total", {"a": "b"}, 2.0)
    ]
