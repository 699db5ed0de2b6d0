"""The tabs of the panes: named as far as there is room, opened by nothing but a key or a click."""

from textual.events import DescendantFocus
from textual.widgets import TabbedContent, TabPane

from kmeter.tui import PANES

_ROOM_FOR_NAMES = 66
"""Cells that the names of all panes take."""


class QuietTab(TabPane):
    """A tab that does not open because something in it got the focus: of two keys in quick succession the
    first one's focus would undo the second one's pane.
    """

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        event.prevent_default()


def tab_name(name: str) -> str:
    """``4 Live``: the key, and the pane that it opens."""
    return f"{PANES.index(name) + 1} {name.capitalize()}"


def name_tabs(tabs: TabbedContent, width: int, *, is_ascii: bool = False) -> None:
    """Where the names do not fit, the open pane alone has one; digits open the others.

    In ASCII the line below the tabs is the same everywhere: a mark says which one is open.
    """
    for name in PANES:
        text = tab_name(name)
        is_open = tabs.active == name
        is_named = width >= _ROOM_FOR_NAMES or is_open
        mark = "*" if is_ascii and is_open else ""
        tabs.get_tab(name).label = mark + (text if is_named else text.split()[0])
