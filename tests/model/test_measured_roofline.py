"""The same roofs by a card's own ceilings."""

from dataclasses import replace

import pytest
from devices import H100_SXM
from recorded import h200_run

from kmeter.model.device import Source
from kmeter.model.measured_roofline import measured_roofline
from kmeter.model.peaks import peaks
from kmeter.model.roofline import KernelPoint, roofline

LINE = roofline(H100_SXM, peaks(H100_SXM), ("fp32", "bf16_tensor", "int8_tensor"))


def test_each_roof_is_the_best_of_its_ceilings() -> None:
    measured = measured_roofline(LINE, h200_run())
    assert measured is not None
    assert measured.memory.rate.value == h200_run().rate("dram-write")
    assert measured.compute.rate.value == h200_run().rate("arithmetic-fp32")
    assert [roof.rate.value for roof in measured.others] == [
        h200_run().rate("tensor-bf16"),
        h200_run().rate("tensor-int8"),
    ]
    assert {roof.rate.source for roof in measured.roofs} == {Source.MEASURED}


def test_a_kernel_is_nearer_to_the_measured_roof() -> None:
    measured = measured_roofline(LINE, h200_run())
    assert measured is not None
    point = KernelPoint("copy", 0.1, flop_per_s=0.4e12)
    fraction = measured.place(point).fraction_of_roof
    assert fraction == pytest.approx(0.4e12 / (0.1 * (h200_run().rate("dram-write") or 0)))


def test_without_a_judging_roof_there_is_none() -> None:
    run = h200_run()
    without = replace(run, ceilings=tuple(c for c in run.ceilings if c.level != "DRAM"))
    assert measured_roofline(LINE, without) is None
