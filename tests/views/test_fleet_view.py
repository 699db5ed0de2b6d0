"""The verdict as people see it: who stands out and why, strips, and what could not be judged."""

from dataclasses import replace

import pytest
from fleets import figure, level_fleet, noisy_fleet, report
from snapshots import check_snapshot, drawn

from kmeter.model.ceiling import Conditions, Status
from kmeter.model.fleet import Report, Verdict
from kmeter.model.fleet_verdict import judge
from kmeter.views.fleet import FleetView, headline
from kmeter.views.fleet_strip import ruler, strip_plot

UNREADABLE = [("node3/empty.json", "empty"), ("notes.txt", "no report of kmeter's")]


def everything() -> Verdict:
    """A fleet with something of each kind."""
    like = noisy_fleet(40, {17: 1 / 3, 23: 0.9})
    throttled = Conditions(sm_clock_hz=1.98e9, throttle_reasons_mask=0x44)
    hot = tuple(replace(f, conditions=throttled) for f in like[23].ceilings)
    like[23] = replace(like[23], ceilings=hot)
    others = [
        replace(r, gpu_name="NVIDIA L40S", power_limit_w=350.0) for r in level_fleet(1, 1, 0.5)
    ]
    others = [replace(r, uuid=f"GPU-other{n}", host="small") for n, r in enumerate(others)]
    lost = replace(report(60), refusal="GPU lost", is_complete=False)
    wrong = report(61, figure("test-00", None, Status.FAILED, "its result was wrong"))
    full = report(62, figure("test-00", None, Status.SKIPPED, "not enough memory is free"))
    again = replace(like[0], started_at="2026-11-01T00:00:00Z", origin="old/0.json")
    return judge([*like, *others, lost, wrong, full, again])


@pytest.mark.parametrize(
    ("width", "is_ascii"), [(80, False), (120, False), (80, True), (40, False)]
)
def test_what_people_see(width: int, is_ascii: bool) -> None:
    view = FleetView(everything(), UNREADABLE)
    name = f"fleet/report-{width}{'-ascii' if is_ascii else ''}.txt"
    check_snapshot(name, drawn(view, width, ascii_mode=is_ascii))


def _said(reports: list[Report]) -> str:
    return headline(judge(reports))


def test_the_first_line_says_it_all() -> None:
    assert _said(level_fleet(*[1.0] * 8)) == "8 GPUs of 1 host: none is slower than its like"
    assert _said(level_fleet(*[1.0] * 15, 0.5)) == "16 GPUs of 2 hosts: 1 needs attention"
    assert _said(level_fleet(0.5, *[1.0] * 15, 0.5)) == "17 GPUs of 3 hosts: 2 need attention"
    assert _said(level_fleet(1.0)) == "1 GPU of 1 host: none can be judged"
    assert _said([replace(r, host=None) for r in level_fleet(1.0)]) == "1 GPU: none can be judged"


def test_many_of_a_kind_are_counted() -> None:
    lines = drawn(FleetView(judge(level_fleet(1)), [(f"{n}.txt", "empty") for n in range(20)]), 80)
    assert "not read: 20" in lines
    assert "… and 13 more: --json has them all" in lines
    assert "6.txt: empty" in lines
    assert "7.txt: empty" not in lines


# ---- strips ---------------------------------------------------------------------------------


def test_the_median_is_in_the_middle_and_the_line_halfway_to_the_left() -> None:
    assert ruler(21) == "     ┊    │"
    assert strip_plot([1.0], 0.03, 21).plain == " " * 10 + "█" + " " * 10
    assert strip_plot([0.9699], 0.03, 21).plain[5] == "×"
    assert strip_plot([0.9701], 0.03, 21).plain[5] == "█"


def test_what_lies_beyond_has_a_mark_at_the_edge() -> None:
    strip = strip_plot([0.3, 1.0, 1.0, 1.7], 0.03, 21).plain
    assert (strip[0], strip[20]) == ("◂", "▸")


def test_the_fullest_cell_is_the_highest() -> None:
    strip = strip_plot([1.0] * 8 + [1.03] * 4 + [0.985], 0.03, 21).plain
    assert (strip[10], strip[15]) == ("█", "▄")
    assert strip[7] != " " or strip[8] != " "


def test_strips_in_ascii() -> None:
    strip = strip_plot([0.3, 0.965, 1.0, 1.7], 0.03, 21, ascii_only=True).plain
    assert strip.isascii()
    assert (strip[0], strip[20]) == ("<", ">")
    assert "x" in strip
    assert ruler(21, ascii_only=True) == "     !    |"
