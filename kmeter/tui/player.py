"""A recorded session as it goes by: paused, moved to, faster or slower."""

from bisect import bisect_right
from collections.abc import Sequence

from kmeter.model.live import Moment, seconds_between

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0)


class Player:
    """Where a session stands. What is passed depends on the seconds told alone, never on a clock."""

    def __init__(self, moments: Sequence[Moment], speed: float = 1.0) -> None:
        self._moments = moments
        self._times = [seconds_between(moments[0], moment) for moment in moments]
        self.speed = speed
        self.is_paused = False
        self.at_s = 0.0
        self._next = 0

    @property
    def length_s(self) -> float:
        """From its first moment to its last."""
        return self._times[-1]

    @property
    def is_over(self) -> bool:
        """Whether the last moment was passed."""
        return self._next >= len(self._moments)

    def advance(self, seconds: float) -> Sequence[Moment]:
        """The moments that are passed in so many seconds."""
        if self.is_paused:
            return ()
        self.at_s = min(self.length_s, self.at_s + seconds * self.speed)
        return self._passed()

    def _passed(self) -> Sequence[Moment]:
        reached = bisect_right(self._times, self.at_s)
        passed = self._moments[self._next : reached]
        self._next = max(self._next, reached)
        return passed

    def seek(self, seconds: float) -> Sequence[Moment]:
        """Go to that many seconds after the beginning; every moment up to there."""
        self.at_s = min(self.length_s, max(0.0, seconds))
        self._next = 0
        return self._passed()

    def faster(self, steps: int) -> None:
        """The next of the usual speeds, or the one before."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.speed = SPEEDS[min(len(SPEEDS) - 1, max(0, nearest + steps))]
