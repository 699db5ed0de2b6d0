"""Does a call take as long as its samples say? Calls back to back, on two processes' clocks.

Work that is done on another stream or thread, and an engine's clock that a file replaced, make every
lap longer than its calls. Noise does so too, but not in every lap, and it makes the samples around a
lap longer as well. A clock of the process that runs too slowly is seen by the parent's, which no file
can reach.
"""

from dataclasses import replace

from kmeter.bench.events import Lap
from kmeter.model.benchmark import Outcome, Row
from kmeter.units import si

_TIMES_TOO_LONG = 2.0
_SLACK_S = 20e-6
"""What a call may take beside its own time and its launch: the loop, a wait for the GPU."""
_ARRIVAL_S = 0.01
"""How late the words of a process may be heard, all of a row's laps together."""


def is_explained(each_s: float, median_s: float, host_s: float | None) -> bool:
    """Whether a call of ``each_s`` in a lap is one of ``median_s`` that keeps the host ``host_s``."""
    return each_s <= _TIMES_TOO_LONG * (median_s + (host_s or 0.0)) + _SLACK_S


class Referee:
    """Hears the laps of one row, and judges it."""

    def __init__(self) -> None:
        self._began_s = 0.0
        self._heard_s = self._told_s = 0.0
        self._laps: list[tuple[float, float]] = []
        """Seconds of a call in each lap, and of the samples around it."""

    def hear(self, lap: Lap, at_s: float) -> None:
        """A mark of the process: calls begin, or have ended after so many seconds of its own."""
        if lap.calls == 0:
            self._began_s = at_s
            return
        self._heard_s += at_s - self._began_s
        self._told_s += lap.seconds
        self._laps.append((lap.seconds / lap.calls, lap.around_s))

    def judged(self, row: Row) -> Row:
        """The row, wrong where its clock or its samples do not fit its laps."""
        if row.outcome is not Outcome.OK or row.median_s is None or not self._laps:
            return row
        if self._heard_s > _TIMES_TOO_LONG * self._told_s + _ARRIVAL_S:
            reason = (
                f"its clock is wrong: calls that took {si(self._heard_s, 's')} by another "
                f"process's took {si(self._told_s, 's')} by its own"
            )
        elif not self._is_explained(row.median_s, row.host_s):
            reason = (
                f"calls back to back take {si(min(self._laps)[0], 's')} each, its samples say "
                f"{si(row.median_s, 's')}: its work is done elsewhere, or its clock is wrong"
            )
        else:
            return row
        return replace(row, outcome=Outcome.WRONG, reason=reason)

    def _is_explained(self, median_s: float, host_s: float | None) -> bool:
        return any(
            is_explained(each_s, max(median_s, around_s), host_s) for each_s, around_s in self._laps
        )
