"""What ``kmeter ceiling`` shows of a real H200's run."""

from dataclasses import replace

import pytest
from recorded import h200_run
from snapshots import check_snapshot, drawn

from kmeter.model.ceiling import CeilingRun, Conditions, Status
from kmeter.units import si
from kmeter.views.ceiling import CeilingView


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
def test_a_whole_run(width: int, ascii_mode: bool) -> None:
    text = drawn(CeilingView(h200_run()), width, ascii_mode=ascii_mode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or not ascii_mode
    check_snapshot(f"ceiling/h200-{width}{'-ascii' * ascii_mode}.txt", text)


def test_no_number_is_cut_at_any_width() -> None:
    for width in range(40, 120):
        text = " ".join(drawn(CeilingView(h200_run()), width).split())
        for ceiling in h200_run().ceilings:
            if ceiling.value and ceiling.name.startswith("dram"):
                assert si(ceiling.value, "B/s") in text


def troubled() -> CeilingRun:
    """A run in which things went wrong."""
    run = h200_run()
    read = run.ceilings[0]
    failed = replace(read, status=Status.FAILED, value=None, samples=(), reason="the sum is wrong")
    hot = replace(
        run.ceilings[1], conditions=Conditions(1.2e9, "NVML", throttle_reasons_mask=0x40 | 0x4)
    )
    skipped = replace(failed, name="peer", status=Status.UNSUPPORTED, reason="no other GPU")
    return replace(run, ceilings=(failed, hot, skipped), is_complete=False, quick=True)


@pytest.mark.parametrize("width", [40, 80])
def test_trouble_is_said_in_words(width: int) -> None:
    text = drawn(CeilingView(troubled()), width)
    check_snapshot(f"ceiling/troubled-{width}.txt", text)
    words = " ".join(text.split())
    assert "dram-read failed: the sum is wrong" in words
    assert "dram-write: hardware thermal slowdown" in words
    assert "peer unsupported: no other GPU" in words
    assert "quick, interrupted" in words
