"""The keys, on a screen of their own."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from kmeter.tui.drawing import View

KEYS = (
    ("1 … 6  F1 …", "Device, Occupancy, Roofline, Live, Ceilings, Bench"),
    ("g  G", "the next GPU, the one before"),
    ("space", "pause; readings go on in the background"),
    ("left  right", "10 s back or on in a session; home goes to its beginning"),
    ("+  -", "faster, slower"),
    ("tab", "the next field; Esc leaves a field"),
    ("c", "Device: copy the value"),
    ("arrows", "Occupancy: move in the heat map, m another map; Roofline: pan"),
    ("n  N", "Occupancy: another compiled kernel; Roofline: n next point"),
    ("[  ]  d  m", "Roofline: zoom, data type, peaks or measured; v L2, L1"),
    ("r  x", "Ceilings, Bench: run, stop; R: all ceilings"),
    ("s", "save the screen as SVG"),
    ("t", "another theme; Ctrl-P has them all, and every command"),
    ("q  Ctrl-C", "quit"),
)
_WIDTH = 13


class HelpScreen(ModalScreen[None]):
    """Gone with any of these keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield View("", id="keys")

    def on_mount(self) -> None:
        text = Text("Keys\n\n", style="bold")
        for keys, meaning in KEYS:
            text.append(f"{keys:<{_WIDTH}}", style="bold")
            text.append(f"{meaning}\n", style="not bold")
        self.query_one("#keys", View).draw(text)
