"""Sweeps, counts and tags, all on the host."""

import numpy as np

import kmeter as km


@km.benchmark(
    "add",
    args=lambda n, dtype: (np.random.rand(n).astype(dtype), np.random.rand(n).astype(dtype)),
    ref=np.add,
    params={"n": [1 << 10, 1 << 12], "dtype": ["float32", "float64"]},
    bytes_per_call=lambda x, y: 3 * x.nbytes,
    flops_per_call=lambda n: n,
    tags=("small", "vector"),
)
def add(x, y):
    return x + y


@km.benchmark("scale", args=lambda: np.random.rand(1000), ref=lambda x: 2 * x, bytes_per_call=16000)
def scale(x):
    return x * 2


@km.benchmark("scale", args=lambda: {"x": np.random.rand(500)}, params={"factor": [2, 3]})
def scale_by(x, factor):
    return x * factor
