"""Text to base units and back: the one place where a unit is read or written.

Inside kmeter everything is in Hz, bytes, bytes/s, FLOP/s, seconds, watts and fractions.
Rates are decimal (1 GB/s = 1e9 B/s); sizes are binary (1 KiB = 1024 B). What is written here is
read here too, and comes back as the same value to the digits shown.
"""

import math
import re

from kmeter.errors import UsageError

UNKNOWN = "–"

_DECIMAL = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
}  # fmt: skip
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12}  # both signs for micro
_SIZE_UNITS = {"": 1.0, "B": 1.0} | {
    spelling: scale
    for prefix, scale in _BINARY.items()
    for spelling in (prefix, prefix[0], prefix + "B", prefix[0] + "B")
}
_NAMES = {"B": ("B",), "FLOP": ("FLOP", "FLOPS", "FLOPs", "F", "OP", "OPS", "OPs")}
_BITS = re.compile(r"([kKMGTP]?i?)(?:b|bit)(?:/s|ps)?")
_EXACT_BELOW = 2**20
"""Sizes below 1 MiB (registers, shared memory) are exact to the byte, larger ones rounded."""
MOST = 1e30
"""Above any amount that a GPU has in any base unit; its inverse is below any."""

# Possessive: a long wrong text is refused in one pass.
_NUMBER_AND_UNIT = re.compile(
    r"\s*+([+-]?(?:\d++(?:_\d++)*+\.?+\d*+|\.\d++)(?:e[+-]?\d++)?+)\s*+(\S*+)\s*+",
    re.ASCII | re.IGNORECASE,
)


# ---- reading --------------------------------------------------------------------------------


def parse_size(text: str) -> int:
    """``49152``, ``48KiB``, ``48K`` or ``0.5 MiB`` → whole bytes.

    ``K`` and ``KB`` are taken as 1024 here, as CUDA's documentation does for shared memory.
    Raises UsageError for anything else.
    """
    value, unit = _split(text, "a size such as 49152 or 48KiB")
    spelling = unit[:1].upper() + unit[1:] if unit[:1] in "kmgt" else unit
    if spelling not in _SIZE_UNITS:
        raise UsageError(f"{quoted(text)} is not a size", "Write bytes, or a size such as 48KiB")
    size = possible(value * _SIZE_UNITS[spelling], text)
    if size < 0 or (size < _EXACT_BELOW and size != int(size)):
        raise UsageError(f"{quoted(text)} is not a whole number of bytes")
    return round(size)


def parse_amount(text: str, unit: str) -> float:
    """An amount of ``unit`` (``B`` or ``FLOP``) → bytes or FLOP; a bare number is the base unit.

    Raises UsageError for anything else.

    >>> parse_amount("48MiB", "B"), parse_amount("2.1GFLOP", "FLOP")
    (50331648.0, 2100000000.0)
    """
    value, suffix = _split(text, f"an amount such as 1e9 or 1G{unit}")
    return possible(value * _scale(suffix, unit, text), text)


def parse_rate(text: str, unit: str, bare: float) -> float:
    """A rate in ``unit``/s (``B`` or ``FLOP``); a bare number counts in ``bare`` of them.

    Raises UsageError for anything else, bits among it.

    >>> parse_rate("3350", "B", bare=1e9), parse_rate("3.35TB/s", "B", bare=1e9)
    (3350000000000.0, 3350000000000.0)
    """
    value, suffix = _split(text, f"a rate such as 3350 or 3.35T{unit}/s")
    if not suffix:
        return possible(value * bare, text)
    return possible(value * _scale(re.sub(r"(?:/s|ps)$", "", suffix), unit, text), text)


def parse_seconds(text: str) -> float:
    """``1.2ms``, ``850us``, ``3e-4`` (seconds) → seconds; raises UsageError for anything else."""
    value, suffix = _split(text, "a time such as 1.2ms")
    if suffix in {"", "s"}:
        return possible(value, text)
    if suffix.endswith("s") and suffix[:-1] in _SMALL:
        return possible(value * _SMALL[suffix[:-1]], text)
    raise UsageError(f"{quoted(text)} is not a time", "Write seconds, or 1.2ms, 850us, 900ns")


def parse_fraction(text: str) -> float:
    """``50%`` or ``0.5`` → 0.5; raises UsageError for anything that is no share of a whole."""
    value, suffix = _split(text, "a share such as 50% or 0.5")
    if suffix not in {"", "%"}:
        raise UsageError(f"{quoted(text)} is not a share", "Write 50% or 0.5")
    fraction = value / 100 if suffix else value
    if not 0 <= fraction <= 1:
        raise UsageError(f"{quoted(text)} is not between 0 and 100 %", "Write 50% or 0.5")
    return fraction


def parse_positive(text: str, no_number: str, out_of_range: str) -> float:
    """A bare number above 0 and finite; raises UsageError with the words for what it is instead."""
    try:
        value = float(text)
    except ValueError:
        raise UsageError(no_number) from None
    if not 0 < value < math.inf:
        raise UsageError(out_of_range)
    return possible(value, text)


def _split(text: str, expected: str) -> tuple[float, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise UsageError(f"{quoted(text)} is not {expected}")
    return float(match[1]), match[2]


def possible(value: float, text: str) -> float:
    """``value``, which ``text`` spells; raises UsageError where no GPU has such an amount.

    Products and logarithms of what passes stay finite.
    """
    if not abs(value) <= MOST:
        raise UsageError(f"{quoted(text)} is too large")
    if 0 < abs(value) < 1 / MOST:
        raise UsageError(f"{quoted(text)} is too small")
    return value


def _scale(suffix: str, unit: str, text: str) -> float:
    """What ``suffix`` (``GB``, ``G``, ``TFLOPS``) stands for in the base unit."""
    prefixes = _DECIMAL | _BINARY if unit == "B" else _DECIMAL
    for name in ("", *_NAMES[unit]):
        prefix = suffix.removesuffix(name)
        if suffix.endswith(name) and prefix in prefixes:
            return prefixes[prefix]
    bits = _BITS.fullmatch(suffix)
    if bits and unit == "B":
        raise UsageError(
            f"{quoted(text)} counts bits, memory is counted in bytes",
            f"Divide by 8 and write {bits[1]}B",
        )
    raise UsageError(
        f"{quoted(text)} has the unknown unit {quoted(suffix)}", f"Write for example 1G{unit}"
    )


# ---- writing --------------------------------------------------------------------------------

_SI_STEPS = (
    ("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3),
    ("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9), ("p", 1e-12),
)  # fmt: skip
_FROM_ONE_UP = tuple(step for step in _SI_STEPS if step[1] >= 1)
_UP_TO_ONE = tuple(step for step in _SI_STEPS if step[1] <= 1)


def si(value: float | None, unit: str, digits: int = 4) -> str:
    """A value in its decimal prefix: ``si(3.352e12, "B/s")`` is ``3.352 TB/s``.

    None is a dash. ``digits`` counts significant digits. There are no millibytes and no
    kiloseconds.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    # Rounding comes first, so that 999.96 GB/s is 1 TB/s and not 1000 GB/s.
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    steps = _steps(unit) if rounded else (("", 1.0),)
    prefix, scale = next((step for step in steps if rounded >= step[1]), steps[-1])
    return f"{number(value / scale, digits)} {prefix}{unit}"


def _steps(unit: str) -> tuple[tuple[str, float], ...]:
    if unit == "s":
        return _UP_TO_ONE
    return _FROM_ONE_UP if unit.startswith(("B", "FLOP", "OP")) else _SI_STEPS


def size(value: int | None) -> str:
    """Bytes in the binary prefix: ``size(49152)`` is ``48 KiB``; None is a dash.

    Below 1 MiB the text is exact: ``size(49153)`` is ``49153 B``.
    """
    if value is None:
        return UNKNOWN
    for prefix, scale in reversed(_BINARY.items()):
        text = number(value / scale, digits=5)
        if float(text) >= 1 and (value >= _EXACT_BELOW or float(text) * scale == value):
            return f"{text} {prefix}B"
    return f"{value} B"


def percent(fraction: float | None, digits: int = 3) -> str:
    """``percent(0.5038)`` is ``50.4 %``; None is a dash."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    return f"{number(100 * fraction, digits)} %"


def number(value: float | None, digits: int = 4) -> str:
    """A bare number with ``digits`` significant digits; None is a dash.

    An exponent appears only where a plain number would run to more than 15 digits.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.{digits - 1}e}"
    rounded, exponent = float(text), int(text.partition("e")[2])
    if rounded == 0:
        return "0"
    if not -10 <= exponent < 15:
        return f"{value:.{digits}g}"
    plain = f"{rounded:.{max(0, digits - 1 - exponent)}f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def celsius(degrees: float | None) -> str:
    """``58 °C``."""
    return UNKNOWN if degrees is None else f"{number(degrees, 3)} °C"


def scaled(value: float | None, scale: float, digits: int = 4) -> str:
    """A bare number in units of ``scale``, for a column whose heading names them."""
    return number(None if value is None else value / scale, digits)


def quoted(text: str, longest: int = 40) -> str:
    """What a user wrote, in quotes and short enough for an error's one line."""
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")


_ASCII = str.maketrans({
    "–": "-", "—": "-", "−": "-", "µ": "u", "μ": "u", "×": "x", "·": "*", "≈": "~", "²": "2",
    "³": "3", "≥": ">=", "≤": "<=", "→": "->", "…": "...", "∞": "inf", "°": "deg ", "½": "1/2", "±": "+-",
})  # fmt: skip


def shortened(name: str, longest: int) -> str:
    """A name of at most ``longest`` characters: its beginning and its end."""
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    head = (longest - 1) * 2 // 3
    return f"{name[:head]}…{name[head + 1 - longest :]}"


def printable(text: str) -> str:
    """Text that moves no cursor and ends no line, whatever it names."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def on_a_line(text: str) -> str:
    """Text of several lines on one, moving no cursor."""
    return printable(" ".join(text.split()))


def ascii_only(text: str) -> str:
    """The same text in ASCII, for terminals and locales that know no more."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
