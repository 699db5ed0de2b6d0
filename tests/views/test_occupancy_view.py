"""What ``kmeter occupancy`` shows, at every width, with and without colour and Unicode."""

import json
import re

import pytest
from snapshots import check_snapshot, drawn

from kmeter.model.architecture import architecture
from kmeter.model.launch import Launch
from kmeter.model.launch_report import LaunchQuestion, LaunchReport, launch_report
from kmeter.model.occupancy import occupancy
from kmeter.views.heatmap import Heatmap, SharedHeatmap
from kmeter.views.occupancy import OccupancyView
from kmeter.views.occupancy_json import occupancy_document

PLAIN = LaunchQuestion(Launch(256, 64))
FULL = LaunchQuestion(
    Launch(256, 64, dynamic_shared_bytes=48 * 1024, barriers=2, max_threads_per_block=256),
    min_blocks=6,
    grid=1600,
    sm_count=132,
    cluster_size=16,
)
REFUSED = LaunchQuestion(Launch(256, 64, dynamic_shared_bytes=240 * 1024))

REPORTS = {
    "plain": launch_report(architecture("8.6"), PLAIN),
    "full": launch_report(architecture("9.0"), FULL),
    "refused": launch_report(architecture("9.0"), REFUSED),
}


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", REPORTS)
def test_report(name: str, width: int, ascii_mode: bool) -> None:
    text = drawn(OccupancyView(REPORTS[name]), width, ascii_mode=ascii_mode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or not ascii_mode
    check_snapshot(f"occupancy/{name}-{width}{'-ascii' * ascii_mode}.txt", text)


def test_report_in_colour() -> None:
    text = drawn(OccupancyView(REPORTS["full"]), 80, colour=True)
    check_snapshot("occupancy/full-80-colour.txt", text)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_heatmap(width: int) -> None:
    text = drawn(Heatmap(architecture("8.6"), PLAIN.launch), width, ascii_mode=True)
    assert max(map(len, text.splitlines())) <= width
    check_snapshot(f"occupancy/heatmap-{width}-ascii.txt", text)


def test_heatmap_in_colour() -> None:
    text = drawn(Heatmap(architecture("9.0"), FULL.launch), 80, colour=True)
    check_snapshot("occupancy/heatmap-80-colour.txt", text)


def test_assumed_limits_are_called_so() -> None:
    report = launch_report(architecture("12.1"), PLAIN)
    text = drawn(OccupancyView(report, assumed_for="13.0"), 100)
    assert "assumed: 13.0 is not in the table, these are the limits of 12.1" in text
    document = occupancy_document(report, assumed_for="13.0")
    assert document["compute_capability"] == "13.0"
    assert document["assumed_compute_capability"] == "12.1"


def test_limits_of_less_confidence_say_so() -> None:
    text = drawn(OccupancyView(launch_report(architecture("10.7"), PLAIN)), 120)
    assert "limits of low confidence: sources disagree on shared memory" in text


# ---- JSON -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_json_has_the_promised_names(name: str) -> None:
    document = occupancy_document(REPORTS[name])
    json.dumps(document, allow_nan=False)
    assert document["schema"] == "kmeter.occupancy/1"
    assert {
        "compute_capability", "block_size", "registers_per_thread", "static_shared_bytes",
        "dynamic_shared_bytes", "blocks_per_sm", "active_warps_per_sm", "max_warps_per_sm",
        "fraction", "limiters", "blocks_allowed_by", "allocated_registers_per_block",
        "allocated_shared_bytes_per_block", "best_block_size", "waves",
    } <= set(document)  # fmt: skip


def test_json_of_a_plain_launch() -> None:
    document = occupancy_document(REPORTS["plain"])
    assert document["blocks_per_sm"] == 4
    assert document["fraction"] == pytest.approx(2 / 3)
    assert document["limiters"] == ["registers"]
    assert document["blocks_allowed_by"] == {
        "warps": 6, "registers": 4, "shared": 100, "blocks": 16, "barriers": None,
    }  # fmt: skip
    assert document["waves"] is None
    assert document["waves_reason"] == "no grid was given"


def test_json_of_a_grid() -> None:
    one_block_per_sm = LaunchQuestion(Launch(1024, 64), grid=133, sm_count=132)
    document = occupancy_document(launch_report(architecture("9.0"), one_block_per_sm))
    assert document["waves"]["waves"] == 2
    assert document["waves"]["efficiency"] == pytest.approx(133 / 264)


LAYOUT = (16, 16, 16, 16, 16, 16, 18, 18)


def test_clusters_fill_waves_of_whole_clusters() -> None:
    launch = Launch(256, dynamic_shared_bytes=200 * 1024)
    question = LaunchQuestion(launch, None, 3200, 132, 16, LAYOUT)
    waves = launch_report(architecture("9.0"), question).waves
    assert waves is not None
    assert (waves.blocks_per_wave, waves.waves, waves.efficiency) == (8 * 16, 25, 1)


@pytest.mark.parametrize(
    ("layout", "says"), [((), "layout is unknown"), ((8,) * 16 + (4,), "no GPC of this layout")]
)
def test_waves_of_clusters_need_the_layout(layout: tuple[int, ...], says: str) -> None:
    question = LaunchQuestion(Launch(256, 64), None, 1600, 132, 16, layout)
    document = occupancy_document(launch_report(architecture("9.0"), question))
    assert document["waves"] is None
    assert says in document["waves_reason"]


def test_a_grid_that_is_not_whole_clusters_is_refused() -> None:
    question = LaunchQuestion(Launch(256, 40), None, 10, 132, 4)
    report = launch_report(architecture("9.0"), question)
    assert report.refused == "a grid is whole clusters, and 10 is no multiple of 4"
    assert report.occupancy.blocks_per_sm == 0


def test_json_of_a_refused_launch() -> None:
    document = occupancy_document(REPORTS["refused"])
    assert document["can_launch"] is False
    assert document["can_launch_reason"] == "240 KiB, limit 227 KiB on 9.0"
    assert document["blocks_per_sm"] == 0
    assert document["fraction"] == 0


def report_of(question: LaunchQuestion) -> LaunchReport:
    return launch_report(architecture("9.0"), question)


@pytest.mark.parametrize(
    ("question", "bound", "clusters"),
    [
        (FULL._replace(sm_count=None), None, None),
        (FULL, "upper", 33),
        (FULL._replace(sms_per_gpc=(18, 18, 16, 16, 16, 16, 16, 8)), "exact", 28),
    ],
)
def test_clusters_say_how_sure_they_are(
    question: LaunchQuestion, bound: str | None, clusters: int | None
) -> None:
    cluster = occupancy_document(report_of(question))["cluster"]
    assert (cluster["bound"], cluster["max_active_clusters"]) == (bound, clusters)
    assert (cluster["max_active_clusters_reason"] is None) == (clusters is not None)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_heatmap_of_shared_memory(width: int) -> None:
    launch = Launch(256, 40, static_shared_bytes=20_000)
    text = drawn(SharedHeatmap(architecture("9.0"), launch), width, ascii_mode=True)
    assert max(map(len, text.splitlines())) <= width
    check_snapshot(f"occupancy/heatmap-shared-{width}.txt", text)
    rows = {line.split()[0]: line for line in text.splitlines()[2:-1]}
    assert "[" in rows["19.5"]


@pytest.mark.parametrize("block_size", [64, 256, 1024])
@pytest.mark.parametrize("shared_bytes", [0, 32 * 1024, 227 * 1024])
def test_a_cell_is_what_the_launch_itself_has(block_size: int, shared_bytes: int) -> None:
    launch = Launch(block_size, 32, dynamic_shared_bytes=shared_bytes)
    text = drawn(SharedHeatmap(architecture("9.0"), launch), 200)
    (cell,) = re.findall(r"\[(\d+)\]", text)
    assert int(cell) == round(100 * occupancy(architecture("9.0"), launch).fraction)
