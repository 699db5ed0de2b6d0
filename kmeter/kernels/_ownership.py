"""Whose a number is that stands without a name, in a text where several compilers may have written.

A compiler names a function and then says its numbers. Where two names wait for numbers, a number
may be either's: it is given only where that can be told, by what comes later too.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Numbers = TypeVar("_Numbers")
_CLEAN = 4
"""Kernels that came whole while an older one waited: so many say that the older was cut off."""


@dataclass(eq=False)
class Claim(Generic[_Numbers]):
    """A function that waits for its numbers."""

    ready: bool = True
    """Whether its numbers can come next; other lines of it come first where not."""
    numbers: _Numbers | None = None
    line: int = -1
    """Of the text, where its numbers stand."""
    uncertain: bool = False
    """Whether what comes may be another function's, which the text does not name or names alike."""
    ambiguous: bool = False

    def withdraw(self) -> None:
        self.numbers, self.ambiguous = None, True


@dataclass
class Claims(Generic[_Numbers]):
    """Those of one kind of line, in the order in which functions were named."""

    _waiting: dict[int, Claim[_Numbers]] = field(default_factory=dict)
    _ready: dict[int, Claim[_Numbers]] = field(default_factory=dict)
    _supposed: list[Claim[_Numbers]] = field(default_factory=list)
    """Have numbers as if the older ones that wait were cut off."""
    _undoubted: list[Claim[_Numbers]] = field(default_factory=list)
    _given: list[Claim[_Numbers]] = field(default_factory=list)
    """Have numbers, since the text began or went on after a gap."""
    _owed: int = 0
    """Numbers that are still to come of functions that were given up."""
    _newest: Claim[_Numbers] | None = None
    _last_line: int = -2

    def open(self, claim: Claim[_Numbers]) -> None:
        """A function was named."""
        self._newest = claim
        if self._owed:
            claim.withdraw()
            self._owed += 1
            return
        self._waiting[id(claim)] = claim
        if claim.ready:
            self.set_ready(claim)

    def is_waiting(self, claim: Claim[_Numbers]) -> bool:
        return id(claim) in self._waiting

    def set_ready(self, claim: Claim[_Numbers]) -> None:
        """All lines of it that come before its numbers have come."""
        claim.ready = True
        if self.is_waiting(claim):
            self._ready[id(claim)] = claim
            self._undoubted.append(claim)

    def doubt(self) -> None:
        """Something else was said where only numbers can follow."""
        for claim in self._undoubted:
            claim.uncertain = claim.uncertain or self.is_waiting(claim)
        self._undoubted.clear()

    def give(self, numbers: _Numbers, line: int) -> None:
        """Numbers came, on this line of the text."""
        follows, self._last_line = line == self._last_line + 1, line
        if self._owed:
            self._owed -= 1
        elif not self._waiting:
            self._withdraw_given(follows)
        elif (owner := self._owner()) is None:
            self._give_up()
        else:
            owner.line = line
            self._take(owner, numbers)

    def _owner(self) -> Claim[_Numbers] | None:
        candidates = self._waiting if len(self._waiting) == 1 else self._ready
        if len(candidates) == 1 and not self._supposed:
            return next(iter(candidates.values()))
        if self._newest is not None and id(self._newest) in self._ready:
            self._supposed.append(self._newest)
            return self._newest
        return None

    def _take(self, owner: Claim[_Numbers], numbers: _Numbers) -> None:
        owner.numbers = numbers
        self._given.append(owner)
        if owner.uncertain:
            owner.withdraw()
        del self._waiting[id(owner)]
        self._ready.pop(id(owner), None)

    def _withdraw_given(self, follows: bool) -> None:
        """Numbers came that nothing waits for: of a function that was named before the text begins.

        Then the first ones that were given may be such a function's too, and so may those just
        before, where two lines of numbers follow one name.
        """
        doubtful = self._given if len(self._given) <= _CLEAN else self._given[-1:] * follows
        for claim in doubtful:
            claim.withdraw()
        self._given = []

    def _give_up(self) -> None:
        """Numbers came that the newest has already: some that it was supposed were another's."""
        self._owed = len(self._waiting) - 1
        for claim in (*self._waiting.values(), *self._supposed):
            claim.withdraw()
        self._forget()

    def fail(self) -> None:
        """The one function that waits was not compiled; of several it may be any."""
        if len(self._waiting) == 1 and not self._supposed:
            self._forget()

    def finish(self) -> None:
        """Nothing more comes of what was named so far."""
        if len(self._supposed) in range(1, _CLEAN):
            for claim in (*self._ready.values(), *self._supposed):
                claim.withdraw()
        self._owed = 0
        self._newest = None
        self._given = []
        self._forget()

    def _forget(self) -> None:
        self._waiting, self._ready, self._supposed = {}, {}, []
