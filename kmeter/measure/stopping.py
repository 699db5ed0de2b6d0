"""When enough samples were taken: at a precision, at a time limit, or at a count."""

from collections.abc import Sequence
from dataclasses import dataclass

from kmeter.model.samples import summary


@dataclass(frozen=True)
class StopRule:
    """What ends a series of samples; the first to be met does."""

    precision: float = 0.005
    """Half of the median's 95 % interval, as a share of the median."""
    time_limit_s: float = 3.0
    least: int = 20
    """Samples before a precision is believed."""
    least_time_s: float = 0.2
    """Time before it is: a card's clocks and heat, and a host's other work, change more slowly than
    samples come."""
    most: int = 10_000
    resolution_s: float = 0.0
    """The tick of the clock: an interval of one tick to either side is as narrow as it gets."""

    def met(self, samples: Sequence[float], elapsed_s: float) -> str:
        """``precision``, ``count`` or ``time limit``, or nothing while it goes on."""
        if len(samples) >= self.most:
            return "count"
        found = summary(samples)
        precision = found.precision if found else None
        is_precise = (
            found is not None
            and precision is not None
            and precision * found.median <= max(self.precision * found.median, self.resolution_s)
        )
        if is_precise and len(samples) >= self.least and elapsed_s >= self.least_time_s:
            return "precision"
        return "time limit" if elapsed_s >= self.time_limit_s else ""

    def next_rounds(self, samples: Sequence[float], elapsed_s: float) -> int:
        """Rounds before the rule is asked again: about a tenth of the time limit, at most 64."""
        left = self.most - len(samples)
        if not samples or elapsed_s <= 0:
            return min(left, 1)
        each_s = elapsed_s / len(samples)
        return max(1, min(left, 64, round(self.time_limit_s / 10 / each_s)))
