"""CuPy alone: a raw kernel, an elementwise and a fused one, and a graph."""

import cupy as cp

import kmeter

N = 1 << 24
RAW = cp.RawKernel(
    'extern "C" __global__ void add(const float *a, const float *b, float *c) {'
    "  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; c[i] = a[i] + b[i]; }",
    "add",
)
ELEMENTWISE = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x + y", "sum_of_two")


def args():
    return cp.random.random(N, dtype=cp.float32), cp.random.random(N, dtype=cp.float32)


def declare(name, function, **more):
    kmeter.benchmark(name, args=args, ref=cp.add, bytes_per_call=12 * N, **more)(function)


def raw(a, b):
    out = cp.empty_like(a)
    RAW((N // 256,), (256,), (a, b, out))
    return out


@cp.fuse
def fused(x, y):
    return x + y


declare("CuPy raw", raw)
declare("CuPy elementwise", ELEMENTWISE)
declare("CuPy fused", fused)
declare("CuPy in a graph", raw, timer="graph")
