"""The dashboard: one Textual application, a file a pane, drawn with the views that the commands print."""
