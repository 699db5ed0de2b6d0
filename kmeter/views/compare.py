"""GPUs side by side: a table, what is unknown and why, and their rooflines in one drawing."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.comparison import NO_POWER_LIMIT, NO_PRICE, Comparison, Contender
from kmeter.model.compute_units import label, operation
from kmeter.units import UNKNOWN, number, scaled
from kmeter.views.roofline_plot import RooflinePlot
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

_NARROWEST_PLOT = 60


@dataclass(frozen=True)
class ComparisonView:
    """The table, a line for each card with unknowns, and the overlaid rooflines."""

    found: Comparison

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        found = self.found
        unit = operation(found.unit)
        yield Text.assemble(
            (label(found.unit), "bold"), f", attainable at {_listed(found)} {unit}/byte"
        )
        yield ""
        yield comparison_table(found)
        yield Text(legend(found), style="dim")
        yield from map(indented, footnotes(found))
        if options.max_width >= _NARROWEST_PLOT:
            yield from _drawing(found)


def _drawing(found: Comparison) -> Iterator[RenderableType]:
    numbered = [(number, each.line) for number, each in enumerate(found.contenders, 1) if each.line]
    if numbered:
        several = len(found.contenders) > 1
        numbers = [number for number, _ in numbered] if several else []
        yield ""
        yield RooflinePlot([line for _, line in numbered], numbers=numbers)


def _listed(found: Comparison) -> str:
    return ", ".join(number(intensity, 12) for intensity in found.intensities)


def comparison_table(found: Comparison) -> WideOrStacked:
    """A row a GPU, numbered as its roofline is in the drawing."""
    columns = [Column("gpu", right=False), Column("DRAM"), Column("peak"), Column("ridge")]
    for intensity in found.intensities:
        columns += [Column(f"at {number(intensity, 12)}"), Column("relative"), Column("per W")]
        columns += [Column("per $")] if found.is_priced else []
    rows = [_row(found, index, each) for index, each in enumerate(found.contenders)]
    return WideOrStacked(columns, rows)


def legend(found: Comparison) -> str:
    """The units of the table's columns."""
    unit = operation(found.unit)
    text = f"DRAM: GB/s; peak, at: T{unit}/s; ridge: {unit}/byte; per W: G{unit}/s/W"
    if found.is_priced:
        text += f"; per $: P{unit}"
    return text


def footnotes(found: Comparison) -> Iterator[str]:
    """For each card that has a dash in the table, why."""
    for contender in found.contenders:
        reasons = [
            contender.unknown,
            "" if contender.device.tdp_w else NO_POWER_LIMIT,
            NO_PRICE if found.is_priced and contender.cost_per_hour is None else "",
        ]
        if any(reasons):
            yield f"{contender.device.name}: {'; '.join(filter(None, reasons))}"


def _row(found: Comparison, index: int, contender: Contender) -> tuple[Cell, ...]:
    row = [
        f"{index + 1} {contender.device.target.removeprefix('catalogue:')}",
        scaled(contender.dram_bytes_per_s.value, 1e9),
        scaled(contender.flop_per_s.value, 1e12),
        number(contender.line.ridge if contender.line else None),
    ]
    for at in range(len(found.intensities)):
        relative = found.relative(contender, at)
        row += [
            scaled(contender.attainable[at], 1e12),
            UNKNOWN if relative is None else f"{number(relative, 3)}x",
            scaled(contender.per_watt(at), 1e9, 3),
        ]
        row += [scaled(contender.per_cost(at), 1e15, 3)] if found.is_priced else []
    return tuple(row)
