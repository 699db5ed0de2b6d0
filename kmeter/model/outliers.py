"""Which of many like things stands out below the others, whatever the others' noise is."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

FEWEST = 4
"""Of fewer nobody can say which one is the odd one."""
LEAST_MARGIN = 0.03
"""A shortfall below this share of the median is no finding, however alike the others are."""
MOST_MARGIN = 0.5
"""Where members may fall short by so much, half of them may be slow, and nobody can tell which."""
DEVIATIONS = 5.0
TO_SIGMA = 1.4826
"""The median absolute deviation times this is the standard deviation of a normal distribution."""


class Spread(NamedTuple):
    """How far apart the members of a group are, as shares of their median."""

    mad: float
    """The median absolute deviation, scaled to the standard deviation of a normal distribution."""
    margin: float
    """What a member may fall short of the median by: max(3 %, 5 x MAD)."""

    @property
    def lowest(self) -> float:
        """The share of the median below which a member stands out."""
        return 1.0 - self.margin


def spread_of(shares: Sequence[float]) -> Spread:
    """The spread of shares of a median, 1 being the median itself. At least one share.

    Fewer than half of the members may be anything without moving it much.
    """
    mad = TO_SIGMA * median([abs(share - 1.0) for share in shares])
    return Spread(mad, max(LEAST_MARGIN, DEVIATIONS * mad))
