"""GPUs side by side: a table, and their rooflines in one drawing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.comparison import Comparison, Contender
from kmeter.model.compute_units import label, operation
from kmeter.units import UNKNOWN, number
from kmeter.views.quantities import quantity_document
from kmeter.views.roofline_json import device_document
from kmeter.views.roofline_plot import RooflinePlot
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

_NARROWEST_PLOT = 60


@dataclass(frozen=True)
class ComparisonView:
    """The table, a line for each unknown, and the overlaid rooflines."""

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
        for contender in found.contenders:
            if contender.unknown:
                yield indented(f"{contender.device.name}: {contender.unknown}")
        lines = [contender.line for contender in found.contenders if contender.line]
        if lines and options.max_width >= _NARROWEST_PLOT:
            yield ""
            yield RooflinePlot(lines)


def _listed(found: Comparison) -> str:
    return ", ".join(number(intensity) for intensity in found.intensities)


def comparison_table(found: Comparison) -> WideOrStacked:
    """A row a GPU, numbered as its roofline is in the drawing."""
    priced = any(contender.cost_per_hour for contender in found.contenders)
    columns = [Column("gpu", right=False), Column("DRAM"), Column("peak"), Column("ridge")]
    for intensity in found.intensities:
        columns += [Column(f"at {number(intensity)}"), Column("relative"), Column("per W")]
        columns += [Column("per $")] if priced else []
    rows = [
        _row(found, index, contender, priced) for index, contender in enumerate(found.contenders)
    ]
    return WideOrStacked(columns, rows)


def legend(found: Comparison) -> str:
    """The units of the table's columns."""
    unit = operation(found.unit)
    text = f"DRAM: GB/s; peak, at: T{unit}/s; ridge: {unit}/byte; per W: G{unit}/s/W"
    if any(contender.cost_per_hour for contender in found.contenders):
        text += f"; per $: P{unit}"
    return text


def _row(found: Comparison, index: int, contender: Contender, priced: bool) -> tuple[Cell, ...]:
    row = [
        f"{index + 1} {contender.device.target.removeprefix('catalogue:')}",
        _scaled(contender.dram_bytes_per_s.value, 1e9),
        _scaled(contender.flop_per_s.value, 1e12),
        number(contender.line.ridge if contender.line else None),
    ]
    for at in range(len(found.intensities)):
        relative = found.relative(contender, at)
        row += [
            _scaled(contender.attainable[at], 1e12),
            UNKNOWN if relative is None else f"{number(relative, 3)}x",
            _scaled(contender.per_watt(at), 1e9, 3),
        ]
        row += [_scaled(contender.per_cost(at), 1e15, 3)] if priced else []
    return tuple(row)


def _scaled(value: float | None, scale: float, digits: int = 4) -> str:
    return UNKNOWN if value is None else number(value / scale, digits)


# ---- JSON -----------------------------------------------------------------------------------


def comparison_document(found: Comparison) -> dict[str, Any]:
    """``kmeter.compare/1``."""
    return {
        "schema": "kmeter.compare/1",
        "unit": found.unit,
        "arithmetic_intensities": list(found.intensities),
        "gpus": [_contender_document(found, contender) for contender in found.contenders],
    }


def _contender_document(found: Comparison, contender: Contender) -> dict[str, Any]:
    line = contender.line
    return {
        **device_document(contender.device),
        "dram_bytes_per_s": quantity_document(contender.dram_bytes_per_s),
        "flop_per_s": quantity_document(contender.flop_per_s),
        "ridge_flop_per_byte": line.ridge if line else None,
        "ridge_flop_per_byte_reason": contender.unknown or None,
        "tdp_w": contender.device.tdp_w,
        "cost_per_hour": contender.cost_per_hour,
        "at": [
            {
                "arithmetic_intensity": intensity,
                "attainable_flop_per_s": contender.attainable[at],
                "attainable_flop_per_s_reason": contender.unknown or None,
                "relative": found.relative(contender, at),
                "flop_per_s_per_w": contender.per_watt(at),
                "flop_per_cost": contender.per_cost(at),
            }
            for at, intensity in enumerate(found.intensities)
        ],
    }
