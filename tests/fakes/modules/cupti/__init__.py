"""CUPTI's Python package on the fake GPU."""
