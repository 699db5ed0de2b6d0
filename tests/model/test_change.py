"""Faster, slower, same or nobody can tell: against scipy, and in many runs of known truth."""

import json
import math
import random
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kmeter.model.change import Change, Verdict, change, paired_change

NOISE = 0.01
DATA = Path(__file__).parent.parent / "data"


def series(seed: int, middle: float = 1e-4, size: int = 100, noise: float = NOISE) -> list[float]:
    source = random.Random(seed)
    return [middle * source.lognormvariate(0, noise) for _ in range(size)]


def test_the_same_kernel_is_hardly_ever_slower() -> None:
    verdicts = [change(series(2 * n), series(2 * n + 1)).verdict for n in range(100)]
    assert verdicts.count(Verdict.SLOWER) <= 1
    assert verdicts.count(Verdict.FASTER) <= 1


def recorded_pairs() -> list[tuple[list[float], list[float]]]:
    """Two runs of one kernel by two processes on an H200, all pairs of them, both ways."""
    sets = json.loads((DATA / "bench" / "h200-runs.json").read_text())
    return [
        pair
        for recorded in sets
        for runs in recorded["samples_ns"].values()
        for pair in permutations(runs, 2)
    ]


def test_runs_of_one_kernel_on_a_card_are_never_slower() -> None:
    verdicts = [change(old, new).verdict for old, new in recorded_pairs()]
    assert len(verdicts) == 252
    assert verdicts.count(Verdict.SLOWER) == verdicts.count(Verdict.FASTER) == 0
    assert verdicts.count(Verdict.SAME) > 220


def test_three_percent_more_are_seen_in_runs_on_a_card() -> None:
    found = [change(old, [1.03 * ns for ns in new]) for old, new in recorded_pairs()]
    assert sum(item.verdict is Verdict.SLOWER for item in found) >= 0.95 * len(found)


def test_three_percent_in_one_percent_of_noise_are_seen() -> None:
    verdicts = [change(series(2 * n), series(2 * n + 1, 1.03e-4)).verdict for n in range(100)]
    assert verdicts.count(Verdict.SLOWER) >= 95


def test_three_percent_are_seen_in_thirty_samples_too() -> None:
    found = [change(series(2 * n, size=30), series(2 * n + 1, 1.03e-4, 30)) for n in range(100)]
    assert sum(item.verdict is Verdict.SLOWER for item in found) >= 95


def test_the_interval_holds_the_true_ratio() -> None:
    held = 0
    for n in range(300):
        found = change(series(2 * n), series(2 * n + 1, 1.02e-4))
        assert found.interval is not None
        held += found.interval.low <= 1.02 <= found.interval.high
    assert held >= 300 * 0.92


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_ends_where_mann_and_whitney_reject(seed: int) -> None:
    """A shift to either end of the interval is just as unlikely as 5 %, by scipy."""
    old, new = series(seed, size=60), series(seed + 100, 1.01e-4, 60)
    found = change(old, new)
    assert found.interval is not None
    logs = [math.log(sample) for sample in new]
    for end in found.interval:
        shifted = [sample - math.log(end) for sample in logs]
        p = stats.mannwhitneyu(shifted, [math.log(sample) for sample in old]).pvalue
        assert p == pytest.approx(0.05, abs=0.01)


def test_the_ratio_is_that_of_hodges_and_lehmann() -> None:
    old, new = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    ratios = sorted(b / a for a in old for b in new)
    found = change(old, new)
    assert found.ratio == pytest.approx(math.sqrt(ratios[17] * ratios[18]))


def test_a_drift_makes_the_interval_wider() -> None:
    noise = series(1, size=200)
    drifting = sorted(noise)
    still, moving = change(noise, series(2, size=200)), change(drifting, series(2, size=200))
    assert still.interval is not None
    assert moving.interval is not None
    width = moving.interval.high - moving.interval.low
    assert width > 2 * (still.interval.high - still.interval.low)


def test_a_change_of_half_a_percent_is_none() -> None:
    found = change(series(1, size=400), series(2, 1.004e-4, 400))
    assert found.verdict is Verdict.SAME


def test_few_samples_tell_nothing() -> None:
    found = change([1.0] * 5, [2.0] * 100)
    assert found.verdict is Verdict.CANNOT_TELL
    assert "the old run has 5 samples" in found.reason


def test_wide_noise_tells_nothing() -> None:
    found = change(series(1, size=10, noise=0.3), series(2, size=10, noise=0.3))
    assert found.verdict is Verdict.CANNOT_TELL
    assert "take more samples" in found.reason


def test_pairs_see_through_a_common_drift() -> None:
    drift = [1 + n / 50 for n in range(100)]
    old = [a * b for a, b in zip(series(1), drift, strict=True)]
    new = [a * b * 1.03 for a, b in zip(series(2), drift, strict=True)]
    found = paired_change(old, new)
    assert found.verdict is Verdict.SLOWER
    assert found.ratio == pytest.approx(1.03, abs=0.01)


def test_identical_series_are_the_same() -> None:
    assert change([1.0] * 50, [1.0] * 50).verdict is Verdict.SAME


def test_is_slower_by_needs_both_certainty_and_size() -> None:
    found = change(series(1), series(2, 1.03e-4))
    assert found.is_slower_by(0.02)
    assert not found.is_slower_by(0.05)
    assert not Change(Verdict.CANNOT_TELL, 1.5, None).is_slower_by(0.05)


@given(st.lists(st.floats(1e-9, 1e3), max_size=40), st.lists(st.floats(1e-9, 1e3), max_size=40))
def test_any_two_series_get_a_verdict(old: list[float], new: list[float]) -> None:
    for found in (change(old, new), paired_change(old, new)):
        assert found.verdict in Verdict
        if found.interval is not None:
            assert found.interval.low <= found.interval.high
