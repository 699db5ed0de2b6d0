"""Calls back to back, on the parent's clock: a lap; and what a call costs its caller."""

import time
from collections.abc import Callable, Sequence

from kmeter.bench.events import Event, Lap
from kmeter.bench.referee import is_explained
from kmeter.bench.workbench import Workbench
from kmeter.measure.engines import SHORTEST_S
from kmeter.measure.telemetry import Sampler
from kmeter.model.samples import quantile

_now = time.perf_counter
"""Taken when kmeter is loaded: what a benchmark's file replaces does not reach it."""
_LAUNCHES_TIMED = 10
_LAPS, _MOST_LAPS, _LAP_S = 5, 50, 0.005
"""Laps of a row; more where they take longer than they should, until one does not."""
_ENERGY_LAP_S = 1.0
_MOST_LAP_CALLS = 100_000


class Laps:
    """Runs laps of one call and tells the parent where each begins and ends."""

    def __init__(
        self, label: str, bench: Workbench, sampler: Sampler, emit: Callable[[Event], None]
    ) -> None:
        self._label, self._bench = label, bench
        self._sampler, self._emit = sampler, emit

    def launch_s(self, call: Callable[[], object]) -> float:
        """How long a call keeps the host, with an idle GPU before each."""
        seconds = []
        for _ in range(_LAUNCHES_TIMED):
            self._bench.settle()
            start = _now()
            call()
            seconds.append(_now() - start)
        self._bench.settle()
        return _middle(seconds)

    def run(
        self,
        call: Callable[[], object],
        samples: Sequence[float],
        host_s: float | None,
        sampled: Callable[[], Sequence[float]],
    ) -> None:
        """Calls back to back while the parent's clock runs, until a lap is as long as it should be.

        ``sampled`` takes a few more samples: where laps are too long, the machine may have become
        busy since the first ones were taken.
        """
        median_s = _middle(samples)
        expected_s = max(median_s, host_s or 0.0, SHORTEST_S)
        for number in range(_MOST_LAPS):
            around_s = _middle(sampled()) if number >= _LAPS else 0.0
            made, seconds = self._lap(call, expected_s, _LAP_S, around_s)
            is_fine = is_explained(seconds / made, max(median_s, around_s), host_s)
            if number + 1 >= _LAPS and is_fine:
                return

    def energy_j(self, call: Callable[[], object], expected_s: float) -> float | None:
        """Joules of one call, from a second of them; None where the card does not count them."""
        before = self._sampler.energy_j()
        made, _ = self._lap(call, max(expected_s, SHORTEST_S), _ENERGY_LAP_S)
        after = self._sampler.energy_j()
        return None if before is None or after is None else (after - before) / made

    def _lap(
        self, call: Callable[[], object], expected_s: float, lap_s: float, around_s: float = 0.0
    ) -> tuple[int, float]:
        """One lap of about that length: how many calls were made, in how many seconds."""
        count = max(1, min(_MOST_LAP_CALLS, round(lap_s / expected_s)))
        self._bench.settle()
        self._emit(Lap(self._label, 0))
        start = _now()
        made = self._made(call, count, lap_s)
        seconds = _now() - start
        self._emit(Lap(self._label, made, seconds, around_s))
        return made, seconds

    def _made(self, call: Callable[[], object], count: int, lap_s: float) -> int:
        """Make that many calls, or as many as fit twice the time; how many it were.

        The device is waited for after 1, 2, 4, … of them: what they leave on other streams must not
        pile up unseen.
        """
        made, portion, start = 0, 1, _now()
        while made < count and _now() - start < 2 * lap_s:
            portion = min(portion, count - made)
            for _ in range(portion):
                call()
            self._bench.settle()
            made, portion = made + portion, 2 * portion
        return made


def _middle(samples: Sequence[float]) -> float:
    return quantile(sorted(samples), 0.5)
