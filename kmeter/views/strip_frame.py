"""What every strip of dots is drawn in: a field with ticks below it, as SVG in a figure."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kmeter.views.markup import escaped, tag

Item = TypeVar("Item")

WIDTH, HEIGHT, EDGE, FOOT = 760, 84, 12, 24
"""The field, how far its dots stay from the sides, and the room for ticks; in pixels."""
STRIP_LAYOUT = """\
.strip text { font-size: 13px; }
.strip .field { fill: none; }
.strip .free { fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: .55; }
.strip .held { fill: none; stroke-width: 1.5; }
.strip .sure { fill-opacity: .22; }
.strip .middle { stroke-width: 2; }
"""
STRIP_STYLE = """\
.strip text { fill: SOFT; }
.strip .field { stroke: GRID; }
.strip .free { stroke: POINT; }
.strip .held { stroke: ABOVE; }
.strip .sure { fill: ROOF; }
.strip .middle { stroke: ROOF; }
"""
_DOTS = 'fill="none" stroke="gray" stroke-width="4" stroke-linecap="round"'
"""Colours are the page's; where its style is not read, everything is grey."""


def strip_figure(title: str, parts: Iterable[str], caption: str) -> str:
    """A ``figure`` of the parts, which are markup."""
    drawn = "\n".join([_FIELD, *parts])
    return (
        f'<figure>\n<svg class="strip" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + FOOT}" width="{WIDTH}" '
        f'height="{HEIGHT + FOOT}">\n{tag("title", title)}\n'
        f"{drawn}\n</svg>\n{tag('figcaption', caption)}\n</figure>"
    )


_FIELD = (
    f'<rect class="field" fill="none" stroke="gray" x="1" y="1" width="{WIDTH - 2}" '
    f'height="{HEIGHT - 2}"/>'
)


def across(value: float, low: float, high: float) -> float:
    """The position of a value; beyond the window it is at the edge, without a window mid-way."""
    if high <= low:
        return WIDTH / 2
    share = (value - low) / (high - low)
    return EDGE + min(1.0, max(0.0, share)) * (WIDTH - 2 * EDGE)


def tick(x: float, text: str, anchor: str) -> str:
    """Text below the field; ``anchor`` says which part of it stands at ``x``."""
    return f'<text x="{x:.1f}" y="{HEIGHT + 18}" text-anchor="{anchor}">{escaped(text)}</text>'


def upright(style: str, x: float) -> str:
    """A line from top to bottom."""
    return f'<path class="{style}" stroke="gray" d="M{x:.1f} 1V{HEIGHT - 1}"/>'


def dots(points: Iterable[tuple[float, float]]) -> str:
    """A dot each, all in one path."""
    drawn = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return f'<path class="free" {_DOTS} d="{drawn}"/>'


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most ``most`` of them, taken at even distances."""
    count = min(most, len(items))
    return [items[n * len(items) // count] for n in range(count)]
