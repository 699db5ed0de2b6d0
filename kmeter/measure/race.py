"""Which variant of a kernel is fastest here: all are tried, the best measured in turn."""

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from kmeter.measure.clock import ClockReader
from kmeter.measure.gpu import Gpu, Launch
from kmeter.measure.plan import Options, fastest, launches_for

SAMPLE_S = 0.005
"""Long enough that two events and a launch are below 0.1 % of it."""
QUICK_SAMPLE_S = 0.002
BURST_S = 0.01
"""After a rest, where no launch goes ahead."""
PROBING_PASSES = 16
"""Enough to learn how long a pass of a kernel's loop takes."""


class Entrant(NamedTuple):
    """A variant: what it is called, how it is launched, what one launch does."""

    label: str
    launch: Launch
    work: float
    """Bytes or operations of one launch."""
    clock: ClockReader | None = None
    """Where the kernel tells its SM's clock."""
    lead: Launch | None = None
    """A short launch ahead of a burst; others are led by themselves."""


class Winner(NamedTuple):
    """The fastest variant and its rates, work per second."""

    entrant: Entrant
    rates: tuple[float, ...]
    sm_clock_hz: float | None
    """While the samples were taken; None where the kernel does not tell."""

    @property
    def rate(self) -> float:
        """The median."""
        return median(self.rates)


def race(
    gpu: Gpu,
    entrants: Sequence[Entrant],
    options: Options,
    tell: Callable[[str], None] = lambda _: None,
    *,
    rest_s: float = 0.0,
) -> Winner:
    """The fastest of the entrants, by the median of samples taken in turn.

    ``rest_s`` lies before each sample: a burst on a card that has cooled for a moment.
    """
    remaining = heat(gpu, entrants, options.finalists * 4, rest_s=rest_s)
    finalists = heat(gpu, remaining, options.finalists, launches=3, rest_s=rest_s)
    return _final(gpu, finalists, options, tell, rest_s)


def heat(
    gpu: Gpu, entrants: Sequence[Entrant], count: int, *, launches: int = 1, rest_s: float = 0.0
) -> list[Entrant]:
    """The ``count`` entrants that are fastest over a few launches behind a warm one."""
    if len(entrants) <= count:
        return list(entrants)
    return ranked(gpu, entrants, launches=launches, rest_s=rest_s)[:count]


def ranked(
    gpu: Gpu, entrants: Sequence[Entrant], *, launches: int = 1, rest_s: float = 0.0
) -> list[Entrant]:
    """All entrants, the fastest over a few launches first."""
    for entrant in entrants[:1]:
        entrant.launch()
    times = []
    for entrant in entrants:
        time.sleep(rest_s)
        times.append(
            gpu.seconds(entrant.launch, launches, lead=_lead(entrant, rest_s)) / entrant.work
        )
    return [entrants[i] for i in fastest(times, len(entrants))]


def _final(
    gpu: Gpu,
    finalists: Sequence[Entrant],
    options: Options,
    tell: Callable[[str], None],
    rest_s: float,
) -> Winner:
    sample_s = BURST_S if rest_s else QUICK_SAMPLE_S if options.quick else SAMPLE_S
    times = [_launches(gpu, entrant, sample_s) for entrant in finalists]
    rates: list[list[float]] = [[] for _ in finalists]
    for turn in range(options.samples):
        for i, entrant in _alternating(finalists, turn):
            time.sleep(rest_s)
            seconds = gpu.seconds(entrant.launch, times[i], lead=_lead(entrant, rest_s))
            rates[i].append(entrant.work / seconds)
        tell(f"{turn + 1} of {options.samples} samples")
    best = max(range(len(finalists)), key=lambda i: median(rates[i]))
    clock = finalists[best].clock
    return Winner(finalists[best], tuple(rates[best]), clock.hz if clock else None)


def _lead(entrant: Entrant, rest_s: float) -> Launch | None:
    """What goes ahead untimed: a GPU that was idle takes some tens of microseconds to speed up."""
    return entrant.lead if rest_s else entrant.launch


def _launches(gpu: Gpu, entrant: Entrant, sample_s: float) -> int:
    """How many launches fill a sample; what was before is forgotten by the clock."""
    entrant.launch()
    times = launches_for(gpu.seconds(entrant.launch), sample_s)
    if entrant.clock:
        entrant.clock.reset()
    return times


def _alternating(finalists: Sequence[Entrant], turn: int) -> Iterator[tuple[int, Entrant]]:
    """There and back, so that none is always the one that follows another."""
    order = list(enumerate(finalists))
    return iter(order if turn % 2 == 0 else order[::-1])


def passes_lasting(gpu: Gpu, seconds: float, launch: Callable[[int], None]) -> int:
    """How many passes of its loop keep a kernel busy so long; ``launch`` takes the passes."""
    launch(PROBING_PASSES)
    once = gpu.seconds(lambda: launch(PROBING_PASSES))
    # What a launch costs beside its passes makes this too few rather than too many.
    some = max(1, round(PROBING_PASSES * seconds / once))
    if some <= PROBING_PASSES:
        return some
    return max(1, round(some * seconds / gpu.seconds(lambda: launch(some))))
