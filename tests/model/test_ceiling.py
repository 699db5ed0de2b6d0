"""Ceilings: their arithmetic, what is kept of two runs, and the gate."""

from dataclasses import replace

import pytest
from recorded import h200_run

from kmeter.errors import UsageError
from kmeter.model.ceiling import (
    Ceiling,
    CeilingRun,
    Conditions,
    Limit,
    Measure,
    Status,
    best,
    ceilings_of_unit,
    merged,
)
from kmeter.model.ceiling_check import shortfalls
from kmeter.model.compute_units import DENSE_UNITS

FMA = Ceiling(
    "arithmetic-fp32",
    "arithmetic",
    Measure.FLOP_PER_S,
    Status.OK,
    value=30e12,
    samples=(29e12, 30e12, 31e12),
    limit=Limit(40e12, "derived", clock_hz=2e9),
    conditions=Conditions(sm_clock_hz=1.6e9, sm_clock_source="SM"),
)
CHASE = Ceiling(
    "latency-l2", "L2", Measure.SECONDS, Status.OK, value=2e-7, samples=(2e-7,), cycles=300
)
RUN = CeilingRun(
    gpu_name="NVIDIA H200",
    uuid="GPU-1",
    compute_capability="9.0",
    driver_version="580",
    cuda_version="13.0",
    compiler_version="13.0",
    kmeter_version="0.1.0",
    started_at="2026-12-01T12:00:00+00:00",
    quick=False,
    planned_bytes=2**30,
    peak_bytes=2**29,
    ceilings=(FMA, CHASE),
)


def test_a_rate_against_its_limit() -> None:
    assert FMA.spread == pytest.approx(2 / 30)
    assert FMA.fraction_of_limit == pytest.approx(0.75)
    assert FMA.fraction_at_clock == pytest.approx(0.75 * 2 / 1.6)


def test_what_cannot_be_known_is_none() -> None:
    assert CHASE.spread is None
    assert CHASE.fraction_of_limit is None
    assert replace(FMA, conditions=Conditions()).fraction_at_clock is None
    assert replace(FMA, limit=Limit(reason="nobody publishes one")).fraction_of_limit is None
    by_memory = replace(FMA, limit=Limit(40e12, "derived"), conditions=Conditions())
    assert by_memory.fraction_at_clock == by_memory.fraction_of_limit


# ---- two runs -------------------------------------------------------------------------------


def test_a_new_run_replaces_and_the_rest_is_kept() -> None:
    new = replace(RUN, ceilings=(replace(FMA, value=31e12),))
    both = merged(RUN, new)
    assert [(c.name, c.value) for c in both.ceilings] == [
        ("arithmetic-fp32", 31e12),
        ("latency-l2", 2e-7),
    ]


def test_a_quick_figure_does_not_replace_a_thorough_one() -> None:
    quick = replace(RUN, quick=True, ceilings=(replace(FMA, value=1.0, is_quick=True),))
    assert merged(RUN, quick).rate("arithmetic-fp32") == 30e12
    assert merged(quick, RUN).rate("arithmetic-fp32") == 30e12


def test_a_failure_is_not_kept() -> None:
    failed = replace(FMA, status=Status.FAILED, value=None)
    assert merged(RUN, replace(RUN, ceilings=(failed,))).rate("arithmetic-fp32") == 30e12
    assert merged(None, replace(RUN, ceilings=(failed,))).ceilings == ()


@pytest.mark.parametrize("changed", [{"driver_version": "590"}, {"uuid": "GPU-2"}])
def test_what_another_driver_or_card_gave_is_forgotten(changed: dict[str, str]) -> None:
    new = replace(RUN, ceilings=(FMA,), **changed)  # type: ignore[arg-type]
    assert merged(RUN, new).named("latency-l2") is None


def test_the_best_of_several_is_one_that_was_measured_well() -> None:
    library = replace(FMA, name="matmul-fp32", value=50e12, status=Status.FAILED)
    run = replace(RUN, ceilings=(FMA, library))
    assert best(run, ceilings_of_unit("fp32")) == FMA
    assert best(run, ("dram-read",)) is None


def test_units_find_their_ceilings() -> None:
    names = {c.name for c in h200_run().ceilings}
    known = {"fp64", "fp32", "fp16", "bf16", "int32", "int8_dot", "fp64_tensor", "tf32_tensor",
             "fp16_tensor", "fp16_tensor_fp16_accumulate", "bf16_tensor", "fp8_tensor", "fp8_tensor_fp32_accumulate",
             "int8_tensor"}  # fmt: skip
    found = {unit for unit in DENSE_UNITS if names & set(ceilings_of_unit(unit))}
    assert found == known


# ---- the gate -------------------------------------------------------------------------------


def names(run: CeilingRun) -> tuple[str, ...]:
    return tuple(c.name for c in run.ceilings)


def test_a_card_that_is_as_fast_falls_short_nowhere() -> None:
    assert shortfalls(RUN, RUN, names(RUN), 0.0) == []


def test_a_slow_one_is_named_with_its_cause() -> None:
    throttled = Conditions(sm_clock_hz=1.2e9, throttle_reasons_mask=0x4 | 0x40)
    slow = replace(RUN, ceilings=(replace(FMA, value=27e12, conditions=throttled), CHASE))
    (item,) = shortfalls(slow, RUN, names(RUN), 0.05)
    assert item.name == "arithmetic-fp32"
    assert item.fraction == pytest.approx(0.9)
    assert item.causes == ("power cap", "hardware thermal slowdown", "lower SM clock")
    assert shortfalls(slow, RUN, names(RUN), 0.11) == []


def test_a_longer_latency_falls_short_too() -> None:
    slow = replace(RUN, ceilings=(FMA, replace(CHASE, value=4e-7)))
    (item,) = shortfalls(slow, RUN, names(RUN), 0.05)
    assert (item.name, item.fraction) == ("latency-l2", 0.5)


def test_a_failed_or_missing_ceiling_falls_short() -> None:
    failed = replace(FMA, status=Status.FAILED, value=None, reason="wrong sum")
    (item,) = shortfalls(replace(RUN, ceilings=(failed, CHASE)), RUN, names(RUN), 0.05)
    assert (item.fraction, item.causes) == (None, ("wrong sum",))


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"pcie_width": 8}, "PCIe x8 instead of x16"),
        ({"pcie_generation": 4}, "PCIe 4 instead of 5"),
        ({"ecc": True}, "ECC is on"),
        ({"other_processes": 2}, "2 other processes on the card"),
    ],
)
def test_causes_of_a_slow_link(changed: dict[str, int], cause: str) -> None:
    link = Ceiling("host-h2d", "host link", Measure.BYTES_PER_S, Status.OK, value=55e9)
    good = replace(RUN, ceilings=(link,), pcie_width=16, pcie_generation=5, ecc=False)
    bad = replace(good, ceilings=(replace(link, value=25e9),), **changed)  # type: ignore[arg-type]
    (item,) = shortfalls(bad, good, ("host-h2d",), 0.05)
    assert item.causes == (cause,)


def test_a_reference_must_be_comparable() -> None:
    with pytest.raises(UsageError, match="the reference is of 'NVIDIA L4'"):
        shortfalls(RUN, replace(RUN, gpu_name="NVIDIA L4"), names(RUN), 0.05)
    with pytest.raises(UsageError, match="none of these"):
        shortfalls(RUN, RUN, ("peer",), 0.05)
