"""Taking samples until they suffice: kernel and reference in turns, throttled ones once more."""

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kmeter.measure.engines import Call, Engine
from kmeter.measure.stopping import StopRule
from kmeter.measure.telemetry import Glimpse, slowed

_now = time.monotonic
"""Taken when kmeter is loaded: what a benchmark's file replaces does not reach it."""
Tell = Callable[[Sequence[float]], None]


class Batch(NamedTuple):
    """Samples that were taken together."""

    first: int
    end: int
    began_s: float
    ended_s: float


@dataclass
class Taken:
    """Samples of each call, in the order they were taken."""

    samples: list[list[float]]
    batches: list[Batch] = field(default_factory=list)
    stopped_by: str = ""
    throttled: tuple[int, ...] = ()
    seconds: float = 0.0


def take(
    engine: Engine,
    calls: Sequence[Call],
    rule: StopRule,
    glimpses: Callable[[], list[Glimpse]],
    tell: Tell,
) -> Taken:
    """Sample the calls until the first one's median satisfies the rule, or time or count is up.

    Where the card was slowed down, as many samples are taken anew, in at most the same time again.
    """
    taken = Taken([[] for _ in calls])
    start = _now()
    while not taken.stopped_by:
        elapsed = _now() - start
        _batch(engine, calls, taken, rule.next_rounds(taken.samples[0], elapsed))
        tell(taken.samples[0])
        taken.stopped_by = rule.met(taken.samples[0], _now() - start)
    taken.throttled = throttled_samples(taken.batches, glimpses())
    again, limit = len(taken.throttled), _now() + rule.time_limit_s
    while again > 0 and _now() < limit:
        rounds = min(again, 64)
        _batch(engine, calls, taken, rounds)
        again -= rounds
        taken.throttled = throttled_samples(taken.batches, glimpses())
    taken.seconds = _now() - start
    return taken


def _batch(engine: Engine, calls: Sequence[Call], taken: Taken, rounds: int) -> None:
    first, began = len(taken.samples[0]), _now()
    for index, seconds in enumerate(engine.sample(calls, rounds)):
        taken.samples[index] += seconds
    taken.batches.append(Batch(first, len(taken.samples[0]), began, _now()))


def throttled_samples(batches: Sequence[Batch], glimpses: Sequence[Glimpse]) -> tuple[int, ...]:
    """Indices of samples in whose batch the card was slowed down: when it began, or meanwhile."""
    slow = {glimpse.at_s for glimpse in slowed(list(glimpses))}
    moments = sorted(glimpse.at_s for glimpse in glimpses)
    return tuple(
        index
        for batch in batches
        if slow.intersection(_during(batch, moments))
        for index in range(batch.first, batch.end)
    )


def _during(batch: Batch, moments: Sequence[float]) -> Sequence[float]:
    """The moments within a batch, and the one before it."""
    first = bisect_right(moments, batch.began_s)
    return moments[max(0, first - 1) : bisect_right(moments, batch.ended_s)]
