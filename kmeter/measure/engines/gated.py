"""What engines have in common that launch calls behind a gate, each after a flush."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from kmeter.measure.engines import PERSISTS, SHORTEST_S, WAITS, Call, in_turns
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.kernels import Gate

_BEHIND_A_GATE = 16
"""Calls at a time: the driver's queue takes about a thousand launches."""


class GatedEngine(Protocol):
    """Samples in portions; how a portion is timed, an engine says itself."""

    overhead_s: float
    _gate: Gate
    _flush: Flush

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call on the GPU; raises CudaError for what went wrong there."""
        taken: list[list[float]] = [[] for _ in calls]
        order = in_turns(calls, rounds)
        while order:
            size = self._flush.at_once(_BEHIND_A_GATE)
            for index, seconds in self._block(order[:size]):
                taken[index].append(max(SHORTEST_S, seconds - self.overhead_s))
            order = order[size:]
        return taken

    def _block(self, order: Sequence[tuple[int, Call]]) -> Iterable[tuple[int, float]]:
        """The seconds that each of these calls takes, by its index."""

    @property
    def calls_wait(self) -> bool:
        """Whether the gate had to open itself."""
        return self._gate.opened_itself

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the times should know."""
        return (WAITS,) * self.calls_wait + (PERSISTS,) * self._flush.meets_persisting
