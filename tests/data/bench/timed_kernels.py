"""Eleven kernels of 1 µs to 5 ms, from CuPy, Triton and PyTorch: kmeter bench tests/data/bench/timed_kernels.py

They are what timing_accuracy.py holds kmeter's times against others' with.
"""

import cupy as cp
import torch
import triton
import triton.language as tl

import kmeter

MI = 2**20

CODE = r"""
extern "C" __global__ void add(const float *a, const float *b, float *out, long long n) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = a[i] + b[i];
}
extern "C" __global__ void chain(float *out, float x, int count) {
  float sum = x;
  for (int i = 0; i < count; i++) sum = fmaf(sum, 0.999f, 0.5f);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void copy(const float4 *a, float4 *out, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i];
}
"""
MODULE = cp.RawModule(code=CODE)


def pair(n):
    return cp.random.random(n, dtype=cp.float32), cp.random.random(n, dtype=cp.float32)


def raw_add(a, b, blocks):
    out = cp.empty_like(a)
    MODULE.get_function("add")((blocks,), (256,), (a, b, out, a.size))
    return out


@kmeter.benchmark("add of 1024 floats", args=lambda: pair(1024), ref=cp.add, bytes_per_call=12288)
def small_add(a, b):
    return raw_add(a, b, 4)


def chained(x, count):
    out = cp.empty(132 * 128, cp.float32)
    MODULE.get_function("chain")((132,), (128,), (out, cp.float32(x), count))
    return out


@kmeter.benchmark("1900 dependent FMAs", args=lambda: (0.25,))
def fma_chain(x):
    return chained(x, 1900)


@kmeter.benchmark("5 ms of FMAs", args=lambda: (0.25,))
def long_chain(x):
    return chained(x, 2_450_000)


@kmeter.benchmark(
    "copy 64 MiB", args=lambda: pair(16 * MI)[:1], ref=lambda a: a.copy(), bytes_per_call=128 * MI
)
def copy(a):
    out = cp.empty_like(a)
    MODULE.get_function("copy")((a.size // 4 // 256,), (256,), (a, out, a.size // 4))
    return out


@kmeter.benchmark(
    "vector add 3 x 64 MiB", args=lambda: pair(16 * MI), ref=cp.add, bytes_per_call=192 * MI
)
def vector_add(a, b):
    return raw_add(a, b, 16 * MI // 256)


@kmeter.benchmark(
    "CuPy elementwise 3 x 16 MiB", args=lambda: pair(4 * MI), ref=cp.add, bytes_per_call=48 * MI
)
def cupy_add(a, b):
    return a + b


@kmeter.benchmark(
    "two CuPy kernels",
    args=lambda: pair(4 * MI),
    ref=lambda a, b: cp.sqrt(a + b),
    bytes_per_call=80 * MI,
)
def two_kernels(a, b):
    return cp.sqrt(a + b)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + at, e / tl.sum(e, axis=0), mask=mask)


@kmeter.benchmark(
    "Triton softmax 2 x 32 MiB",
    args=lambda: (torch.randn(4096, 2048, device="cuda"),),
    ref=lambda x: torch.softmax(x, dim=-1),
    bytes_per_call=64 * MI,
)
def softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=2048)
    return out


@kmeter.benchmark(
    "layer norm 2 x 128 MiB",
    args=lambda: (torch.randn(8192, 4096, device="cuda"),),
    bytes_per_call=256 * MI,
)
def layer_norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[1:])


@kmeter.benchmark(
    "4096^3 bf16 matmul",
    args=lambda: tuple(torch.randn(4096, 4096, device="cuda").bfloat16() for _ in range(2)),
    ref=torch.matmul,
    bytes_per_call=3 * 2 * 4096**2,
    flops_per_call=2 * 4096**3,
    dtype="bf16-tensor",
)
def matmul(a, b):
    return a @ b


def in_place_sigmoid(x):
    torch.sigmoid(x, out=x)


@kmeter.benchmark(
    "sigmoid in place 1 GiB",
    args=lambda: (torch.randn(256 * MI, device="cuda"),),
    ref=in_place_sigmoid,
    bytes_per_call=2048 * MI,
)
def sigmoid(x):
    x.sigmoid_()
