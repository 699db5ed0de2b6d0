"""Roofs, ridges and points, with plain numbers."""

import pytest
from devices import H100_SXM, UNKNOWN_MEMORY
from hypothesis import given
from hypothesis import strategies as st

from kmeter.errors import UsageError
from kmeter.model.device import Device, Quantity, Source
from kmeter.model.peaks import peaks
from kmeter.model.roofline import Bound, KernelPoint, Roof, Roofline, roofline


def h100(*units: str) -> Roofline:
    return roofline(H100_SXM, peaks(H100_SXM), units or ("fp32",))


def test_below_the_ridge_memory_binds() -> None:
    placed = h100().place(KernelPoint("k", 0.33))
    assert placed.bound is Bound.MEMORY
    assert placed.attainable_flop_per_s == pytest.approx(0.33 * 3.35232e12)
    assert placed.fraction_of_roof is None
    assert not placed.above_roof


def test_above_the_ridge_compute_binds() -> None:
    placed = h100().place(KernelPoint("k", 100))
    assert placed.bound is Bound.COMPUTE
    assert placed.attainable_flop_per_s == pytest.approx(66.9e12, rel=1e-3)


def test_the_ridge_is_where_the_roofs_meet() -> None:
    line = h100()
    assert line.ridge == pytest.approx(66.908e12 / 3.35232e12, rel=1e-4)
    assert line.memory.at(line.ridge) == pytest.approx(line.compute.at(line.ridge))


def test_a_timed_point_has_its_share_of_the_roof() -> None:
    point = KernelPoint.timed("copy", flop=1e9, bytes_moved=4e9, seconds=2e-3)
    placed = h100().place(point)
    assert point.bytes_per_s == 2e12
    assert placed.fraction_of_roof == pytest.approx(2e12 / 3.35232e12)


def test_a_point_above_its_roof_is_seen() -> None:
    placed = h100().place(KernelPoint.timed("x", flop=1e12, bytes_moved=1e9, seconds=1e-3))
    assert placed.above_roof
    assert placed.fraction_of_roof == pytest.approx(14.9, rel=0.01)


def test_a_point_on_its_roof_is_not_above_it() -> None:
    line = h100()
    seconds = 1e9 / line.memory.at(1)
    placed = line.place(KernelPoint.timed("x", flop=1e9, bytes_moved=1e9, seconds=seconds))
    assert not placed.above_roof


@pytest.mark.parametrize("intensity", [0, -1, float("nan"), float("inf")])
def test_what_is_no_intensity(intensity: float) -> None:
    with pytest.raises(UsageError, match="above 0 and finite"):
        KernelPoint("k", intensity)


@pytest.mark.parametrize(("flop", "moved", "seconds"), [(0, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_what_is_no_measurement(flop: float, moved: float, seconds: float) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        KernelPoint.timed("k", flop, moved, seconds)


def test_an_unknown_roof_asks_for_the_option_that_gives_it() -> None:
    with pytest.raises(UsageError, match=r"reports no memory clock.*--peak-bw"):
        roofline(UNKNOWN_MEMORY, peaks(UNKNOWN_MEMORY))
    line = roofline(UNKNOWN_MEMORY, peaks(UNKNOWN_MEMORY), dram_bytes_per_s=273e9)
    assert line.memory.rate.source is Source.GIVEN


def test_further_units_are_drawn_where_they_are_known_and_kept_with_a_reason_where_not() -> None:
    line = h100("fp32", "bf16_tensor", "fp4_tensor")
    assert [roof.name for roof in line.roofs] == ["DRAM", "fp32", "bf16_tensor"]
    assert [(roof.name, roof.rate.value) for roof in line.unknown] == [("fp4_tensor", None)]
    assert "fp4" in line.unknown[0].rate.reason


@given(flop=st.floats(1e-3, 1e15), moved=st.floats(1e-3, 1e15))
def test_rounding_puts_no_point_above_the_roof_it_lies_on(flop: float, moved: float) -> None:
    line = h100()
    seconds = max(flop / line.compute.at(1), moved / line.memory.at(1))
    assert not line.place(KernelPoint.timed("k", flop, moved, seconds)).above_roof
    assert line.place(KernelPoint.timed("k", flop, moved, seconds / 1.001)).above_roof


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_more_intensity_never_attains_less(one: float, other: float) -> None:
    line = h100()
    low, high = (
        line.place(KernelPoint("k", intensity)).attainable_flop_per_s
        for intensity in sorted((one, other))
    )
    assert low <= high <= line.compute.at(1)


# ---- several memories and precisions ---------------------------------------------------------


def levelled() -> Roofline:
    """1 TB/s of DRAM, 10 TB/s of L2; 20 TFLOP/s of fp32 and 10 of fp64."""
    card = Device("given", Source.GIVEN, "a card", "", None)
    return Roofline(
        card,
        Roof("DRAM", Bound.MEMORY, Quantity(1e12, Source.GIVEN)),
        Roof("fp32", Bound.COMPUTE, Quantity(20e12, Source.GIVEN)),
        (Roof("fp64", Bound.COMPUTE, Quantity(10e12, Source.GIVEN)),),
        levels=(Roof("L2", Bound.MEMORY, Quantity(10e12, Source.GIVEN)),),
    )


@pytest.mark.parametrize(
    ("level", "unit", "intensity", "attainable", "roof"),
    [
        ("DRAM", None, 4.0, 4e12, "DRAM"),
        ("L2", None, 1.0, 10e12, "L2"),
        ("L2", None, 4.0, 20e12, "fp32"),
        ("L2", "fp64", 4.0, 10e12, "fp64"),
        ("DRAM", "fp64", 15.0, 10e12, "fp64"),
        ("DRAM", "fp32", 15.0, 15e12, "DRAM"),
    ],
)
def test_a_point_lies_under_the_roofs_of_its_memory_and_its_unit(
    level: str, unit: str | None, intensity: float, attainable: float, roof: str
) -> None:
    placed = levelled().place(KernelPoint("k", intensity, level=level, unit=unit))
    assert placed.attainable_flop_per_s == pytest.approx(attainable)
    assert placed.roof.name == roof


@pytest.mark.parametrize(("level", "unit"), [("L1", None), ("DRAM", "fp16")])
def test_a_point_whose_roof_is_unknown_is_refused(level: str, unit: str | None) -> None:
    with pytest.raises(UsageError, match="roof is unknown"):
        levelled().place(KernelPoint("k", 1.0, level=level, unit=unit))
