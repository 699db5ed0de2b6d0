"""Did it become faster? Two series of times, one verdict, and how sure it is.

The ratio is Hodges and Lehmann's: the middle of all ratios of a new to an old time. Its interval
comes from the Mann-Whitney rank test, so that no distribution is assumed (Hollander, Wolfe,
Chicken, "Nonparametric Statistical Methods", 3rd ed., 4.2 and 4.3).
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from kmeter.model.samples import Interval, autocorrelation, median_interval, quantile

_Z = 1.959964
_FEWEST = 6
"""Samples on either side below which 95 % cannot be reached."""
_ENOUGH = 400
"""Samples whose pairs are all compared; a longer series is represented by its quantiles."""
NOTABLE = 0.02
"""Two runs of the very same kernel differ by up to that much: where its data lies, how warm the card is.
So do eleven kernels in eight runs on an H200, tests/data/bench/h200-runs.json.
"""
NOTABLE_ON_HOST = 0.05
"""Two processes on a CPU differ by more: pages, caches and neighbours are other ones each time."""


class Verdict(StrEnum):
    """What two series of times say about each other."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    CANNOT_TELL = "cannot tell"


class Change(NamedTuple):
    """New over old: below 1 is faster."""

    verdict: Verdict
    ratio: float | None
    interval: Interval | None
    reason: str = ""
    """Why nobody can tell."""

    def is_slower_by(self, fraction: float) -> bool:
        """Surely slower, and by at least that much."""
        slower = self.verdict is Verdict.SLOWER and self.ratio is not None
        return slower and (self.ratio or 0.0) >= 1 + fraction


def change(old: Sequence[float], new: Sequence[float], notable: float = NOTABLE) -> Change:
    """Compare two series of times that were taken apart from each other, seconds above 0.

    ``notable`` is the least change that is one: smaller ones are "same".
    """
    if min(len(old), len(new)) < _FEWEST:
        short = "old" if len(old) < len(new) else "new"
        if min(len(old), len(new)) == 1:
            return _unknown(f"the {short} run holds one figure, and not the samples behind it")
        return _unknown(f"the {short} run has {min(len(old), len(new))} samples, {_FEWEST} needed")
    first, second = _logs(old), _logs(new)
    shifts = sorted(b - a for a in first for b in second)
    stretch = math.sqrt(_dependence(old) * len(first) + _dependence(new) * len(second))
    stretch /= math.sqrt(len(first) + len(second))
    reach = stretch * _Z * math.sqrt(len(shifts) * (len(first) + len(second) + 1) / 12)
    rank = max(0, min(math.floor(len(shifts) / 2 - reach), (len(shifts) - 1) // 2))
    interval = Interval(math.exp(shifts[rank]), math.exp(shifts[-1 - rank]))
    return _judged(math.exp(quantile(shifts, 0.5)), interval, notable)


def paired_change(old: Sequence[float], new: Sequence[float], notable: float = NOTABLE) -> Change:
    """Compare two series that were taken in turns: the n-th of one belongs to the n-th of the other."""
    ratios = [b / a for a, b in zip(old, new, strict=False)]
    interval = median_interval(ratios)
    if interval is None:
        return _unknown(f"{len(ratios)} pairs of samples, {_FEWEST} needed")
    return _judged(quantile(sorted(ratios), 0.5), interval, notable)


def _judged(ratio: float, interval: Interval, notable: float) -> Change:
    if 1 - notable <= interval.low and interval.high <= 1 + notable:
        return Change(Verdict.SAME, ratio, interval)
    if interval.low > 1 and ratio >= 1 + notable:
        return Change(Verdict.SLOWER, ratio, interval)
    if interval.high < 1 and ratio <= 1 - notable:
        return Change(Verdict.FASTER, ratio, interval)
    reason = "the interval reaches from no change to one worth a name: take more samples"
    return Change(Verdict.CANNOT_TELL, ratio, interval, reason)


def _unknown(reason: str) -> Change:
    return Change(Verdict.CANNOT_TELL, None, None, reason)


def _logs(samples: Sequence[float]) -> list[float]:
    """Logarithms, in which a ratio is a difference; of a long series its quantiles."""
    ordered = sorted(samples)
    if len(ordered) > _ENOUGH:
        ordered = [quantile(ordered, (n + 0.5) / _ENOUGH) for n in range(_ENOUGH)]
    return [math.log(sample) for sample in ordered]


def _dependence(samples: Sequence[float]) -> float:
    """How many samples count as one, where each resembles the one before by more than chance."""
    resemblance = min(0.95, autocorrelation(samples))
    by_chance = 2 / math.sqrt(len(samples))
    return (1 + resemblance) / (1 - resemblance) if resemblance > by_chance else 1.0
