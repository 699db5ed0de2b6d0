"""The peaks of one card, each beside what the vendor prints for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.compute_units import DENSE_UNITS, SPARSE, UNITS, label, operation
from kmeter.model.device import PrintedFigure, Quantity, Source
from kmeter.units import UNKNOWN, number, percent, si
from kmeter.views.gpu_card import Card
from kmeter.views.tables import Column, WideOrStacked, indented, table_width

MARK = "!"
"""Beside a figure that the derived one does not reproduce within 1 %."""

_AS_PRINTED = "="
"""Beside a peak that is not derived: the printed figure is all there is."""

_COLUMNS = (
    Column("unit", right=False),
    Column("peak"),
    Column("MHz"),
    Column("printed"),
    Column("off"),
    Column("cited", right=False),
    Column("source", right=False, optional=True),
)

_UNITS = tuple(unit for base in DENSE_UNITS for unit in (base, base + SPARSE) if unit in UNITS)
"""Every unit, the sparse rate after its dense one."""

_Row = tuple[str, ...]


@dataclass(frozen=True)
class PeaksTable:
    """A line for each peak or printed figure; where it does not fit, a few short ones."""

    card: Card

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        rows = _rows(self.card)
        essential = [i for i, column in enumerate(_COLUMNS) if not column.optional]
        columns = ((_COLUMNS[i].heading, *(row[i] for row in rows)) for i in essential)
        if table_width(columns) <= options.max_width:
            yield WideOrStacked(_COLUMNS, rows)
        else:
            yield from _blocks(rows)
        yield Text(_legend(self.card), style="dim")


def called(unit: str) -> str:
    """The unit, or ``dram``, as people write it."""
    return "DRAM" if unit == "dram" else label(unit)


# ---- rows -----------------------------------------------------------------------------------


def _rows(card: Card) -> list[_Row]:
    quantities = {"dram": card.peaks.dram_bytes_per_s, **card.peaks.flop_per_s}
    rows: list[_Row] = []
    for unit in ("dram", *_UNITS):
        printed = [figure for figure in card.device.printed if figure.unit == unit]
        if printed:
            rows += [_row(card, unit, quantities[unit], figure) for figure in printed]
        elif quantities[unit].value is not None:
            rows.append(_row(card, unit, quantities[unit], None))
    return rows


def _row(card: Card, unit: str, peak: Quantity, figure: PrintedFigure | None) -> _Row:
    return (
        "  sparse" if unit.endswith(SPARSE) else called(unit).replace("accumulate", "acc."),
        si(peak.value, "B/s" if unit == "dram" else f"{operation(unit)}/s"),
        number(peak.clock_hz / 1e6) if peak.clock_hz else "",
        figure.printed if figure else "",
        _deviation(peak, figure) if figure else "",
        card.footnotes(figure.sources) if figure else "",
        peak.source or "",
    )


def _deviation(peak: Quantity, figure: PrintedFigure) -> str:
    if peak.value is None:
        return UNKNOWN
    if peak.source is Source.CATALOGUE:
        return _AS_PRINTED
    off = round(peak.value / figure.value - 1, 4)
    mark = f" {MARK}" if figure.exception else ""
    return f"{'+' if off > 0 else ''}{percent(off, digits=2)}{mark}"


def _blocks(rows: list[_Row]) -> Iterator[RenderableType]:
    for name, peak, mhz, printed, off, cited, _ in rows:
        yield name
        yield indented(f"{peak} at {mhz} MHz" if mhz else peak, 4)
        if printed:
            yield indented(f"printed {printed}, off {off}, cited {cited}", 4)


def _legend(card: Card) -> str:
    text = "peak: SMs x rate x clock, bus width x data rate; off: peak against printed"
    quantities = (card.peaks.dram_bytes_per_s, *card.peaks.flop_per_s.values())
    if any(peak.source is Source.CATALOGUE for peak in quantities):
        text += f"\n{_AS_PRINTED}: not derived, the printed figure stands"
    return text
