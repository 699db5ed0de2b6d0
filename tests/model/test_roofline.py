"""Roofs, ridges and points, with plain numbers."""

import pytest
from devices import H100_SXM, UNKNOWN_MEMORY
from hypothesis import given
from hypothesis import strategies as st

from kmeter.errors import UsageError
from kmeter.model.device import Source
from kmeter.model.peaks import peaks
from kmeter.model.roofline import Bound, KernelPoint, Roofline, roofline


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
