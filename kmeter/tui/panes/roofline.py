"""To be built."""

from kmeter.tui.panes import Pane


class Roofline(Pane):
    """To be built."""
