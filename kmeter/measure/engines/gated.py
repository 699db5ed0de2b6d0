"""What engines have in common that launch calls behind a gate, each after a flush."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Protocol

from kmeter.measure.engines import (
    GPU_TICK_S,
    PERSISTS,
    SHORTEST_S,
    WAITS,
    Call,
    in_turns,
)
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.kernels import Gate

_BEHIND_A_GATE = 16
"""Calls at a time: the driver's queue takes about a thousand launches."""
_LOOKS = 5
_FASTER, _FASTER_S = 0.05, 0.3e-6
"""By how much lines that stay must speed a call up to be seen: a share, and what a launch varies by."""


class GatedEngine(Protocol):
    """Samples in portions; how a portion is timed, an engine says itself."""

    overhead_s: float
    resolution_s: float = GPU_TICK_S
    _gate: Gate
    _flush: Flush

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call on the GPU; raises CudaError for what went wrong there."""
        taken: list[list[float]] = [[] for _ in calls]
        order = in_turns(calls, rounds)
        if self._flush.may_miss_lines:
            new = set(calls) - set(self._flush.marking)
            self._flush.marking |= {call: self._is_marking(call) for call in new}
        size = 1 if any(self._flush.marking.values()) else _BEHIND_A_GATE
        while order:
            self._flush.release_lines()
            for index, seconds in self._block(order[:size]):
                taken[index].append(max(SHORTEST_S, seconds - self.overhead_s))
            order = order[size:]
        return taken

    def _is_marking(self, call: Call) -> bool:
        """Whether a call is faster where its last one's lines may still be in L2."""
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for number in range(2 * _LOOKS):
            is_released = number % 2 == 0
            if is_released:
                self._flush.release_lines()
            seconds[is_released] += [taken for _, taken in self._block([(0, call)])]
        released, kept = median(seconds[True]), median(seconds[False])
        return released - kept > max(_FASTER * released, _FASTER_S)

    def _block(self, order: Sequence[tuple[int, Call]]) -> Iterable[tuple[int, float]]:
        """The seconds that each of these calls takes, by its index."""

    @property
    def calls_wait(self) -> bool:
        """Whether the gate had to open itself."""
        return self._gate.opened_itself

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the times should know."""
        return (WAITS,) * self.calls_wait + (PERSISTS,) * any(self._flush.marking.values())
