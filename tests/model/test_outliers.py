"""The spread of a group: what half of its members say."""

import random
from statistics import NormalDist

import pytest

from kmeter.model.outliers import spread_of


def test_like_members_may_fall_short_by_3_percent() -> None:
    assert spread_of([1.0, 1.0, 1.0, 0.4]) == (0.0, 0.03)


def test_the_margin_grows_with_the_noise() -> None:
    spread = spread_of([0.96, 0.98, 1.0, 1.02, 1.04])
    assert spread.mad == pytest.approx(0.02 * 1.4826)
    assert spread.margin == pytest.approx(5 * 0.02 * 1.4826)


def test_mad_is_the_standard_deviation_of_normal_noise() -> None:
    noise = random.Random(3)
    spread = spread_of([noise.gauss(1, 0.02) for _ in range(20_000)])
    assert spread.mad == pytest.approx(0.02, rel=0.03)
    assert NormalDist().cdf(-spread.margin / 0.02) < 1e-6


def test_less_than_half_of_the_members_cannot_move_it_far() -> None:
    calm = spread_of([1.0 + 0.001 * n for n in range(-10, 11)])
    disturbed = spread_of([1.0 + 0.001 * n for n in range(-10, 1)] + [0.2] * 10)
    assert disturbed.mad < 4 * calm.mad


def test_it_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    noise = random.Random(5)
    values = [noise.gauss(1, 0.01) for _ in range(301)]
    middle = sorted(values)[150]
    shares = [value / middle for value in values]
    wanted = stats.median_abs_deviation(shares, scale="normal")
    assert spread_of(shares).mad == pytest.approx(float(wanted), rel=1e-4)
