"""Kernels that cheat on a real GPU, and mishaps there, in CuPy: see tests/gpu/test_bench_on_a_card.py."""

import os
import sys

import cupy as cp

import kmeter

N = 1 << 22


def args():
    return (cp.random.random(N, dtype=cp.float32),)


def work(x):
    return cp.sqrt(cp.exp(x))


_by_address = {}


@kmeter.benchmark(args=args, ref=work)
def cached_by_address(x):
    if x.data.ptr not in _by_address:
        _by_address[x.data.ptr] = work(x)
    return _by_address[x.data.ptr]


_side = cp.cuda.Stream(non_blocking=True)


@kmeter.benchmark(args=args, ref=work)
def on_another_stream(x):
    with _side:
        return work(x)


class Lazy:
    def __init__(self, x):
        self._x = x

    @property
    def __cuda_array_interface__(self):
        self._done = work(self._x)
        return self._done.__cuda_array_interface__


@kmeter.benchmark(args=args, ref=work)
def lazy(x):
    return Lazy(x)


@kmeter.benchmark(args=args, ref=work)
def patched_timer(x):
    cp.cuda.Event.record = lambda *_, **__: None
    cp.cuda.get_elapsed_time = lambda *_: 1e-6
    return work(x)


_first = []


@kmeter.benchmark(args=args, ref=work)
def skips_after_the_first(x):
    if not _first:
        _first.append(work(x))
    return _first[0]


@kmeter.benchmark(args=args, ref=work, timer="graph")
def graph_misses_a_kernel(x):
    out = cp.exp(x)
    if cp.cuda.get_current_stream().ptr:  # while a graph is made
        with _side:
            cp.sqrt(out, out=out)
        return out
    return cp.sqrt(out)


@kmeter.benchmark(args=args, ref=work)
def honest(x):
    return work(x)


# ---- mishaps --------------------------------------------------------------------------------

_bad = cp.RawKernel(
    'extern "C" __global__ void bad(float *p) { p[(1LL << 40) + threadIdx.x] = 1; }', "bad"
)
_endless = cp.RawKernel(
    'extern "C" __global__ void endless(volatile int *p) { while (*p == 0) {} }', "endless"
)


@kmeter.benchmark(args=args)
def illegal_access(x):
    _bad((1,), (32,), (x,))


@kmeter.benchmark(args=args)
def hangs(x):
    _endless((1,), (1,), (cp.zeros(1, cp.int32),))
    cp.cuda.Device().synchronize()


@kmeter.benchmark(args=args)
def exits(x):
    sys.exit(3)


_kept = []


@kmeter.benchmark(args=args)
def takes_all_memory(x):
    while True:
        _kept.append(cp.empty(1 << 32, cp.uint8))


@kmeter.benchmark(args=args)
def ends_hard(x):
    os._exit(5)


@kmeter.benchmark(args=args, ref=work)
def after_all_of_that(x):
    return work(x)
