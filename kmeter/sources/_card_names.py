"""Which card of the catalogue a name means, and which ones come near where it means none."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kmeter.errors import UnknownTargetError
from kmeter.units import quoted

_SHOWN = 6
_LONGEST = 64
"""No card has a longer name; such a text is one word, and compared no further."""
_BRANDS = re.compile(r"^(?:nvidia|geforce|tesla|jetson|rtx|gtx)+(?=.)")
_OTHER_CHIPS = frozenset(
    {"ti", "super", "laptop", "mobile", "max", "d", "sff", "ada", "ultra", "v2"}
)
"""Words that make another card of a name: nobody means a 2070 SUPER by 2070."""


@dataclass(frozen=True)
class CardNames:
    """Every name in the catalogue, by what a user may write."""

    spellings: Mapping[str, str]
    """Ids, aliases and full names, folded, to the id."""
    words: Mapping[str, frozenset[str]]
    """The words of all names of a card, by id."""

    @classmethod
    def of(cls, entries: Mapping[str, Mapping[str, Any]]) -> Self:
        """The names of ``entries``; an id goes before an alias of another card."""
        spellings = {fold(gpu_id): gpu_id for gpu_id in entries}
        names = {gpu_id: spelled(gpu_id, entry) for gpu_id, entry in entries.items()}
        for gpu_id, texts in names.items():
            for text in texts:
                spellings.setdefault(fold(text), gpu_id)
        words = {
            gpu_id: frozenset(word for text in texts for word in _words(text))
            for gpu_id, texts in names.items()
        }
        return cls(spellings, words)

    def find(self, name: str) -> str:
        """The id of the one card that ``name`` means.

        Raises UnknownTargetError: with the candidates where several fit, the nearest where none.
        """
        found = self.exact(name) or self.matching(name)
        if len(found) > 1:
            raise UnknownTargetError(
                f"{quoted(name)} could be {_listing(found, ' or ')}", "Name one of them"
            )
        if not found or self._leaves_unsaid(name, found[0]):
            raise self.unknown(name)
        return found[0]

    def exact(self, name: str) -> list[str]:
        """The card that has this very id, alias or full name: a list of one or none."""
        found = self.spellings.get(fold(name))
        return [found] if found else []

    def matching(self, pattern: str) -> list[str]:
        """Ids of the cards whose names hold every word of ``pattern``."""
        wanted = _words(pattern)
        return [
            gpu_id
            for gpu_id, words in self.words.items()
            if wanted and all(any(_fits(word, have) for have in words) for word in wanted)
        ]

    def unknown(self, name: str) -> UnknownTargetError:
        """The error for a name that no card has, with the nearest."""
        near = self._nearest(name)
        hint = f"Nearest: {_listing(near, ', ')}" if near else "kmeter gpus lists every card"
        if "/" in name or name.endswith(".json"):
            hint = "There is no such file either; kmeter gpus lists every card"
        return UnknownTargetError(f"no card is called {quoted(name)}", hint)

    def _nearest(self, name: str) -> list[str]:
        from difflib import get_close_matches

        folded = fold(name)
        begun = [spelling for spelling in self.spellings if folded and spelling.startswith(folded)]
        close = get_close_matches(folded, self.spellings, n=_SHOWN)
        near = (self.spellings[spelling] for spelling in (*begun, *close))
        return list(dict.fromkeys((*self.matching(name), *near)))

    def _leaves_unsaid(self, name: str, gpu_id: str) -> bool:
        if self.exact(name):
            return False
        return bool(self.words[gpu_id] & _OTHER_CHIPS - set(_words(name)))


def spelled(gpu_id: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything that a card is called."""
    return (gpu_id, entry["name"], *entry.get("aliases", ()))


def fold(name: str) -> str:
    """``NVIDIA GeForce RTX 4090`` → ``4090``: no brand, no gaps, lower case."""
    return _BRANDS.sub("", "".join(_words(name)))


def _words(text: str) -> list[str]:
    if len(text) > _LONGEST:
        return [text[:_LONGEST].lower()]
    return [word for word in re.split(r"[\s_(),-]+", text.lower()) if word]


def _fits(word: str, have: str) -> bool:
    """``sxm`` fits ``sxm5`` and ``80`` fits ``80gb``; ``h10`` does not fit ``h100``."""
    return word in {have, have.rstrip("0123456789"), have.removesuffix("gb")}


def _listing(ids: Iterable[str], last: str) -> str:
    shown, rest = list(ids)[:_SHOWN], len(list(ids)) - _SHOWN
    if rest > 0:
        return f"{', '.join(shown)} and {rest} more"
    return last.join(filter(None, (", ".join(shown[:-1]), shown[-1])))
