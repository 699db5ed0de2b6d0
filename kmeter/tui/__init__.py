"""The dashboard: one Textual application, a file a pane, drawn with the views that the commands print."""

PANES = ("device", "occupancy", "roofline", "live", "ceilings", "bench")
"""The panes in the order of their keys; each has a module and a class of its name."""
