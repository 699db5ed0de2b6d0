"""What a series of times says: its middle, its spread, and how sure the middle is.

The interval of the median comes from order statistics: it assumes no distribution, only that the
samples are independent (David, Nagaraja, "Order Statistics", 3rd ed., 7.1).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_EXACT_UP_TO = 70
"""Samples up to which the binomial is summed; above, its normal limit differs by no rank."""
CONFIDENCE = 0.95
_Z = 1.959964
"""The normal quantile of ``CONFIDENCE``."""


class Interval(NamedTuple):
    """A range that holds the true value with 95 % confidence."""

    low: float
    high: float


class Summary(NamedTuple):
    """A series of times in seconds, or of ratios."""

    size: int
    """How many."""
    median: float
    mean: float
    least: float
    most: float
    p5: float
    p95: float
    interval: Interval | None
    """Of the median; None below 6 samples, which cannot give one."""

    @property
    def spread(self) -> float | None:
        """From the 5th to the 95th percentile, over the median."""
        return (self.p95 - self.p5) / self.median if self.median > 0 else None

    @property
    def precision(self) -> float | None:
        """Half of the median's interval over the median; None where there is no interval."""
        if self.interval is None or self.median <= 0:
            return None
        return (self.interval.high - self.interval.low) / 2 / self.median


def summary(samples: Sequence[float]) -> Summary | None:
    """The samples summed up; None of nothing."""
    if not samples:
        return None
    ordered = sorted(samples)
    return Summary(
        size=len(ordered),
        median=quantile(ordered, 0.5),
        mean=math.fsum(ordered) / len(ordered),
        least=ordered[0],
        most=ordered[-1],
        p5=quantile(ordered, 0.05),
        p95=quantile(ordered, 0.95),
        interval=_interval(ordered),
    )


def evenly_chosen(ordered: Sequence[float], most: int) -> tuple[float, ...]:
    """At most so many of ordered samples, the first and the last among them."""
    if len(ordered) <= most:
        return tuple(ordered)
    last = len(ordered) - 1
    return tuple(ordered[round(index * last / (most - 1))] for index in range(most))


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """The value below which ``fraction`` of sorted values lie, linear between two of them."""
    place = (len(ordered) - 1) * fraction
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    return low + (high - low) * (place - below)


def median_interval(samples: Sequence[float]) -> Interval | None:
    """The 95 % interval of the median; None below 6 samples."""
    return _interval(sorted(samples))


def _interval(ordered: Sequence[float]) -> Interval | None:
    rank = _lower_rank(len(ordered))
    return None if rank is None else Interval(ordered[rank], ordered[-1 - rank])


def _lower_rank(count: int) -> int | None:
    """How many samples at each end lie outside of the interval."""
    if count > _EXACT_UP_TO:
        return math.floor((count - _Z * math.sqrt(count) - 1) / 2)
    outside, rank, tail = (1 - CONFIDENCE) / 2, -1, 0.0
    while True:
        tail += math.comb(count, rank + 1) / 2**count
        if tail > outside:
            return None if rank < 0 else rank
        rank += 1


def autocorrelation(samples: Sequence[float]) -> float:
    """How much a sample tells about the next one, from -1 to 1; 0 for fewer than 3."""
    if len(samples) < 3:
        return 0.0
    mean = math.fsum(samples) / len(samples)
    off = [sample - mean for sample in samples]
    variance = math.fsum(x * x for x in off)
    return math.fsum(a * b for a, b in pairwise(off)) / variance if variance > 0 else 0.0
