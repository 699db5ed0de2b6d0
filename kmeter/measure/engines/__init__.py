"""Timing engines: ways to find out how long a call takes, a module each."""

from collections.abc import Callable, Sequence
from typing import Protocol

Call = Callable[[], object]
"""The work to be timed, with its arguments bound."""
GPU_TICK_S = 32e-9
"""What the clock behind events and CUPTI's records counts in, as an H200's times show."""
SHORTEST_S = 1e-9
"""What is left of a call that does nothing: below any clock's resolution, and above 0."""


class Engine(Protocol):
    """Times calls. What it takes itself is measured and taken off."""

    name: str
    overhead_s: float
    """What was taken off every sample."""

    resolution_s: float
    """The tick of its clock: no interval of samples gets narrower."""

    @property
    def calls_wait(self) -> bool:
        """Whether a call was seen to wait for the GPU: its launches cannot be hidden."""

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call, ``rounds`` of them; the calls of a round are made in turns."""

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the times should know, in words."""

    def close(self) -> None:
        """Give back what it holds."""


def turns(calls: Sequence[Call], number: int) -> list[tuple[int, Call]]:
    """The calls of a round with their places, forwards and backwards in turn: none is always first."""
    placed = list(enumerate(calls))
    return placed if number % 2 == 0 else placed[::-1]


def in_turns(calls: Sequence[Call], rounds: int) -> list[tuple[int, Call]]:
    """All calls of all rounds with their places, in the order in which they are made."""
    return [placed for number in range(rounds) for placed in turns(calls, number)]


WAITS = "the call waits for the GPU: the time between its launches is in it"
"""What a reader should know of a call that does."""
PERSISTS = "it marks lines to stay in L2: they were made ordinary ones before each call"
"""What a reader should know of a kernel that does."""
