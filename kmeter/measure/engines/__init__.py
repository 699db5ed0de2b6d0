"""Timing engines: ways to find out how long a call takes, a module each."""

from collections.abc import Callable, Sequence
from typing import Protocol

Call = Callable[[], object]
"""The work to be timed, with its arguments bound."""


class Engine(Protocol):
    """Times calls. What it takes itself is measured and taken off."""

    name: str
    overhead_s: float
    """What was taken off every sample."""

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call, ``rounds`` of them; the calls of a round are made in turns."""

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the times should know, in words."""

    def close(self) -> None:
        """Give back what it holds."""
