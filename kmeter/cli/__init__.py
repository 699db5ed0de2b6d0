"""The command line: one module a command, options spelled once, one writer to stdout."""
