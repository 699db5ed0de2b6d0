"""Profiled kernels become points of their precisions and memories; what cannot is said with its reason."""

import pytest

from kmeter.model.device import Device, Quantity, Source
from kmeter.model.profiled_kernel import ProfiledKernel
from kmeter.model.profiled_points import profiled_points, units_of
from kmeter.model.roofline import Bound, Roof, Roofline

CARD = Device("given", Source.GIVEN, "a card", "", None)


def line(*levels: str) -> Roofline:
    return Roofline(
        CARD,
        Roof("DRAM", Bound.MEMORY, Quantity(1e12, Source.GIVEN)),
        Roof("fp32", Bound.COMPUTE, Quantity(20e12, Source.GIVEN)),
        (Roof("fp64", Bound.COMPUTE, Quantity(10e12, Source.GIVEN)),),
        levels=tuple(Roof(level, Bound.MEMORY, Quantity(8e12, Source.GIVEN)) for level in levels),
    )


MIXED = ProfiledKernel(
    "mixed",
    seconds=1e-3,
    dram_bytes=1e8,
    l2_bytes=4e8,
    flop={"fp32": 2e9, "fp64": 1e9, "fp16": 0.0},
)


def test_a_point_for_each_precision_and_memory() -> None:
    found = profiled_points(line("L2"), [MIXED])
    by_name = {item.point.name: item for item in found.placed}
    assert set(by_name) == {
        "mixed (fp32, DRAM)", "mixed (fp32, L2)", "mixed (fp64, DRAM)", "mixed (fp64, L2)",
    }  # fmt: skip
    assert by_name["mixed (fp32, DRAM)"].point.arithmetic_intensity == pytest.approx(20)
    assert by_name["mixed (fp64, L2)"].point.arithmetic_intensity == pytest.approx(2.5)
    assert by_name["mixed (fp64, L2)"].roof.name == "fp64"
    assert found.remarks == []


def test_a_memory_without_a_roof_is_left_out_and_said_so() -> None:
    found = profiled_points(line(), [MIXED])
    assert {item.point.level for item in found.placed} == {"DRAM"}
    assert found.remarks == [
        "points by L2 are left out: the L2 roof is unknown. kmeter ceiling measures it, on this card alone"
    ]


def test_the_precision_with_the_most_flop_comes_first() -> None:
    many = ProfiledKernel("b", launches=10, flop={"fp64": 1e9})
    assert units_of([MIXED, many]) == ("fp64", "fp32")
    assert units_of([]) == ()


def test_what_is_no_point_says_so_once_for_all_kernels() -> None:
    bare = [
        ProfiledKernel(name, seconds=1.0, notes=("counted by sampling",)) for name in ("a", "b")
    ]
    assert profiled_points(line(), bare).remarks == [
        "'a' and 1 more: it is no point: that takes a time, FLOP and bytes above 0",
        "'a' and 1 more: counted by sampling",
    ]


def test_tensor_cores_are_in_no_point() -> None:
    (remark,) = profiled_points(
        line(), [MIXED._replace(l2_bytes=None, tensor_instructions=5.0)]
    ).remarks
    assert "tensor cores' work is counted in instructions" in remark
