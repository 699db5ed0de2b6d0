"""To be built."""

from kmeter.tui.panes import Pane


class Occupancy(Pane):
    """To be built."""
