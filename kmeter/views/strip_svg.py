"""The samples of a benchmark as a strip: across their seconds, downwards as they came."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kmeter.model.benchmark import Row
from kmeter.model.samples import quantile
from kmeter.units import MOST, UNKNOWN, si
from kmeter.views.markup import tag
from kmeter.views.strip_frame import HEIGHT, across, dots, evenly, strip_figure, tick, upright

MOST_SAMPLES = 400
"""Samples that one drawing shows."""


def interval_text(row: Row) -> str:
    """``49.5 µs to 50.1 µs``: the median's 95 % interval; a dash where there is none."""
    interval = row.times.interval if row.times else None
    if interval is None:
        return UNKNOWN
    return f"{si(interval.low, 's')} to {si(interval.high, 's')}"


def samples_figure(row: Row) -> str:
    """A ``figure`` of a row's samples, or a paragraph where there are none."""
    held = set(row.throttled)
    samples = [
        _Sample(place, seconds, place in held)
        for place, seconds in enumerate(row.samples_s)
        if abs(seconds) <= MOST
    ]
    return _Strip(row, samples).figure() if samples else tag("p", "There are no samples.")


class _Sample(NamedTuple):
    """One time, where it came in the series, and whether the card held its clock down."""

    place: int
    seconds: float
    held: bool


def _thinned(samples: Sequence[_Sample], most: int = MOST_SAMPLES) -> list[_Sample]:
    """At most ``most``, evenly taken; throttled ones keep their share, and never vanish."""
    if len(samples) <= most:
        return list(samples)
    held = [sample for sample in samples if sample.held]
    free = [sample for sample in samples if not sample.held]
    room = math.ceil(most * len(held) / len(samples))
    return sorted(evenly(held, room) + evenly(free, most - room))


_REACH = 3
"""How many times the spread of the samples is drawn on each side of their median."""


class _Strip:
    """Samples over time: across the seconds they took, downwards the order they came in."""

    def __init__(self, row: Row, samples: Sequence[_Sample]) -> None:
        self.row, self.samples, self.shown = row, samples, _thinned(samples)
        self.low, self.high = _window([sample.seconds for sample in samples])

    def figure(self) -> str:
        title = f"Samples of {self.row.label}"
        parts = [*self._ticks(), *self._middle(), *self._marks()]
        return strip_figure(title, parts, self._caption())

    def _across(self, seconds: float) -> float:
        return across(seconds, self.low, self.high)

    def _at(self, sample: _Sample) -> tuple[float, float]:
        share = (sample.place + 0.5) / len(self.row.samples_s)
        return self._across(sample.seconds), 6 + share * (HEIGHT - 12)

    def _ticks(self) -> Iterator[str]:
        ends = [(self.low, "start"), (self.high, "end")]
        if self.high <= self.low:
            ends = [(self.low, "middle")]
        for seconds, anchor in ends:
            yield tick(self._across(seconds), si(seconds, "s"), anchor)

    def _middle(self) -> Iterator[str]:
        times = self.row.times
        if times and times.interval and all(map(math.isfinite, times.interval)):
            left, right = map(self._across, times.interval)
            yield (
                f'<rect class="sure" fill="gray" fill-opacity=".22" x="{left:.1f}" y="1" width="{max(1.0, right - left):.1f}" '
                f'height="{HEIGHT - 2}"/>'
            )
        if times and math.isfinite(times.median):
            yield upright("middle", self._across(times.median))

    def _marks(self) -> Iterator[str]:
        free = [self._at(sample) for sample in self.shown if not sample.held]
        held = [self._at(sample) for sample in self.shown if sample.held]
        if free:
            yield dots(free)
        if held:
            crosses = "".join(f"M{x - 3:.1f} {y - 3:.1f}l6 6m0-6l-6 6" for x, y in held)
            yield f'<path class="held" fill="none" stroke="gray" d="{crosses}"/>'

    def _caption(self) -> str:
        text = "; ".join([*self._counts(), *self._figures()])
        return f"{text}. From top to bottom: in the order they were taken."

    def _counts(self) -> Iterator[str]:
        held = sum(sample.held for sample in self.samples)
        beyond = sum(not self.low <= sample.seconds <= self.high for sample in self.samples)
        lost = len(self.row.samples_s) - len(self.samples)
        yield _counted(len(self.row.samples_s))
        if len(self.shown) < len(self.samples):
            yield f"{len(self.shown)} are drawn"
        if held:
            yield f"crosses: the clock was held down ({held} in all)"
        if beyond:
            yield f"beyond the edges: {beyond}"
        if lost:
            yield f"{lost} without a finite time"

    def _figures(self) -> Iterator[str]:
        yield f"line: median {si(self.row.median_s, 's')}"
        if self.row.times and self.row.times.interval:
            yield f"band: its 95 % interval, {interval_text(self.row)}"


def _counted(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def _window(seconds: Sequence[float]) -> tuple[float, float]:
    """The times that are drawn: all but those so far off that the others would share a spot."""
    ordered = sorted(seconds)
    middle = quantile(ordered, 0.5)
    reach = _REACH * (quantile(ordered, 0.95) - quantile(ordered, 0.05))
    if reach <= 0:
        return ordered[0], ordered[-1]
    return max(ordered[0], middle - reach), min(ordered[-1], middle + reach)
