"""What was seen of GPUs over minutes: series of their fields, and for how long clocks were held back."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kmeter.model.card import Identity
from kmeter.model.live import LiveGpu, Moment, seconds_between

KEPT = 600
"""Moments, ten minutes at one a second: no screen is wider, and eight GPUs for an hour would be 100 MB."""

LONGEST_GAP_S = 60.0
"""Between two readings that are further apart nobody knows what held a clock back."""


class HeldBack(NamedTuple):
    """One reason why clocks were held down."""

    reason: str
    seconds: float
    """In all that was seen."""
    is_now: bool


class History:
    """The moments so far, the oldest forgotten first."""

    def __init__(self, kept: int = KEPT) -> None:
        self._moments: deque[Moment] = deque(maxlen=kept)
        self._held: dict[Identity, dict[str, float]] = {}

    def add(self, moment: Moment) -> None:
        """One more moment, later than the last."""
        if self._moments:
            self._count(self._moments[-1], moment)
        self._moments.append(moment)

    def _count(self, before: Moment, moment: Moment) -> None:
        """A reason that stands at a reading has held since the one before."""
        gap_s = seconds_between(before, moment)
        if not 0 < gap_s <= LONGEST_GAP_S:
            return
        for gpu in moment.gpus:
            held = self._held.setdefault(gpu.identity, {})
            for reason in gpu.throttled_by:
                held[reason] = held.get(reason, 0.0) + gap_s

    def clear(self) -> None:
        """Forget everything."""
        self._moments.clear()
        self._held.clear()

    @property
    def last(self) -> Moment | None:
        """The newest moment."""
        return self._moments[-1] if self._moments else None

    @property
    def seconds(self) -> float:
        """From the oldest moment kept to the newest."""
        return seconds_between(self._moments[0], self._moments[-1]) if self._moments else 0.0

    def of(self, identity: Identity, count: int) -> Sequence[LiveGpu]:
        """The last ``count`` readings of a GPU, the newest last."""
        newest = list(self._moments)[-count:] if count > 0 else []
        return [gpu for moment in newest for gpu in moment.gpus if gpu.identity == identity]

    def held_back(self, identity: Identity) -> tuple[HeldBack, ...]:
        """Reasons seen on a GPU, those that stand now first, then the longest."""
        held: Mapping[str, float] = self._held.get(identity, {})
        gpus = self.last.gpus if self.last else ()
        now = {reason for gpu in gpus if gpu.identity == identity for reason in gpu.throttled_by}
        found = [HeldBack(reason, held.get(reason, 0.0), reason in now) for reason in {*held, *now}]
        return tuple(sorted(found, key=lambda item: (not item.is_now, -item.seconds, item.reason)))
