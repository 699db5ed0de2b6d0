"""The host's clock: for functions of the CPU, and for what a call costs its caller."""

import math
import time
from collections.abc import Callable, Sequence

from kmeter.measure.engines import Call

_now = time.perf_counter_ns
"""Taken when kmeter is loaded: a file that replaces ``time.perf_counter_ns`` does not reach it."""
_SHORTEST_S = 20e-6
"""Calls are repeated until a sample lasts so long: the clock itself takes up to 0.1 µs."""
_MOST_REPEATS = 10_000


class HostEngine:
    """Times calls by the monotonic clock; ``finish`` waits for what they left running."""

    name = "host"

    def __init__(self, finish: Callable[[], object] | None = None) -> None:
        self._finish = finish
        self._repeats: dict[int, int] = {}
        self.overhead_s = min(self._once(_nothing, 1) for _ in range(200)) if not finish else 0.0

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call; short ones are repeated, and their mean is one sample."""
        taken: list[list[float]] = [[] for _ in calls]
        for _ in range(rounds):
            for index, call in enumerate(calls):
                repeats = self._repeats.get(index) or self._repeats_of(index, call)
                seconds = self._once(call, repeats) - self.overhead_s
                taken[index].append(max(seconds, 1e-9) / repeats)
        return taken

    def _repeats_of(self, index: int, call: Call) -> int:
        seconds = max(1e-9, min(self._once(call, 1) for _ in range(3)))
        self._repeats[index] = min(_MOST_REPEATS, max(1, math.ceil(_SHORTEST_S / seconds)))
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

    def remarks(self) -> tuple[str, ...]:
        most = max(self._repeats.values(), default=1)
        return (f"each sample is the mean of {most} calls",) if most > 1 else ()

    def close(self) -> None:
        """It holds nothing."""


def _nothing() -> None:
    """An empty call."""
