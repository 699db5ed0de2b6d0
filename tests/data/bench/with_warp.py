"""Warp alone."""

import numpy as np
import warp as wp

import kmeter

wp.init()

N = 1 << 24


@wp.kernel
def add_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] + y[i]


def args():
    x, y = (np.random.rand(N).astype(np.float32) for _ in range(2))
    return tuple(wp.array(a, dtype=float, device="cuda") for a in (x, y, np.zeros_like(x)))


@kmeter.benchmark("warp add", args=args, ref=lambda x, y, out: x.numpy() + y.numpy())
def add(x, y, out):
    wp.launch(add_kernel, dim=N, inputs=[x, y, out], device="cuda")
