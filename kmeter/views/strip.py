"""A series as one line of bars, the newest to the right."""

from collections.abc import Sequence

_BARS, _ASCII_BARS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
_UNKNOWN, _ASCII_UNKNOWN = "·", "?"


def strip(shares: Sequence[float | None], width: int, *, ascii_only: bool = False) -> str:
    """Shares of 1 as ``width`` cells; what is unknown has a mark of its own, what was not seen is blank.

    A series that is longer than the line shows its newest part.
    """
    bars = _ASCII_BARS if ascii_only else _BARS
    unknown = _ASCII_UNKNOWN if ascii_only else _UNKNOWN
    newest = list(shares)[-width:] if width > 0 else []
    cells = [unknown if share is None else _bar(share, bars) for share in newest]
    return "".join(cells).rjust(max(0, width))


def _bar(share: float, bars: str) -> str:
    """A bar; whatever is above 0 can be seen."""
    eighths = round(min(1.0, max(0.0, share)) * (len(bars) - 1))
    return bars[max(eighths, 1 if share > 0.005 else 0)]
