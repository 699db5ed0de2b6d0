"""Numbers as profilers print them in the language of a user: 1,234.5 and 1.234,5 and 1 234,5.

A number alone often cannot say which it is (1,234), so a whole table is asked for its decimal mark.
"""

import math
import re
from collections import Counter

_SPACES = re.compile(r"(?<=\d)[\s\u00a0\u2007\u2009\u202f'\u2019](?=\d{3}(?!\d))")
"""Between digits these only ever group."""
_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?", re.ASCII)
_MARKS = re.compile(r"[+-]?(\d+)((?:[.,]\d+)+)", re.ASCII)
_WITHOUT_VALUE = re.compile(
    r"|-|–|n/?a|none|null|no data|[+-]?(?:nan|inf(?:inity)?|∞|1\.#\w+)",
    re.IGNORECASE,
)
_LONGEST = 400
_SWAPPED = str.maketrans(".,", ",.")


def has_no_value(text: str) -> bool:
    """Whether a field says that there is no number: empty, ``n/a``, ``nan``, ``inf``."""
    return _WITHOUT_VALUE.fullmatch(_core(text)) is not None


def number_in(text: str, decimal: str) -> float | None:
    """The number in a field whose decimal mark is ``.`` or ``,``; None for what is none.

    >>> number_in("1,234.5", "."), number_in("1.234,5", ","), number_in("1.2.3", ".")
    (1234.5, 1234.5, None)
    """
    digits = _core(text)
    if len(digits) > _LONGEST:
        return None
    digits = _SPACES.sub("", digits)
    if decimal == ",":
        digits = digits.translate(_SWAPPED)
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    value = float(digits) if _PLAIN.fullmatch(digits) else math.nan
    return None if math.isnan(value) else value


class DecimalMark:
    """Gathers what the numbers of a file say about its decimal mark."""

    def __init__(self) -> None:
        self._votes: Counter[str] = Counter()
        self._weak: Counter[str] = Counter()

    def hear(self, text: str, *, whole: bool = False) -> None:
        """Take a field into account; ``whole`` says that its unit is only ever counted in integers."""
        core = _core(text)
        if len(core) > _LONGEST or not ("." in core or "," in core):
            return
        digits = _SPACES.sub("", core)
        found = _MARKS.fullmatch(digits)
        if found is not None:
            self._judge(found[1], found[2], spaced=digits != core, whole=whole)

    def _judge(self, leading: str, rest: str, *, spaced: bool, whole: bool) -> None:
        """``rest`` is what follows the leading digits, from the first mark on."""
        marks = [letter for letter in rest if letter in ".,"]
        lengths = [len(digits) for digits in re.split("[.,]", rest)[1:]]
        last, other = marks[-1], marks[-1].translate(_SWAPPED)
        is_grouped = len(leading) <= 3 and not leading.startswith("0")
        if len(marks) == 1 and (spaced or lengths != [3] or not is_grouped):
            self._votes[last] += 1
        elif len(marks) == 1 and whole:
            self._weak[other] += 1
        elif len(marks) > 1 and is_grouped and set(lengths[:-1]) <= {2, 3}:
            self._judge_grouped(marks, lengths[-1])

    def _judge_grouped(self, marks: list[str], last_length: int) -> None:
        """Two marks or more: all but the last are the same, and group."""
        last, grouping = marks[-1], marks[0]
        if set(marks[:-1]) == {grouping} and last != grouping:
            self._votes[last] += 1
        elif set(marks) == {grouping} and last_length == 3:
            self._votes[grouping.translate(_SWAPPED)] += 1

    @property
    def mark(self) -> str:
        """``.`` unless the numbers say ``,``."""
        votes = self._votes or self._weak
        return "," if votes[","] > votes["."] else "."


def _core(text: str) -> str:
    """Without the values of single instances, which stand behind it in parentheses."""
    return text.partition("(")[0].strip()
