"""The card: every attribute with its meaning and source, filtered while you type."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Input

from kmeter.model.card import Card
from kmeter.tui.drawing import View
from kmeter.tui.panes import Pane
from kmeter.units import UNKNOWN, ascii_only
from kmeter.views.card_rows import Row, card_rows

_NARROW, _VERY_NARROW = 76, 56
"""Below these widths names are shortened, and the source stands in the line below alone."""
_NAME_CELLS, _NARROW_NAME_CELLS, _SOURCE_CELLS = 36, 18, 10


class Device(Pane):
    """A line a fact; the one under the cursor is told whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "copy value"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("escape", "leave_filter", show=False),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._shown: list[Row] = []

    def compose(self) -> ComposeResult:
        yield Input(placeholder="filter: type a word, / to come back here", id="filter")
        yield View("", id="why", classes="note")
        yield DataTable(cursor_type="row", zebra_stripes=False, show_header=False)
        yield View("", id="detail")

    def take_focus(self) -> None:
        self.query_one(DataTable).focus()

    def show_card(self, card: Card | None, reason: str) -> None:
        machine = self.dashboard.cards.machine
        why = self.query_one("#why", View)
        why.display = bool(reason)
        why.draw(reason)
        self._rows = card_rows(card, machine) if card and machine else []
        self._fill()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill()

    def on_resize(self) -> None:
        self._fill()

    def _fill(self) -> None:
        words = self.query_one(Input).value.lower().split()
        self._shown = [row for row in self._rows if all(word in _haystack(row) for word in words)]
        table = self.query_one(DataTable)
        table.clear(columns=True)
        is_narrow = self.app.size.width < _NARROW
        longest = _NARROW_NAME_CELLS if is_narrow else _NAME_CELLS
        source_cells = 0 if self.app.size.width < _VERY_NARROW else _SOURCE_CELLS
        widest = max(6, self.app.size.width - longest - source_cells - 10)
        table.add_column("name", width=longest)
        table.add_column("value", width=widest)
        table.add_column("source", width=source_cells)
        section = ""
        for number, row in enumerate(self._shown):
            if row.section != section:
                section = row.section
                table.add_row(self._said(section, "bold"), "", "", key=f"section {number}")
            label = self._said(f"  {_marked(row.label, longest - 2)}")
            table.add_row(
                label,
                self._said(_marked(row.text, widest)),
                self._said(_marked(_source(row), source_cells) if source_cells else ""),
                key=str(number),
            )
        self._tell_detail(self._shown[0] if self._shown else None)

    def _said(self, text: str, style: str = "") -> Text:
        """A cell; of a bare text the table would take brackets for markup."""
        return Text(ascii_only(text) if self.dashboard.is_ascii else text, style)

    def on_data_table_row_highlighted(self, event: "DataTable.RowHighlighted") -> None:
        event.stop()
        key = event.row_key.value if event.row_key else None  # None in an empty table
        self._tell_detail(self._row_of(key))

    def _row_of(self, key: str | None) -> Row | None:
        number = (key or "").removeprefix("section ")
        return (
            self._shown[int(number)]
            if number.isdecimal() and int(number) < len(self._shown)
            else None
        )

    def _tell_detail(self, row: Row | None) -> None:
        text = Text()
        if row is not None:
            text.append(f"{row.label}: ").append(row.text, style="bold")
            about = "  ".join(part for part in (row.name, _source(row), row.reason) if part)
            text.append(f"\n{about}", style="dim")
        elif self._rows:
            text.append("nothing of that name")
        self.query_one("#detail", View).draw(text)

    def action_copy(self) -> None:
        """The value under the cursor, without its unit, into the clipboard."""
        table = self.query_one(DataTable)
        if not self._shown or not table.row_count:
            return
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        row = self._row_of(key)
        if row is not None and row.value is not None:
            self.app.copy_to_clipboard(str(row.value))
            self.notify(f"copied {row.value}", timeout=2, markup=False)

    def action_filter(self) -> None:
        self.query_one(Input).focus()

    def action_leave_filter(self) -> None:
        self.query_one(DataTable).focus()


def _haystack(row: Row) -> str:
    return f"{row.section} {row.name} {row.label} {row.text}".lower()


def _source(row: Row) -> str:
    return str(row.source) if row.source else UNKNOWN


def _marked(text: str, longest: int) -> str:
    """At most so many cells; what is cut has a mark, and the line below tells it whole."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
