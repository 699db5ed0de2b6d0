"""The engines and the judge on a fake GPU behind a real libcuda.so.1: times are known beforehand."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeGpu
from fakes.fixtures import Kmeter

TESTS = Path(__file__).parent.parent
MODULES = TESTS / "fakes" / "modules"
FILE = TESTS / "data" / "bench" / "on_fake_gpu.py"

Rows = dict[str, dict[str, Any]]
Bench = Callable[..., Rows]


@pytest.fixture
def bench(kmeter: Kmeter, tmp_path: Path) -> Bench:
    """The rows of ``kmeter bench --json`` on a fake A100."""

    def run(*arguments: str, gpu: FakeGpu | None = None, cupti: bool = False) -> Rows:
        path = os.pathsep.join([str(TESTS), *([str(MODULES)] if cupti else [])])
        finished = kmeter(
            "bench", str(FILE), *arguments, "--json", "--timeout", "5s",
            gpus=[gpu or FakeGpu()],
            environment={"PYTHONPATH": path, "XDG_DATA_HOME": str(tmp_path)},
        )  # fmt: skip
        assert finished.out, finished.err
        return {row["name"]: row for row in json.loads(finished.out)["results"]}

    return run


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("add", 50e-6),
        ("tiny", 1.5e-6),
        ("two_kernels", 30e-6),
        ("into_an_argument", 50e-6),
        ("in_place", 50e-6),
        ("on_its_named_stream", 30e-6),
    ],
)
def test_events_read_what_a_kernel_takes(bench: Bench, name: str, seconds: float) -> None:
    row = bench(name)[name]
    assert (row["status"], row["correct"], row["engine"]) == ("ok", True, "events"), row["reason"]
    assert row["median_s"] == pytest.approx(seconds, rel=0.01, abs=20e-9)
    assert row["overhead_s"] == pytest.approx(2e-6, rel=0.02), "what a pair of events costs here"


@pytest.mark.parametrize(("name", "seconds"), [("add", 50e-6), ("tiny", 1.5e-6)])
def test_a_graph_reads_the_same(bench: Bench, name: str, seconds: float) -> None:
    row = bench(name, "--timer", "graph")[name]
    assert (row["status"], row["engine"]) == ("ok", "graph")
    # The fake launches a graph's nodes one by one: a busy host can hold them up.
    assert row["median_s"] == pytest.approx(seconds, rel=0.01, abs=1e-6)


def test_the_row_says_how_it_was_timed(bench: Bench) -> None:
    row = bench("add")["add"]
    assert row["cache_state"] == "cold"
    assert row["cache_note"] == "before each call 80 MiB were written, L2 has 40 MiB"
    assert row["bytes_per_s"] == pytest.approx(12 * 4096 / 50e-6, rel=0.01)
    assert row["speedup"] == pytest.approx(2, rel=0.01)
    assert row["roofs"]["dram_bytes_per_s"] == pytest.approx(2.039e12, rel=1e-3)
    assert row["conditions"]["sm_clock_hz"] == 345e6


@pytest.mark.parametrize(
    ("arguments", "state", "note"),
    [
        (("--cache", "clean"), "clean", "80 MiB were read"),
        (("--cache", "warm"), "warm", "nothing is flushed"),
        (("--no-flush-l2",), "warm", "nothing is flushed"),
        (("--timer", "graph"), "warm", "64 sets of arguments, 2 MiB in all"),
    ],
)
def test_the_state_of_l2_is_the_one_that_was_reached(
    bench: Bench, arguments: tuple[str, ...], state: str, note: str
) -> None:
    row = bench("add", *arguments)["add"]
    assert row["cache_state"] == state
    assert note in row["cache_note"]


def test_without_memory_for_the_flush_l2_is_warm(bench: Bench) -> None:
    row = bench("add", gpu=FakeGpu(memory=40 * 2**20))["add"]
    assert row["cache_state"] == "warm"
    assert "could not be had" in row["cache_note"]


def test_a_kernel_too_large_to_be_checked_is_timed_and_told(bench: Bench) -> None:
    row = bench("add", gpu=FakeGpu(memory=110_000))["add"]
    assert (row["status"], row["correct"]) == ("ok", None)
    assert row["median_s"] == pytest.approx(50e-6, rel=0.01)
    assert row["correct_reason"] == "not checked: copies of its arguments do not fit into memory"


def test_lines_that_stay_in_l2_are_reset_before_each_call(bench: Bench) -> None:
    row = bench("marks_lines_to_stay")["marks_lines_to_stay"]
    assert row["median_s"] == pytest.approx(20e-6, rel=0.01)
    assert "made ordinary ones before each call" in row["notes"][0]
    warm = bench("marks_lines_to_stay", "--cache", "warm")["marks_lines_to_stay"]
    assert warm["notes"] == []
    assert warm["median_s"] == pytest.approx(10e-6, rel=0.01)


def test_a_kernel_that_marks_no_lines_is_not_said_to(bench: Bench) -> None:
    row = bench("marks_nothing")["marks_nothing"]
    assert row["median_s"] == pytest.approx(20e-6, rel=0.01)
    assert row["notes"] == []


def test_launch_bound(bench: Bench) -> None:
    row = bench("tiny")["tiny"]
    assert row["launch_bound"] is True
    assert row["host_s"] > row["median_s"]


def test_a_call_that_waits_is_timed_and_told(bench: Bench) -> None:
    row = bench("waits")["waits"]
    assert row["median_s"] >= 50e-6
    assert "waits for the GPU" in row["notes"][0]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("on_another_stream", "wrong", "no work was seen on its stream"),
        ("half_on_another_stream", "wrong", "calls back to back take"),
        ("impossible", "impossible", "above DRAM's peak"),
        ("crashes", "crashed", "illegal memory access"),
        ("hangs", "hung", "said nothing for 5 s"),
        ("leaks", "failed", "out of memory"),
    ],
)
def test_tricks_and_mishaps_on_a_gpu(bench: Bench, name: str, status: str, words: str) -> None:
    row = bench(name)[name]
    assert row["status"] == status
    assert words in row["reason"]


def test_what_a_crash_leaves_behind_does_not_reach_the_next(bench: Bench) -> None:
    rows = bench("crashes", "leaks", "after_all_of_that")
    assert [row["status"] for row in rows.values()] == ["crashed", "failed", "ok"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("misses_a_kernel_in_graphs", "a graph of it misses some of its work"),
        ("on_another_stream", "no graph can be made of it"),
    ],
)
def test_a_graph_that_lacks_work_fails(bench: Bench, name: str, words: str) -> None:
    row = bench(name, "--timer", "graph")[name]
    assert row["status"] == "failed"
    assert words in row["reason"]


def test_a_reference_elsewhere_gives_no_speedup(bench: Bench) -> None:
    row = bench("on_its_named_stream")["on_its_named_stream"]
    assert row["speedup"] is None
    assert "reference works on another stream" in row["notes"][0]


def test_slow_clocks_are_flagged_and_never_dropped(bench: Bench) -> None:
    hot = FakeGpu(nvml={"nvmlDeviceGetCurrentClocksThrottleReasons": str(0x40)})
    row = bench("add", "--time-limit", "0.3s", gpu=hot)["add"]
    assert row["status"] == "ok"
    assert len(row["throttled"]) > len(row["samples_s"]) / 2
    assert row["median_s"] == pytest.approx(50e-6, rel=0.01)


def test_energy_is_of_one_call(bench: Bench) -> None:
    counted = FakeGpu(nvml={"nvmlDeviceGetTotalEnergyConsumption": "200"})
    joules = bench("add", "--energy", gpu=counted)["add"]["energy_j"]
    assert joules == pytest.approx(200 * 50e-6, rel=0.5), "200 W for 50 µs, and what is between"
    assert bench("add", "--energy")["add"]["energy_j"] is None


@pytest.mark.parametrize(
    ("name", "seconds"), [("add", 50e-6), ("tiny", 1.5e-6), ("two_kernels", 30e-6)]
)
def test_cupti_reads_the_same(bench: Bench, name: str, seconds: float) -> None:
    row = bench(name, "--timer", "cupti", cupti=True)[name]
    assert (row["status"], row["engine"], row["overhead_s"]) == ("ok", "cupti", 0)
    assert row["median_s"] == pytest.approx(seconds, rel=1e-6)
    assert row["cache_state"] == "cold"
    assert row["notes"] == [], "events agree"


@pytest.mark.parametrize(("name", "engine"), [("tiny", "cupti"), ("add", "events")])
def test_where_cupti_is_it_times_the_short_ones(bench: Bench, name: str, engine: str) -> None:
    row = bench(name, cupti=True)[name]
    assert (row["status"], row["engine"], row["notes"]) == ("ok", engine, [])


def test_cupti_sees_that_nothing_was_done_on_the_stream(bench: Bench) -> None:
    """Work of another stream lies between the marks, too: the parent's clock cannot be fooled."""
    row = bench("half_on_another_stream", cupti=True)["half_on_another_stream"]
    assert row["median_s"] > 1e-3 or row["status"] == "wrong"


def test_cupti_is_asked_for_and_missing(bench: Bench) -> None:
    row = bench("add", "--timer", "cupti")["add"]
    assert row["status"] == "failed"
    assert "cupti-python" in row["reason"]


def test_the_device_may_be_named_by_its_uuid(bench: Bench) -> None:
    assert bench("add", "-d", FakeGpu().uuid)["add"]["status"] == "ok"


def test_a_rival_on_the_gpu(bench: Bench) -> None:
    row = bench("add", "--against", str(FILE))["add"]
    assert len(row["rival_samples_s"]) == len(row["samples_s"])
