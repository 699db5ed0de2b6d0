"""To be built."""

from kmeter.tui.panes import Pane


class Ceilings(Pane):
    """To be built."""
