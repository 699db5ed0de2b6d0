"""A group as one line: how many of its members stand where, between two margins below and above the median."""

from collections.abc import Sequence

from rich.text import Text

from kmeter.views.strip import strip

MARGINS = 2.0
"""What is shown: so many margins to either side of the median; what lies beyond has a mark at the edge."""
_LINE, _MIDDLE, _FLAGGED, _BELOW, _ABOVE = "┊", "│", "×", "◂", "▸"
_ASCII = {_LINE: "!", _MIDDLE: "|", _FLAGGED: "x", _BELOW: "<", _ABOVE: ">"}


def strip_plot(
    shares: Sequence[float], margin: float, width: int, *, ascii_only: bool = False
) -> Text:
    """Shares of the median as ``width`` cells (an odd number); members below the margin are crosses.

    The height of a cell is its number of members beside the fullest cell's.
    """
    counts = [0] * width
    flagged = set()
    is_beyond = {_BELOW: False, _ABOVE: False}
    for share in shares:
        place = (share - 1.0) / margin
        cell = _cell(place, width)
        counts[cell] += 1
        if place < -1.0:
            flagged.add(cell)
        is_beyond[_BELOW] |= place < -MARGINS
        is_beyond[_ABOVE] |= place > MARGINS
    most = max(counts, default=0) or 1
    signs = list(strip([count / most for count in counts], width, ascii_only=ascii_only))
    line = Text()
    for cell, sign in enumerate(signs):
        if cell in flagged:
            is_edge = cell == 0 and is_beyond[_BELOW]
            line.append(_sign(_BELOW if is_edge else _FLAGGED, ascii_only), "bold red")
        elif cell == width - 1 and is_beyond[_ABOVE]:
            line.append(_sign(_ABOVE, ascii_only), "cyan")
        else:
            line.append(sign, "cyan")
    return line


def ruler(width: int, *, ascii_only: bool = False) -> str:
    """The heading of strips: where the line is below which a member is flagged, and where the median."""
    signs = [" "] * width
    signs[_cell(-1.0, width)] = _sign(_LINE, ascii_only)
    signs[width // 2] = _sign(_MIDDLE, ascii_only)
    return "".join(signs).rstrip()


def legend(*, ascii_only: bool = False) -> str:
    """What the signs mean."""
    line, middle, flagged, below = (
        _sign(sign, ascii_only) for sign in (_LINE, _MIDDLE, _FLAGGED, _BELOW)
    )
    return f"{middle} median, slow to the left; {line} flagged from here on ({flagged}, {below} further off)"


def _cell(place: float, width: int) -> int:
    """The cell of a place in margins from the median; what is beyond stands in the last one."""
    within = min(MARGINS, max(-MARGINS, place))
    return round((within + MARGINS) / (2 * MARGINS) * (width - 1))


def _sign(sign: str, ascii_only: bool) -> str:
    return _ASCII[sign] if ascii_only else sign
