"""To be built."""

from kmeter.tui.panes import Pane


class Device(Pane):
    """To be built."""
