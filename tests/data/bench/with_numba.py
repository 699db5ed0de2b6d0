"""Numba alone."""

import numpy as np
from numba import cuda

import kmeter

N = 1 << 24


@cuda.jit
def add_kernel(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def args():
    x, y = (np.random.rand(N).astype(np.float32) for _ in range(2))
    return cuda.to_device(x), cuda.to_device(y), cuda.device_array(N, np.float32)


@kmeter.benchmark("numba add", args=args, ref=lambda x, y, out: x.copy_to_host() + y.copy_to_host())
def add(x, y, out):
    add_kernel[N // 256, 256](x, y, out)
