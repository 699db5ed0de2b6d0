"""The catalogue as a list: one line a card, as many columns as the terminal holds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.units import UNKNOWN, number, scaled
from kmeter.views.gpu_card import Card
from kmeter.views.tables import Column, WideOrStacked, table_width

_MIB = 2**20


class _Figure(NamedTuple):
    """One column: its heading in a table, its name and unit in a block of lines."""

    heading: str
    label: str
    unit: str
    of: Callable[[Card], str]
    tier: int = 0
    """Columns of a higher tier go first where the line is too narrow."""
    right: bool = True


def _plain_name(card: Card) -> str:
    return card.device.name.removeprefix("NVIDIA ")


def _tera(unit: str) -> Callable[[Card], str]:
    return lambda card: scaled(card.peaks.flop_per_s[unit].value, 1e12)


def _ridge(card: Card) -> str:
    fp32, dram = card.peaks.flop_per_s["fp32"].value, card.peaks.dram_bytes_per_s.value
    return number(fp32 / dram if fp32 and dram else None, digits=3)


_FIGURES = (
    _Figure("gpu", "gpu", "", lambda card: card.id, right=False),
    _Figure("name", "name", "", _plain_name, tier=3, right=False),
    _Figure("product", "product", "", lambda card: card.product, tier=2, right=False),
    _Figure("cc", "cc", "", lambda card: card.device.compute_capability, tier=1),
    _Figure("SMs", "SMs", "", lambda card: number(card.device.sm_count), tier=1),
    _Figure("MHz", "SM clock", "MHz", lambda card: scaled(card.device.sm_clock_hz, 1e6), tier=1),
    _Figure("L2 MiB", "L2", "MiB", lambda card: scaled(card.device.l2_bytes, _MIB), tier=2),
    _Figure("memory", "memory", "", lambda card: card.device.memory_type, tier=2, right=False),
    _Figure("GB", "memory", "GB", lambda card: number(card.device.memory_gb)),
    _Figure("GB/s", "DRAM", "GB/s", lambda card: scaled(card.peaks.dram_bytes_per_s.value, 1e9)),
    _Figure("ridge", "ridge", "FLOP/byte", _ridge, tier=2),
    _Figure("fp64", "fp64", "TFLOP/s", _tera("fp64"), tier=2),
    _Figure("fp32", "fp32", "TFLOP/s", _tera("fp32")),
    _Figure("fp16 tc", "fp16 tensor", "TFLOP/s", _tera("fp16_tensor")),
    _Figure("fp8 tc", "fp8 tensor", "TFLOP/s", _tera("fp8_tensor"), tier=2),
    _Figure("W", "TDP", "W", lambda card: number(card.device.tdp_w), tier=1),
)
_TIERS = (3, 2, 1, 0)
_STACKED = tuple(figure for figure in _FIGURES if figure.tier <= 1 or figure.heading == "name")


@dataclass(frozen=True)
class GpusTable:
    """Cards as lines of numbers; where even the fewest columns do not fit, as blocks."""

    cards: Sequence[Card]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        table = [(figure, (figure.heading, *map(figure.of, self.cards))) for figure in _FIGURES]
        for tier in _TIERS:
            chosen = [column for column in table if column[0].tier <= tier]
            if table_width(cells for _, cells in chosen) <= options.max_width:
                yield from _lines(chosen)
                return
        yield self._blocks()

    def _blocks(self) -> WideOrStacked:
        columns = [Column(figure.label, right=False) for figure in _STACKED]
        rows = [[_with_unit(figure, card) for figure in _STACKED] for card in self.cards]
        return WideOrStacked(columns, rows, emphasised=frozenset(range(len(rows))))


def _lines(table: Sequence[tuple[_Figure, tuple[str, ...]]]) -> Iterator[RenderableType]:
    figures = [figure for figure, _ in table]
    _, *rows = zip(*(cells for _, cells in table), strict=True)
    yield WideOrStacked([Column(figure.heading, figure.right) for figure in figures], rows)
    yield Text(f"\n{_legend(figures)}", style="dim")


def _with_unit(figure: _Figure, card: Card) -> str:
    text = figure.of(card)
    return text if text == UNKNOWN else f"{text} {figure.unit}".rstrip()


def _legend(figures: Sequence[_Figure]) -> str:
    headings = {figure.heading for figure in figures}
    parts = ["fp: dense TFLOP/s", "tc: tensor cores, fp32 accumulate", "GB/s: DRAM"]
    if "MHz" in headings:
        parts.append("MHz: boost")
    if "ridge" in headings:
        parts.append("ridge: fp32 FLOP/byte")
    return "; ".join(parts)
