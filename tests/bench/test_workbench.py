"""What bounds a kernel on a card: its peaks, what was measured on it, and what the author gives."""

from dataclasses import replace

import pytest
from recorded import h200_run

from kmeter.bench.workbench import Workbench
from kmeter.errors import NoGpuError
from kmeter.sources import open_machine


def bench(**changes: object) -> Workbench:
    return replace(Workbench(open_machine("snapshot:h200")), **changes)  # type: ignore[arg-type]


def test_the_roofs_of_a_card() -> None:
    roofs = bench().roofs("fp64_tensor", None)
    assert roofs.device_name == "NVIDIA H200"
    assert roofs.dram_bytes_per_s == pytest.approx(4.814e12, rel=1e-3)
    assert roofs.flop_per_s == pytest.approx(66.9e12, rel=1e-2)
    assert (roofs.unit, roofs.unit_is_assumed) == ("fp64_tensor", False)
    assert roofs.clock_hz == 1.98e9


def test_without_a_unit_fp32_is_assumed_and_said_to_be() -> None:
    roofs = bench().roofs(None, None)
    assert (roofs.unit, roofs.unit_is_assumed) == ("fp32", True)


def test_the_authors_peak_counts_and_has_no_clock() -> None:
    roofs = bench().roofs(None, 123.0)
    assert (roofs.flop_per_s, roofs.clock_hz, roofs.unit_is_assumed) == (123e12, None, False)


def test_ceilings_of_this_very_card_stand_beside_the_peaks() -> None:
    roofs = bench(ceilings=h200_run()).roofs("fp32", None)
    assert roofs.measured_dram_bytes_per_s == h200_run().rate("dram-write")
    assert roofs.measured_flop_per_s == h200_run().rate("arithmetic-fp32")
    assert bench().roofs("fp32", None).measured_flop_per_s is None


def test_without_a_card_there_is_a_reason() -> None:
    empty = Workbench(None, "no driver here")
    assert empty.roofs("fp16", None).reason == "no driver here"
    assert empty.context_or_none() is None
    assert empty.broken() is None
    empty.settle()
    with pytest.raises(NoGpuError, match="this benchmark needs a GPU: no driver here"):
        empty.context()
