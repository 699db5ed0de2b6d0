"""A card for people: its rows by section, short or whole, and what differs between two."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.card import Card, Machine
from kmeter.model.device import Source
from kmeter.units import UNKNOWN
from kmeter.views.card_rows import Row, card_rows
from kmeter.views.tables import Cell, Column, Pairs, WideOrStacked

NOT_COMPARED = {"ordinal", "uuid", "pci_bus_id", "nvml_index", "recorded_at"}
"""Rows that differ between any two cards and say nothing about what they can do."""


@dataclass(frozen=True)
class CardView:
    """A card's rows; ``grep`` keeps those that hold a word."""

    card: Card
    machine: Machine
    everything: bool = False
    grep: str = ""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield Text(self.card.device.name, style="bold")
        if self.machine.recorded_at:
            yield Text(
                f"a recording of {self.machine.recorded_at[:10]}, not this machine", style="dim"
            )
        if self.machine.nvml_version.value is None and self._is_live:
            yield Text(f"NVML: {self.machine.nvml_version.reason}", style="yellow")
        if self.card.lost:
            yield Text(f"lost: {self.card.lost}", style="bold red")
        rows = [row for row in card_rows(self.card, self.machine) if self._is_shown(row)]
        longest = max((len(row.label) for row in rows), default=0)
        for section, found in groupby(rows, key=lambda row: row.section):
            yield ""
            yield Text(section, style="bold")
            yield Pairs(
                [(row.label, _value(row), _note(row)) for row in found],
                indent=2,
                label_width=min(longest, options.max_width // 3),
            )

    def _is_shown(self, row: Row) -> bool:
        if self.grep:
            return self.grep.lower() in f"{row.section} {row.name} {row.label} {row.text}".lower()
        has_something = row.value is not None or (bool(row.reason) and not self._is_catalogue)
        return self.everything or (row.brief and has_something)

    @property
    def _is_live(self) -> bool:
        return self.card.device.source is Source.DRIVER

    @property
    def _is_catalogue(self) -> bool:
        """Nobody read anything of such a card: what is unknown is no news."""
        return self.card.device.source is Source.CATALOGUE


def _value(row: Row) -> Cell:
    return UNKNOWN if row.value is None else row.text


def _note(row: Row) -> str:
    return row.reason if row.value is None else row.source


@dataclass(frozen=True)
class DifferenceView:
    """What differs between two cards, a row a field."""

    names: tuple[str, str]
    rows: Sequence[tuple[Row, Row]]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        if not self.rows:
            yield "nothing differs"
            return
        columns = [Column("", right=False), *(Column(name, right=False) for name in self.names)]
        cells = [(one.label, _short(one), _short(other)) for one, other in self.rows]
        yield WideOrStacked(columns, cells)


def _short(row: Row) -> str:
    return f"{UNKNOWN} {row.reason}" if row.value is None else row.text.split("  ")[0]


def differences(one: Sequence[Row], other: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of rows of the same name whose values differ, or that only one card has."""
    by_name = {row.name: row for row in other}
    missing = {row.name: row._replace(value=None, reason="not there") for row in (*one, *other)}
    names = dict.fromkeys(row.name for row in (*one, *other) if row.name not in NOT_COMPARED)
    first = {row.name: row for row in one}
    pairs = ((first.get(n, missing[n]), by_name.get(n, missing[n])) for n in names)
    return [(a, b) for a, b in pairs if a.value != b.value]
