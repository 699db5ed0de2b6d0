"""A curve over a logarithmic axis: bandwidth over working sets, FLOP/s over intensity."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.ceiling import Point
from kmeter.units import si
from kmeter.views.canvas import Canvas
from kmeter.views.log_axis import LogAxis, powers_around

_STYLE, _BESIDE = "bold cyan", "dim"
_HEIGHT = 12
_ROOM = 1.3
"""Above the highest and below the lowest value, as a factor."""


@dataclass(frozen=True)
class SweepPlot:
    """A measured curve, and beside it what arithmetic allows."""

    title: str
    points: Sequence[Point]
    unit: str
    """Of the values: ``B/s``."""
    tick: Callable[[float], str]
    """How a place on the x axis, a power of two, is written."""
    limit: Sequence[Point] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield Text(self.title, style="bold")
        values = [point.value for point in (*self.points, *self.limit)]
        low, high = min(values) / _ROOM, max(values) * _ROOM
        ticks = _value_ticks(low, high)
        gutter = max(len(si(tick, self.unit)) for tick in ticks) + 1
        canvas = Canvas(
            max(16, options.max_width - gutter - 1), _HEIGHT, ascii_only=options.ascii_only
        )
        x = LogAxis(*powers_around([point.x for point in self.points], 2), canvas.width - 1)
        y = LogAxis(low, high, canvas.height - 1)
        for points, style in ((self.limit, _BESIDE), (self.points, _STYLE)):
            places = [(x.at(p.x), canvas.height - 1 - y.at(p.value)) for p in points]
            for start, end in pairwise(places):
                canvas.line(start, end, style)
        rows = {canvas.height - 1 - round(y.at(tick)): si(tick, self.unit) for tick in ticks}
        yield from _framed(canvas, rows, gutter)
        yield Text(" " * (gutter + 1) + self._tick_line(x, canvas.width), style="dim")

    def _tick_line(self, axis: LogAxis, width: int) -> str:
        cells = [" "] * width
        for value in axis.powers(2, max(2, width // 10)):
            text = self.tick(value)
            start = min(max(0, round(axis.at(value)) - len(text) // 2), width - len(text))
            cells[start : start + len(text)] = text
        return "".join(cells).rstrip()


def _value_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten between the two."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return [tick for tick in inside if math.log10(tick) % 1 == 0] if len(inside) > 6 else inside


def _framed(canvas: Canvas, labels: dict[int, str], gutter: int) -> Iterator[Text]:
    upright, level, corner = ("|", "-", "+") if canvas.ascii_only else ("│", "─", "└")
    for row, line in enumerate(canvas.rows()):
        yield Text.assemble((f"{labels.get(row, ''):>{gutter - 1}} {upright}", "dim"), line)
    yield Text(" " * gutter + corner + level * canvas.width, style="dim")
