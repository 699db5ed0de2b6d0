"""Rates and shares of a benchmark, with plain numbers."""

from dataclasses import replace
from typing import Any

import pytest

from kmeter.model.benchmark import CacheState, Roofs, Row, labelled
from kmeter.model.ceiling import Conditions
from kmeter.model.roofline import Bound
from kmeter.model.score import impossible, score

ROOFS = Roofs(
    device_name="a card",
    dram_bytes_per_s=1e12,
    flop_per_s=10e12,
    unit="fp32",
    clock_hz=2e9,
    measured_dram_bytes_per_s=0.9e12,
    measured_flop_per_s=8e12,
)
ROW = Row(
    "copy",
    samples_s=(1e-3,) * 10,
    engine="events",
    cache_state=CacheState.COLD,
    bytes_per_call=0.8e9,
    flop_per_call=1e9,
    roofs=ROOFS,
    conditions=Conditions(sm_clock_hz=1e9, samples=5),
)


def test_a_memory_bound_row() -> None:
    found = score(ROW)
    assert found.bytes_per_s == 0.8e12
    assert found.flop_per_s == 1e12
    assert found.arithmetic_intensity == 1.25
    assert found.bound is Bound.MEMORY
    assert found.fraction_of_roof == pytest.approx(0.8)
    assert found.fraction_of_ceiling == pytest.approx(0.8 / 0.9)
    assert found.fraction_at_clock == pytest.approx(0.8), "DRAM does not follow the SM clock"


def test_a_compute_bound_row_is_judged_at_its_clock_too() -> None:
    found = score(replace(ROW, bytes_per_call=1e3, flop_per_call=4e9))
    assert found.bound is Bound.COMPUTE
    assert found.fraction_of_roof == pytest.approx(0.4)
    assert found.fraction_of_ceiling == pytest.approx(0.5)
    assert found.fraction_at_clock == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("counts", "bound", "fraction"),
    [
        ({"flop_per_call": None}, Bound.MEMORY, 0.8),
        ({"bytes_per_call": None}, Bound.COMPUTE, 0.1),
    ],
)
def test_what_counts_one_thing_is_judged_by_that(
    counts: dict[str, Any], bound: Bound, fraction: float
) -> None:
    found = score(replace(ROW, **counts))
    assert found.bound is bound
    assert found.fraction_of_roof == pytest.approx(fraction)
    assert found.arithmetic_intensity is None


def test_without_counts_there_is_a_reason() -> None:
    found = score(replace(ROW, bytes_per_call=None, flop_per_call=None))
    assert found.fraction_of_roof is None
    assert "bytes_per_call" in found.reason


def test_an_unknown_roof_judges_nothing_that_needs_it() -> None:
    roofs = replace(ROOFS, flop_per_s=None, reason="the SM clock is unknown")
    found = score(replace(ROW, roofs=roofs))
    assert (found.bound, found.fraction_of_roof) == (None, None)
    assert found.reason == "the SM clock is unknown"
    assert found.bytes_per_s == 0.8e12


def test_a_row_without_a_time_has_no_score() -> None:
    assert score(replace(ROW, samples_s=(), reason="it crashed")).reason == "it crashed"


def test_faster_than_dram_from_a_cold_l2_is_impossible() -> None:
    fast = replace(ROW, bytes_per_call=1.1e9)
    assert "above DRAM's peak" in impossible(fast)
    assert impossible(replace(fast, cache_state=CacheState.WARM)) == ""
    assert impossible(replace(fast, cache_state=CacheState.CLEAN)) == ""
    assert impossible(replace(ROW, bytes_per_call=1.01e9)) == "", "clocks are not so exact"


def test_faster_than_the_named_unit_is_impossible() -> None:
    fast = replace(ROW, flop_per_call=11e9, bytes_per_call=None)
    assert "above the fp32 peak" in impossible(fast)
    assert impossible(replace(fast, roofs=replace(ROOFS, unit_is_assumed=True))) == ""


def test_throttled_samples_count_only_where_most_are() -> None:
    samples = (1.0, 1.0, 1.0, 2.0)
    assert replace(ROW, samples_s=samples, throttled=(3,)).used_s == (1.0, 1.0, 1.0)
    assert replace(ROW, samples_s=samples, throttled=(0, 1, 3)).used_s == samples
    assert replace(ROW, samples_s=samples, throttled=(0, 1, 2, 3)).median_s == 1.0


def test_the_speedup_is_of_pairs() -> None:
    row = replace(ROW, samples_s=(1.0, 2.0, 4.0), reference_samples_s=(2.0, 4.0, 8.0))
    assert row.speedups == (2.0, 2.0, 2.0)
    assert row.speedup == 2.0
    assert row.speedup_interval is None
    assert ROW.speedup is None


def test_launch_bound_is_a_host_that_is_slower_than_the_gpu() -> None:
    assert replace(ROW, host_s=2e-3).is_launch_bound
    assert not replace(ROW, host_s=0.5e-3).is_launch_bound
    assert not replace(ROW, host_s=2e-3, engine="host").is_launch_bound


def test_labels() -> None:
    assert labelled("copy", {}) == "copy"
    assert labelled("copy", {"n": 4, "dtype": "fp16"}) == "copy[n=4, dtype=fp16]"
