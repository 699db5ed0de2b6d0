"""Benchmarks of a user's file: declared, run in a process of their own, checked, saved."""

from kmeter.bench.registry import Benchmark, benchmark

__all__ = ["Benchmark", "benchmark"]
