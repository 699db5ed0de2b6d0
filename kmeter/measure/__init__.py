"""Measuring on a GPU: CuPy compiles and launches, CUDA events and the SM's own clock time."""
