"""Two runs beside each other: verdicts, the gate, and what may not be compared."""

import random
from dataclasses import replace
from typing import Any

import pytest

from kmeter.model.benchmark import BenchRun, CacheState, Environment, Outcome, Row
from kmeter.model.run_comparison import (
    against_rivals,
    compare_runs,
    other_card,
    refused,
    undecided,
)

CARD = Environment(gpu_name="NVIDIA H200", gpu_uuid="GPU-1")


def row(name: str, middle: float = 1e-4, **changes: Any) -> Row:
    source = random.Random(name + str(middle))
    samples = tuple(middle * source.lognormvariate(0, 0.005) for _ in range(60))
    plain = Row(name, samples_s=samples, engine="events", cache_state=CacheState.COLD)
    return replace(plain, **changes)


def run(*rows: Row) -> BenchRun:
    return BenchRun(CARD, "2026-12-01T00:00:00+00:00", rows)


OLD = run(row("a"), row("b"), row("c"), row("gone"))
NEW = run(
    row("a", 1.2e-4), row("b", 0.8e-4), row("c", outcome=Outcome.WRONG, reason="off"), row("new")
)


def test_every_benchmark_of_either_run_has_a_word() -> None:
    words = {item.label: item.word for item in compare_runs(OLD, NEW)}
    assert words == {"a": "slower", "b": "faster", "c": "wrong", "new": "new", "gone": "missing"}


def test_the_gate_refuses_slower_wrong_and_missing() -> None:
    found = refused(compare_runs(OLD, NEW), 0.05)
    assert found == ["a is slower (+19.9 %)", "c is wrong", "gone is missing"]
    assert refused(compare_runs(OLD, NEW), 0.3) == ["c is wrong", "gone is missing"]


def test_a_part_of_the_file_misses_nothing() -> None:
    labels = [item.label for item in compare_runs(OLD, run(row("a")), is_whole=False)]
    assert labels == ["a"]


def test_wrong_though_faster_is_refused() -> None:
    new = run(row("a", 0.5e-4, outcome=Outcome.WRONG, reason="off"))
    assert refused(compare_runs(run(row("a")), new), 0.05) == ["a is wrong"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"engine": "graph"}, "timed by events then, graph now"),
        ({"cache_state": CacheState.WARM}, "L2 cold then, warm now"),
        ({"bytes_per_call": 8.0}, ""),
    ],
)
def test_other_conditions_are_not_compared(change: dict[str, Any], reason: str) -> None:
    (found,) = compare_runs(run(row("a")), run(row("a", 1.3e-4, **change)))
    assert found.change.reason == reason
    assert found.word == ("cannot tell" if reason else "slower")


def test_two_processes_on_a_cpu_differ_by_more() -> None:
    old, new = row("a", engine="host"), row("a", 1.03e-4, engine="host")
    assert compare_runs(run(old), run(new))[0].word == "same"
    assert compare_runs(run(row("a")), run(row("a", 1.03e-4)))[0].word == "slower"


def test_other_work_is_not_compared() -> None:
    old, new = row("a", bytes_per_call=8.0), row("a", bytes_per_call=16.0)
    (found,) = compare_runs(run(old), run(new))
    assert "bytes per call 8.0 then, 16.0 now" in found.change.reason
    assert undecided([found]) == ["a"]


def test_a_baseline_that_failed_tells_nothing() -> None:
    old = row("a", outcome=Outcome.CRASHED, reason="illegal memory access")
    (found,) = compare_runs(run(old), run(row("a")))
    assert found.word == "cannot tell"
    assert found.change.reason == "the baseline: illegal memory access"


def test_rivals_are_compared_in_pairs() -> None:
    one = row("a", rival_samples_s=row("a", 0.9e-4).samples_s)
    alone, failed = row("b"), row("c", outcome=Outcome.FAILED, reason="boom", samples_s=())
    words = {item.label: item.word for item in against_rivals(run(one, alone, failed))}
    assert words == {"a": "slower", "b": "new", "c": "failed"}


def test_other_cards() -> None:
    assert other_card(CARD, CARD) == ""
    assert "another card" in other_card(CARD, replace(CARD, gpu_uuid="GPU-2"))
    assert "NVIDIA H200 then, no GPU now" in other_card(CARD, Environment())
    assert other_card(CARD, replace(CARD, gpu_uuid=None)) == ""
    one, other = Environment(host_processor="Xeon"), Environment(host_processor="EPYC")
    assert other_card(one, other) == "Xeon then, EPYC now"
    assert other_card(one, one) == ""
