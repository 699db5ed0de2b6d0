"""Results → Rich renderables and JSON documents, for the command line and the TUI alike."""
