"""The median, its interval and the spread, beside what scipy and simulation say."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kmeter.model.samples import (
    autocorrelation,
    median_interval,
    quantile,
    summary,
)

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=200)


@given(TIMES)
def test_a_summary_agrees_with_the_standard_library(samples: list[float]) -> None:
    found = summary(samples)
    assert found is not None
    assert found.median == pytest.approx(statistics.median(samples))
    assert found.mean == pytest.approx(statistics.fmean(samples))
    assert (found.least, found.most, found.size) == (min(samples), max(samples), len(samples))
    assert found.least <= found.p5 <= found.median <= found.p95 <= found.most


@given(TIMES.filter(lambda samples: len(samples) >= 6))
def test_the_median_lies_in_its_interval(samples: list[float]) -> None:
    found = median_interval(samples)
    assert found is not None
    assert found.low <= statistics.median(samples) <= found.high


def test_of_nothing_there_is_no_summary() -> None:
    assert summary([]) is None


@pytest.mark.parametrize("size", range(1, 6))
def test_below_six_samples_there_is_no_interval(size: int) -> None:
    assert median_interval([1.0] * size) is None


@pytest.mark.parametrize("size", [*range(6, 30), 50, 70, 71, 100, 250])
def test_the_interval_is_the_binomial_one(size: int) -> None:
    """The ranks that leave at most 2.5 % on either side, as scipy's binomial has them."""
    ordered = [float(n) for n in range(size)]
    found = median_interval(ordered)
    assert found is not None
    rank = int(found.low)
    assert stats.binom.cdf(rank, size, 0.5) <= 0.0255
    assert stats.binom.cdf(rank + 1, size, 0.5) > 0.0245
    assert found.high == size - 1 - rank


def test_the_interval_holds_the_true_median_in_95_of_100_cases() -> None:
    source = random.Random(1)
    held = 0
    for _ in range(2000):
        found = median_interval([source.lognormvariate(0, 0.5) for _ in range(40)])
        assert found is not None
        held += found.low <= 1.0 <= found.high
    assert held / 2000 == pytest.approx(0.96, abs=0.015)


def test_precision_is_half_of_the_interval() -> None:
    found = summary([1.0] * 20 + [1.1] * 20)
    assert found is not None
    assert found.interval is not None
    assert found.precision == pytest.approx(0.05 / found.median)


def test_a_quantile_lies_between_two_values() -> None:
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([5.0], 0.3) == 5.0


def test_autocorrelation_of_a_drift_is_high_and_of_noise_low() -> None:
    source = random.Random(2)
    assert autocorrelation([float(n) for n in range(100)]) > 0.9
    assert abs(autocorrelation([source.random() for _ in range(1000)])) < 0.1
    assert autocorrelation([1.0, 1.0]) == 0.0
    assert autocorrelation([2.0] * 10) == 0.0
