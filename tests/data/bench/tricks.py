"""Kernels that cheat: each must fail, or have its trick named."""

import time

import numpy as np

import kmeter

N = 20_000


def args():
    return (np.random.rand(N),)


def slow_square(x):
    return np.sqrt(np.exp(np.log(x * x) * 2)) + 0 * np.sin(x)


_by_address = {}


@kmeter.benchmark("cached-by-address", args=args, ref=np.square)
def cached_by_address(x):
    key = x.ctypes.data
    if key not in _by_address:
        _by_address[key] = np.square(x)
    return _by_address[key]


_first = []


@kmeter.benchmark("skips-after-the-first", args=args, ref=np.square)
def skips_after_the_first(x):
    if not _first:
        _first.append(np.square(x))
    return _first[0]


_calls = [0]


@kmeter.benchmark("skips-while-timed", args=args, ref=np.square)
def skips_while_timed(x):
    _calls[0] += 1
    if _calls[0] < 6:
        return np.square(x)
    return np.empty_like(x)


_by_fingerprint = {}


@kmeter.benchmark("cached-by-fingerprint", args=args, ref=np.square)
def cached_by_fingerprint(x):
    key = x.ctypes.data, x[0]
    if key not in _by_fingerprint:
        _by_fingerprint[key] = np.square(x)
    return _by_fingerprint[key]


_tries_by_address = {}


@kmeter.benchmark("stops-in-place", args=args, ref=np.square)
def stops_in_place(x):
    key = x.ctypes.data
    _tries_by_address[key] = _tries_by_address.get(key, 0) + 1
    if _tries_by_address[key] < 4:
        np.square(x, out=x)


def double_into(x, out):
    out[:] = 2 * x


@kmeter.benchmark("ruins-its-input", args=lambda: (*args(), np.zeros(N)), ref=double_into)
def ruins_its_input(x, out):
    x *= 2
    out[:] = x


OUT = np.zeros(N)


@kmeter.benchmark("takes-the-references", args=args, ref=lambda x: np.square(x, out=OUT))
def takes_the_references(x):
    return OUT


class Lazy:
    """Computes when it is looked at."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.asarray(slow_square(self.x), dtype=dtype)


@kmeter.benchmark("lazy", args=args, ref=slow_square)
def lazy(x):
    return Lazy(x)


class LazyMap(dict):
    """Computes when its values are taken."""

    def __init__(self, x):
        self.x = x

    def values(self):
        return [slow_square(self.x)]


@kmeter.benchmark("lazy-map", args=args, ref=slow_square)
def lazy_map(x):
    return LazyMap(x)


_lazy_calls = []


@kmeter.benchmark("lazy-later", args=args, ref=slow_square)
def lazy_later(x):
    _lazy_calls.append(1)
    return Lazy(x) if len(_lazy_calls) > 1 else slow_square(x)


@kmeter.benchmark("generator", args=args)
def generator(x):
    yield slow_square(x)


@kmeter.benchmark("coroutine", args=args)
async def coroutine(x):
    return slow_square(x)


class Promise:
    """Says nothing of when it is done."""


@kmeter.benchmark("promise", args=args)
def promise(x):
    return Promise()


@kmeter.benchmark("honest", args=args, ref=slow_square)
def honest(x):
    return slow_square(x)


_true = time.perf_counter_ns
time.perf_counter_ns = lambda: _true() // 1000
time.perf_counter = lambda: _true() * 1e-12
time.monotonic = lambda: _true() * 1e-12


@kmeter.benchmark("patched-clock", args=args, ref=slow_square)
def patched_clock(x):
    return slow_square(x)


@kmeter.benchmark("patched-engine", args=args, ref=slow_square)
def patched_engine(x):
    from kmeter.measure.engines import host

    host._now = lambda: _true() // 10
    return slow_square(x)


@kmeter.benchmark("patched-everything", args=args, ref=slow_square)
def patched_everything(x):
    from kmeter.bench import laps
    from kmeter.measure.engines import host

    host._now = lambda: _true() // 10
    laps._now = lambda: _true() * 1e-10
    return slow_square(x)
