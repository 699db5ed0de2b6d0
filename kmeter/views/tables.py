"""Tables that never cut a number: where the columns do not fit, each row becomes a block."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Cell = str | Text

_GAP = "  "
_PAIR = 2


class Column(NamedTuple):
    """A column's heading, and how its cells stand."""

    heading: str
    right: bool = True
    """Numbers stand to the right, words to the left."""
    optional: bool = False
    """Says nothing that the other columns do not: dropped where the line is too narrow."""


@dataclass(frozen=True)
class WideOrStacked:
    """A table where the terminal is wide enough, else one block of lines a row."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    emphasised: frozenset[int] = frozenset()
    """Rows to print bold; a mark in the first cell says the same without colour."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        if self.title:
            yield Text(self.title, style="bold")
        cells = [[_text(console, cell) for cell in row] for row in (self._headings, *self.rows)]
        everything = range(len(self.columns))
        essential = [i for i in everything if not self.columns[i].optional]
        for chosen in (everything, essential):
            widths = {i: max(row[i].cell_len for row in cells) for i in chosen}
            if _line_width(widths.values()) <= options.max_width:
                yield from self._lines(cells, widths)
                return
        yield from self._stacked(console)

    @property
    def _headings(self) -> list[Cell]:
        return [column.heading for column in self.columns]

    def _lines(self, cells: list[list[Text]], widths: dict[int, int]) -> Iterator[Text]:
        for number, row in enumerate(cells):
            for i, width in widths.items():
                row[i].align("right" if self.columns[i].right else "left", width)
            line = Text(_GAP).join(row[i] for i in widths)
            line.rstrip()
            line.style = "dim" if number == 0 else "bold" if number - 1 in self.emphasised else ""
            yield line

    def _stacked(self, console: Console) -> Iterator[RenderableType]:
        names = [column.heading for column in self.columns]
        for index, (first, *others) in enumerate(self.rows):
            heading = _text(console, first)
            heading.stylize("bold" if index in self.emphasised else "")
            yield heading
            yield Pairs(
                [
                    (name, value)
                    for name, value, column in zip(names[1:], others, self.columns[1:], strict=True)
                    if not column.optional
                ],
                indent=4,
            )


def table_width(columns: Iterable[Sequence[str]]) -> int:
    """Cells that a table of these columns, headings included, takes on a line."""
    return _line_width([max(map(cell_len, column)) for column in columns])


def _line_width(widths: Collection[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _text(console: Console, cell: Cell) -> Text:
    return console.render_str(cell) if isinstance(cell, str) else cell.copy()


@dataclass(frozen=True)
class Pairs:
    """Names and values, one a line; a value too long for the line is folded, never cut."""

    rows: Sequence[Sequence[Cell]]
    """Name and value, perhaps with a note behind."""
    indent: int = 0
    label_width: int | None = None
    """The same for several runs of pairs puts their values under each other."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", overflow="fold", width=self.label_width)
        grid.add_column(overflow="fold")
        if any(len(row) > _PAIR for row in self.rows):
            grid.add_column(style="dim", overflow="fold")
        for row in self.rows:
            grid.add_row(*row)
        yield Padding(grid, (0, 0, 0, self.indent), expand=False)


def indented(line: Cell | RenderableType, cells: int = 2) -> RenderableType:
    """A line set in, and where it wraps, its rest too."""
    return Padding(line, (0, 0, 0, cells), expand=False)
