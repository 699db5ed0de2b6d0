"""The roofline as an SVG picture for a paper or a README: light, dark, or as its reader prefers."""

from collections.abc import Callable, Iterator, Sequence
from math import atan2, degrees, hypot
from xml.sax.saxutils import escape

from kmeter.model.compute_units import operation
from kmeter.model.roofline import Placed, Roof, Roofline, ridge
from kmeter.units import number, percent, si
from kmeter.views.log_axis import LogAxis, power_of_two
from kmeter.views.roofline_plot import frame_of, height_of, roof_text
from kmeter.views.roofline_theme import stylesheet

WIDTH, LEFT, RIGHT, TOP, PLOT = 880, 132, 32, 84, 420
LEGEND_ROW, LEGEND_COLUMNS, LEGEND_LEFT = 20, 2, 40
_LONGEST_NAME = 26


def roofline_svg(line: Roofline, placed: Sequence[Placed], theme: str = "auto") -> str:
    """An SVG document; ``theme`` is ``light``, ``dark``, or ``auto`` for what the reader prefers."""
    picture = _Picture(line, placed)
    rows = -(-len(placed) // LEGEND_COLUMNS)
    height = TOP + PLOT + 64 + (LEGEND_ROW * rows + 24 if placed else 0)
    body = "\n".join(picture.parts())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">\n'
        f"<title>{escape(picture.title)}</title>\n"
        f"<style>{stylesheet(theme)}</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n{body}\n</svg>\n'
    )


class _Picture:
    """Axes, roofs, points and legend, each a run of SVG elements."""

    def __init__(self, line: Roofline, placed: Sequence[Placed]) -> None:
        self.line, self.placed = line, placed
        self.frame = frame_of([line], placed)
        self.x = LogAxis(*self.frame.intensities, WIDTH - LEFT - RIGHT)
        self.y = LogAxis(*self.frame.rates, PLOT)
        self.unit = operation(line.compute.name)
        self._taken = [self._dot(item) for item in placed]
        self.title = f"Roofline of {line.device.name}"

    def parts(self) -> Iterator[str]:
        roofs = " · ".join(roof_text(roof) for roof in self.line.roofs)
        yield _text(LEFT, 34, self.title, "title")
        yield _text(LEFT, 56, roofs, "sub")
        yield from self._axes()
        yield from self._roofs()
        yield from self._points()
        yield from self._legend()

    def place(self, intensity: float, rate: float) -> tuple[float, float]:
        return LEFT + self.x.at(intensity), TOP + PLOT - self.y.at(rate)

    def _axes(self) -> Iterator[str]:
        bottom, right = TOP + PLOT, WIDTH - RIGHT
        for tick in self.x.powers(2, 12):
            x, _ = self.place(tick, self.frame.rates[0])
            yield f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>'
            yield _text(x, bottom + 20, power_of_two(tick), "tick", "middle")
        for tick in self.y.powers(10, 12):
            _, y = self.place(self.frame.intensities[0], tick)
            yield f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>'
            yield _text(LEFT - 10, y + 4, si(tick, f"{self.unit}/s"), "tick", "end")
        yield f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{PLOT}"/>'
        middle = (LEFT + right) / 2
        yield _text(
            middle, bottom + 44, f"arithmetic intensity, {self.unit}/byte", "axis", "middle"
        )
        yield (
            f'<text class="axis" text-anchor="middle" '
            f'transform="translate(24 {TOP + PLOT / 2}) rotate(-90)">performance, {self.unit}/s</text>'
        )

    def _roofs(self) -> Iterator[str]:
        line = self.line
        low, high = self.frame.intensities
        yield from (self._other(roof, high) for roof in line.others)
        yield from (self._level(roof) for roof in line.levels)
        start = max(low, self.frame.rates[0] / line.memory.at(1))
        corners = [
            self.place(start, line.memory.at(start)),
            self.place(line.ridge, line.compute.at(1)),
            self.place(high, line.compute.at(1)),
        ]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
        x, y = corners[1]
        yield f'<path class="ridge" d="M{x:.1f} {y:.1f}V{TOP + PLOT}"/>'
        yield f'<path class="roof" d="M{path}"/>'
        yield _text(x + 6, TOP + PLOT - 8, f"ridge {number(line.ridge)}", "sub")
        yield self._flat_name(line.compute, "roof-name")
        yield self._slope_name(line.memory, start)

    def _other(self, roof: Roof, high: float) -> str:
        ridge = roof.at(1) / self.line.memory.at(1)
        x0, y0 = self.place(self.line.ridge, self.line.compute.at(1))
        x1, y1 = self.place(ridge, roof.at(1))
        x2, _ = self.place(high, roof.at(1))
        path = f'<path class="other" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}H{x2:.1f}"/>'
        return path + self._flat_name(roof, "other-name")

    def _level(self, roof: Roof) -> str:
        """The slope of a memory nearer than DRAM, up to the roof that judges."""
        start = max(self.frame.intensities[0], self.frame.rates[0] / roof.at(1))
        end = ridge(roof, self.line.compute)
        if start >= end:
            return ""
        x0, y0 = self.place(start, roof.at(start))
        x1, y1 = self.place(end, self.line.compute.at(1))
        path = f'<path class="other" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>'
        return path + _text(x0 + 6, y0 - 8, roof_text(roof), "other-name")

    def _flat_name(self, roof: Roof, style: str) -> str:
        _, y = self.place(self.frame.intensities[1], roof.at(1))
        right, text = WIDTH - RIGHT - 8, roof_text(roof)
        self._taken += [(right - 7.5 * at, y - 8) for at in range(0, len(text), 2)]
        return _text(right, y - 8, text, style, "end")

    def _slope_name(self, roof: Roof, start: float) -> str:
        """Along the slope, above it, at its angle: points lie below."""
        intensity = start * (self.line.ridge / start) ** 0.5
        x, y = self.place(intensity, roof.at(intensity))
        x1, y1 = self.place(self.line.ridge, self.line.compute.at(1))
        angle = _degrees(x1 - x, y1 - y)
        return (
            f'<text class="roof-name" text-anchor="middle" '
            f'transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})" dy="-10">'
            f"{escape(roof_text(roof))}</text>"
        )

    def _points(self) -> Iterator[str]:
        marks = [self._beside(*self._at(item)) for item in self.placed]
        for item, (x1, y1) in zip(self.placed, marks, strict=True):
            x, y = self._at(item)
            if hypot(x1 - x, y1 - 4 - y) > _NEAREST:
                yield f'<path class="leader" d="M{x:.1f} {y:.1f}L{x1:.1f} {y1 - 4:.1f}"/>'
        for item in self.placed:
            x, y = self._at(item)
            style = "point above" if item.above_roof else "point"
            if item.point.flop_per_s is not None and not item.above_roof:
                _, roof = self.place(item.point.arithmetic_intensity, item.attainable_flop_per_s)
                yield f'<path class="to-roof" d="M{x:.1f} {y:.1f}V{roof:.1f}"/>'
            yield f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
        for index, mark in enumerate(marks, start=1):
            yield _text(*mark, str(index), "mark", "middle")

    def _at(self, item: Placed) -> tuple[float, float]:
        return self.place(item.point.arithmetic_intensity, height_of(item))

    def _dot(self, item: Placed) -> tuple[float, float]:
        x, y = self._at(item)
        return x, y + 4

    def _beside(self, x: float, y: float) -> tuple[float, float]:
        """The nearest place for a point's number where no other number, point or name stands."""
        around = [(x + r * dx, y + 4 + r * dy) for r in _DISTANCES for dx, dy in _DIRECTIONS]
        inside = [place for place in around if _in_plot(*place)]
        free = (place for place in inside if not any(map(_near(place), self._taken)))
        chosen = next(free, around[0])
        self._taken.append(chosen)
        return chosen

    def _legend(self) -> Iterator[str]:
        top = TOP + PLOT + 84
        width = (WIDTH - LEGEND_LEFT - RIGHT) / LEGEND_COLUMNS
        rows = -(-len(self.placed) // LEGEND_COLUMNS)
        for index, item in enumerate(self.placed):
            x = LEGEND_LEFT + width * (index // rows)
            y = top + LEGEND_ROW * (index % rows)
            name = _shortened(item.point.name)
            yield (
                f'<text class="mark" x="{x:.0f}" y="{y}" text-anchor="end">{index + 1}</text>'
                f'<text class="legend" x="{x + 8:.0f}" y="{y}">{escape(name)}'
                f"{self._verdict(item)}</text>"
            )

    def _verdict(self, item: Placed) -> str:
        if item.fraction_of_roof is None:
            text = f"at most {si(item.attainable_flop_per_s, self.unit + '/s', 3)}"
        else:
            text = f"{percent(item.fraction_of_roof)} of its roof"
        style = "above-text" if item.above_roof else "legend-soft"
        return f'<tspan dx="8" class="{style}">{escape(text)}</tspan>'


def _shortened(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 9]}…{name[-8:]}"


_NEAREST = 16
_DISTANCES = (14, 24, 36, 50, 66, 84)
_DIRECTIONS = (
    (0.7, 0.7),
    (0.9, 0),
    (0, 1),
    (-0.7, 0.7),
    (-0.9, 0),
    (0, -1),
    (0.7, -0.7),
    (-0.7, -0.7),
)


def _in_plot(x: float, y: float) -> bool:
    return LEFT + 10 < x < WIDTH - RIGHT - 10 and TOP + 14 < y < TOP + PLOT - 6


def _near(one: tuple[float, float]) -> Callable[[tuple[float, float]], bool]:
    return lambda other: abs(one[0] - other[0]) < 16 and abs(one[1] - other[1]) < 12


def _degrees(across: float, down: float) -> float:
    return degrees(atan2(down, across))


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
