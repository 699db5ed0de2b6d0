"""A roofline for people: its roofs with their sources, the drawing, and each point's verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.compute_units import label, operation
from kmeter.model.device import Source
from kmeter.model.roofline import Bound, Placed, Roof, Roofline
from kmeter.units import UNKNOWN, number, percent, shortened, si
from kmeter.views.roofline_plot import RooflinePlot, mark, roof_text
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

_SHORTEST_NAME = 14
_OF_MEASURED = "% of measured"
_BESIDE_THE_NAME = 46
"""Cells that the other columns of the table of points take."""


@dataclass(frozen=True)
class RooflineView:
    """The roofline of one device, with points under it."""

    line: Roofline
    placed: Sequence[Placed]
    measured: Roofline | None = None
    """The same roofs by the card's own ceilings, where they were measured."""
    remarks: Sequence[str] = ()
    """What a reader of the points should know."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        line, device = self.line, self.line.device
        yield Text.assemble((device.name, "bold"), f" {_of_compute_capability(line)}")
        for roof in line.roofs:
            yield indented(f"{roof_text(roof)}, {source_text(line, roof)}")
        for roof in line.unknown:
            yield indented(f"{label(roof.name)} {UNKNOWN}, {roof.rate.reason}")
        yield indented(f"ridge at {number(line.ridge)} {_intensity_unit(line)}")
        if self.measured:
            yield indented(f"measured here: {measured_text(line, self.measured)}")
        yield ""
        yield RooflinePlot([line], self.placed)
        if self.placed:
            yield ""
            yield points_table(line, self.placed, options.max_width, self.measured)
            yield ""
        yield from _verdicts(line, self.placed)
        yield from map(indented, self.remarks)


def _of_compute_capability(line: Roofline) -> str:
    compute_capability = line.device.compute_capability
    return f"({compute_capability})" if compute_capability else ""


def _intensity_unit(line: Roofline) -> str:
    return f"{operation(line.compute.name)}/byte"


def source_text(line: Roofline, roof: Roof) -> str:
    """``derived from the catalogue at 1.98 GHz`` or ``given``."""
    if roof.rate.source is Source.DERIVED:
        clock = f" at {si(roof.rate.clock_hz, 'Hz')}" if roof.rate.clock_hz else ""
        return f"derived from the {line.device.source}{clock}"
    return str(roof.rate.source)


# ---- points ---------------------------------------------------------------------------------


def measured_text(line: Roofline, measured: Roofline) -> str:
    """The ceilings, each with its share of the peak."""
    peaks = {roof.name: roof.at(1) for roof in (line.memory, line.compute, *line.others)}
    return ", ".join(
        f"{roof_text(roof)} ({percent(roof.at(1) / peaks[roof.name])} of the peak)"
        for roof in (measured.memory, measured.compute, *measured.others)
    )


def points_table(
    line: Roofline, placed: Sequence[Placed], width: int, measured: Roofline | None = None
) -> WideOrStacked:
    """A row a point: its intensity, what it could attain, and how near it came."""
    unit = f"{operation(line.compute.name)}/s"
    scale, prefix = _common_scale([item.attainable_flop_per_s for item in placed])
    beside = _BESIDE_THE_NAME + (len(_OF_MEASURED) + 2 if measured else 0)
    longest = max(_SHORTEST_NAME, width - beside)
    rows = [_point_row(index, item, scale, longest) for index, item in enumerate(placed)]
    if measured:
        rows = [
            (*row, _of_measured(item, measured)) for row, item in zip(rows, placed, strict=True)
        ]
    columns = [
        Column("point", right=False),
        Column("AI"),
        Column("roof"),
        Column("bound", right=False),
        Column("reached"),
        Column("%"),
        *([Column(_OF_MEASURED)] if measured else []),
    ]
    title = f"AI in {_intensity_unit(line)}, roof and reached in {prefix}{unit}, % of the roof"
    return WideOrStacked(columns, rows, title=title)


def _common_scale(values: Sequence[float]) -> tuple[float, str]:
    """The decimal prefix in which the largest value reads well."""
    largest = max(values)
    for prefix, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if largest >= scale:
            return scale, prefix
    return 1.0, ""


def _point_row(index: int, placed: Placed, scale: float, longest: int) -> tuple[Cell, ...]:
    point, fraction = placed.point, placed.fraction_of_roof
    return (
        f"{mark(index)} {shortened(point.name, longest)}",
        number(point.arithmetic_intensity),
        number(placed.attainable_flop_per_s / scale),
        str(placed.bound),
        UNKNOWN if point.flop_per_s is None else number(point.flop_per_s / scale),
        UNKNOWN if fraction is None else number(100 * fraction, 3),
    )


def _of_measured(placed: Placed, measured: Roofline) -> str:
    fraction = measured.place(placed.point).fraction_of_roof
    return UNKNOWN if fraction is None else number(100 * fraction, 3)


def _verdicts(line: Roofline, placed: Sequence[Placed]) -> Iterator[RenderableType]:
    for item in placed:
        if item.point.flop_per_s is None:
            yield question_text(line, item)
        elif item.above_roof:
            yield Text(above_text(item), style="bold red")


def question_text(line: Roofline, placed: Placed) -> str:
    """What an intensity alone can attain, and against the compute peak."""
    unit = f"{operation(line.compute.name)}/s"
    share = placed.attainable_flop_per_s / line.compute.at(1)
    of_peak = f", {percent(share)} of the {label(line.compute.name)} peak"
    return (
        f"{placed.point.name}: {placed.bound}-bound, at most "
        f"{si(placed.attainable_flop_per_s, unit)}"
        f"{of_peak if placed.bound is Bound.MEMORY else ''}"
    )


def above_text(placed: Placed) -> str:
    """The call to look again at a point that is faster than its roof."""
    share = percent(placed.fraction_of_roof)
    return (
        f"{shortened(placed.point.name, 40)}: {share} of the roof: "
        "check bytes, flop, L2 hits, clocks"
    )
