"""The host's clock: for functions of the CPU, and for what a call costs its caller."""

import math
import time
from collections.abc import Callable, Sequence

from kmeter.measure.engines import SHORTEST_S, Call, turns

_now = time.perf_counter_ns
"""Taken when kmeter is loaded: a file that replaces ``time.perf_counter_ns`` does not reach it."""
_LEAST_SAMPLE_S = 100e-6
"""Calls are repeated until a sample lasts so long: the clock itself takes up to 0.1 µs."""
_MOST_REPEATS = 10_000


class HostEngine:
    """Times calls by the monotonic clock; ``finish`` waits for what they left running."""

    name = "host"
    resolution_s = 1e-9

    def __init__(
        self, finish: Callable[[], object] | None = None, empty: Call | None = None
    ) -> None:
        """``empty`` is a call that does nothing, wrapped as the timed ones are."""
        self._finish = finish
        self._repeats: dict[int, int] = {}
        self._clock_s = min(self._once(_nothing, 0) for _ in range(200)) if not finish else 0.0
        empty = empty or _nothing
        loops = 1000
        self.overhead_s = max(
            0.0, min(self._once(empty, loops) - self._clock_s for _ in range(20)) / loops
        )

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call; short ones are repeated, and their mean is one sample."""
        taken: list[list[float]] = [[] for _ in calls]
        for number in range(rounds):
            for index, call in turns(calls, number):
                repeats = self._repeats.get(index) or self._repeats_of(index, call)
                seconds = (self._once(call, repeats) - self._clock_s) / repeats
                taken[index].append(max(SHORTEST_S, seconds - self.overhead_s))
        return taken

    def _repeats_of(self, index: int, call: Call) -> int:
        seconds = max(SHORTEST_S, min(self._once(call, 1) for _ in range(3)))
        self._repeats[index] = min(_MOST_REPEATS, max(1, math.ceil(_LEAST_SAMPLE_S / seconds)))
        return self._repeats[index]

    def _once(self, call: Call, repeats: int) -> float:
        if self._finish is not None:
            self._finish()
        start = _now()
        for _ in range(repeats):
            call()
        if self._finish is not None:
            self._finish()
        return (_now() - start) * 1e-9

    @property
    def calls_wait(self) -> bool:
        """It does not matter here."""
        return False

    def remarks(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """It holds nothing."""


def _nothing() -> None:
    """An empty call."""
