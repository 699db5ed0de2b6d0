"""The roofline as a drawing in the terminal, at the width it is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_letters

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.compute_units import label, operation
from kmeter.model.roofline import Bound, Placed, Roof, Roofline, ridge
from kmeter.units import number, si
from kmeter.views.canvas import Canvas
from kmeter.views.log_axis import LogAxis, power_of_two, powers_around, room_around

MANY = "*"
"""Stands for every point beyond the letters, and for points that share a cell."""

_STYLES = ("bold cyan", "magenta", "green", "yellow", "blue", "red")
_LEAST_HEIGHT, _MOST_HEIGHT = 10, 26
_TICK_CELLS = 8


@dataclass(frozen=True)
class Frame:
    """What part of the plane is drawn: FLOP/byte by FLOP/s."""

    intensities: tuple[float, float]
    rates: tuple[float, float]

    def zoomed(self, factor: float) -> "Frame":
        """The middle of it, ``factor`` times as large on both axes."""
        return Frame(_stretched(self.intensities, factor), _stretched(self.rates, factor))

    def panned(self, right: float, up: float) -> "Frame":
        """Moved by shares of its width and height."""
        return Frame(_moved(self.intensities, right), _moved(self.rates, up))

    def holds(self, intensity: float, rate: float) -> bool:
        """Whether a point can be seen in it."""
        left, end = self.intensities
        return left <= intensity <= end and self.rates[0] <= rate <= self.rates[1]


_LEAST_SPAN, _MOST_SPAN = 4.0, 1e12


def _stretched(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    middle, span = (ends[0] * ends[1]) ** 0.5, (ends[1] / ends[0]) ** factor
    half = min(_MOST_SPAN, max(_LEAST_SPAN, span)) ** 0.5
    return middle / half, middle * half


def _moved(ends: tuple[float, float], share: float) -> tuple[float, float]:
    by = (ends[1] / ends[0]) ** share
    return ends[0] * by, ends[1] * by


@dataclass(frozen=True)
class RooflinePlot:
    """Roofs as lines, points as letters; a legend is the caller's business."""

    rooflines: Sequence[Roofline]
    """More than one are overlaid, each in a style and with a number of its own."""
    placed: Sequence[Placed] = ()
    numbers: Sequence[int] = ()
    """What each of several rooflines is called in the caller's table."""
    frame: Frame | None = None
    """None for one that holds every ridge and point; points outside of a given one are not drawn."""
    height: int | None = None
    """Of the drawing without its axes; None for one that suits the width."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        frame = self.frame or frame_of(self.rooflines, self.placed)
        unit = f"{operation(self.rooflines[0].compute.name)}/s"
        gutter = max(len(si(tick, unit)) for tick in _decades(frame.rates)) + 1
        width = max(16, options.max_width - gutter - 1)
        height = _height(console, width) if self.height is None else self.height
        canvas = Canvas(width, height, ascii_only=options.ascii_only)
        drawing = _Drawing(canvas, frame)
        self._draw(drawing)
        yield from _with_axes(canvas, drawing, gutter, unit)

    def _draw(self, drawing: "_Drawing") -> None:
        for index, line in enumerate(self.rooflines):
            drawing.roofs(line, _STYLES[index % len(_STYLES)])
        for index, placed in enumerate(self.placed):
            if drawing.frame.holds(placed.point.arithmetic_intensity, height_of(placed)):
                drawing.point(placed, mark(index))
        for index, line in enumerate(self.rooflines):
            tag = str(self.numbers[index]) if self.numbers else ""
            drawing.labels(line, _STYLES[index % len(_STYLES)], tag)
        if len(self.rooflines) == 1:
            drawing.ridge(self.rooflines[0])


def mark(index: int) -> str:
    """The letter of a point, in the drawing and in its legend."""
    return (
        ascii_letters[26:52][index]
        if index < 26
        else ascii_letters[index - 26 : index - 25] or MANY
    )


def height_of(placed: Placed) -> float:
    """Where a point stands: what it reached, or for a question what it could."""
    return placed.point.flop_per_s or placed.attainable_flop_per_s


def frame_of(rooflines: Sequence[Roofline], placed: Sequence[Placed]) -> Frame:
    """The powers of two around every ridge and intensity, and the rates that occur there."""
    ridges = [line.ridge for line in rooflines]
    further = [4 * ridge(line.memory, roof) for line in rooflines for roof in line.others]
    points = [item.point.arithmetic_intensity for item in placed]
    low, high = powers_around([min(ridges) / 64, max(ridges) * 8, *further, *points], 2)
    roofs = [roof for line in rooflines for roof in line.roofs]
    tops = [roof.at(1) for roof in roofs if roof.bound is Bound.COMPUTE]
    bottoms = [line.memory.at(low) for line in rooflines]
    return Frame((low, high), room_around([*bottoms, *tops, *map(height_of, placed)]))


def _decades(rates: tuple[float, float]) -> list[float]:
    return LogAxis(*rates, 1).powers(10, 100)


def _height(console: Console, width: int) -> int:
    height = min(_MOST_HEIGHT, max(_LEAST_HEIGHT, width // 3))
    if console.is_terminal:
        height = max(_LEAST_HEIGHT, min(height, console.size.height - 8))
    return height


class _Drawing:
    """Roofs, ridge and points on a canvas."""

    def __init__(self, canvas: Canvas, frame: Frame) -> None:
        self.canvas, self.frame = canvas, frame
        self.x = LogAxis(*frame.intensities, canvas.width - 1)
        self.y = LogAxis(*frame.rates, canvas.height - 1)

    def place(self, intensity: float, rate: float) -> tuple[float, float]:
        return self.x.at(intensity), self.canvas.height - 1 - self.y.at(rate)

    def roofs(self, line: Roofline, style: str) -> None:
        high = self.frame.intensities[1]
        flat = (line.compute, *line.others)
        for memory in (line.memory, *line.levels):
            low, top = self._slope_ends(line, memory)
            if low < top:
                self._line((low, memory.at(low)), (top, memory.at(top)), style)
        for roof in flat:
            self._line((ridge(line.memory, roof), roof.at(1)), (high, roof.at(1)), style)

    def labels(self, line: Roofline, style: str, tag: str) -> None:
        for roof in (line.compute, *line.others):
            self._label_flat(roof, ridge(line.memory, roof), tag, style)
        for memory in (line.memory, *line.levels):
            self._label_slope(memory, self._slope_ends(line, memory), tag, style)

    def _slope_ends(self, line: Roofline, memory: Roof) -> tuple[float, float]:
        """Where a memory roof enters the drawing, and where it meets the highest roof."""
        low = max(self.frame.intensities[0], self.frame.rates[0] / memory.at(1))
        return low, max(ridge(memory, roof) for roof in (line.compute, *line.others))

    def _line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        self.canvas.line(self.place(*start), self.place(*end), style)

    def _label_flat(self, roof: Roof, intensity: float, tag: str, style: str) -> None:
        row = int(self.place(intensity, roof.at(1))[1])
        for text in _wordings(roof, tag):
            column = self.canvas.width - len(text)
            for at in (row - 1, row + 1, row - 2, row + 2):
                if self.canvas.is_free(column - 1, at, len(text) + 1):
                    self.canvas.write(column, at, text, style)
                    return
        self._number_line(roof, (self.frame.intensities[1], intensity), tag, style)

    def _label_slope(self, roof: Roof, ends: tuple[float, float], tag: str, style: str) -> None:
        for text in _wordings(roof, tag):
            for column, row in self._beside_slope(roof, ends, len(text)):
                if self.canvas.is_free(column, row, len(text)):
                    self.canvas.write(column, row, text, style)
                    return
        self._number_line(roof, ends, tag, style)

    def _beside_slope(
        self, roof: Roof, ends: tuple[float, float], length: int
    ) -> Iterator[tuple[int, int]]:
        """Places for a label below the slope to its right, or above to its left."""
        low, high = ends[0], self.frame.intensities[1]
        for share in (0.35, 0.25, 0.45, 0.15, 0.55, 0.05):
            intensity = low * (high / low) ** share
            if intensity < ends[1]:
                x, y = map(int, self.place(intensity, roof.at(intensity)))
                yield x + 3, y + 1
                yield x - 2 - length, y - 1

    def _number_line(self, roof: Roof, ends: tuple[float, float], tag: str, style: str) -> None:
        """Where no label found room: the number of the roofline on the line itself."""
        for step in range(1, 20):
            intensity = ends[0] * (ends[1] / ends[0]) ** (step / 20)
            column, row = map(int, self.place(intensity, roof.at(intensity)))
            if tag and self.canvas.is_unwritten(column - 1, row, len(tag) + 2):
                self.canvas.write(column, row, tag, style)
                return

    def ridge(self, line: Roofline) -> None:
        x, y = self.place(line.ridge, line.compute.at(1))
        dots, corner = (":", "o") if self.canvas.ascii_only else ("┊", "◇")
        for row in range(int(y) + 1, self.canvas.height):
            if self.canvas.is_free(int(x), row, 1):
                self.canvas.write(int(x), row, dots, "dim")
        if self.canvas.is_unwritten(int(x), int(y), 1):
            self.canvas.write(int(x), int(y), corner, "bold")
        self._label_ridge(int(x), f"ridge {number(line.ridge)}")

    def _label_ridge(self, x: int, text: str) -> None:
        for row in range(self.canvas.height - 1, 0, -1):
            for column in (x + 2, x - len(text) - 1):
                if self.canvas.is_free(column, row, len(text)):
                    self.canvas.write(column, row, text, "dim")
                    return

    def point(self, placed: Placed, letter: str) -> None:
        x, y = self.place(placed.point.arithmetic_intensity, height_of(placed))
        shared = not self.canvas.is_unwritten(int(x), int(y), 1)
        style = "bold reverse red" if placed.above_roof else "bold reverse"
        self.canvas.write(int(x), int(y), MANY if shared else letter, style)


def _wordings(roof: Roof, tag: str) -> tuple[str, ...]:
    """What may stand beside a roof, in the order of preference; a rate is also in the heading."""
    if tag:
        return (f"{tag} {roof_text(roof)}",)
    unit = "B/s" if roof.bound is Bound.MEMORY else f"{operation(roof.name)}/s"
    return roof_text(roof), si(roof.rate.value, unit)


def roof_text(roof: Roof) -> str:
    """``DRAM 3.352 TB/s`` or ``fp32 66.91 TFLOP/s``."""
    if roof.bound is Bound.MEMORY:
        return f"{roof.name} {si(roof.rate.value, 'B/s')}"
    return f"{label(roof.name)} {si(roof.rate.value, operation(roof.name) + '/s')}"


# ---- axes -----------------------------------------------------------------------------------


def _with_axes(canvas: Canvas, drawing: _Drawing, gutter: int, unit: str) -> Iterator[Text]:
    ascii_only = canvas.ascii_only
    upright, level, corner = ("|", "-", "+") if ascii_only else ("│", "─", "└")
    rows = {
        canvas.height - 1 - round(drawing.y.at(t)): si(t, unit)
        for t in _decades(drawing.frame.rates)
    }
    for row, line in enumerate(canvas.rows()):
        axis = (f"{rows.get(row, ''):>{gutter - 1}} {upright}", "dim")
        yield Text.assemble(axis, line)
    yield Text(" " * gutter + corner + level * canvas.width, style="dim")
    yield Text(" " * (gutter + 1) + _tick_labels(drawing.x, canvas.width), style="dim")
    yield Text(
        " " * (gutter + 1) + f"{unit.removesuffix('/s')}/byte".center(canvas.width).rstrip(),
        style="dim",
    )


def _tick_labels(axis: LogAxis, width: int) -> str:
    cells = [" "] * width
    for tick in axis.powers(2, max(2, width // _TICK_CELLS)):
        text = power_of_two(tick)
        start = min(max(0, round(axis.at(tick)) - len(text) // 2), width - len(text))
        cells[start : start + len(text)] = text
    return "".join(cells).rstrip()
