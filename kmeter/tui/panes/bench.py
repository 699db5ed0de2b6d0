"""To be built."""

from kmeter.tui.panes import Pane


class Bench(Pane):
    """To be built."""
