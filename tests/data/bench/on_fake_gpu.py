"""Kernels on the fake GPU of tests/fakes: each of a known duration."""

from fakes import device

import kmeter

N = 4096
SIDE_STREAM = device.new_stream()


def args():
    return device.rand(N), device.rand(N)


@kmeter.benchmark(
    args=args,
    ref=lambda a, b: device.add(a, b, ns=100_000),
    bytes_per_call=lambda a, b: 12 * a.size,
    flops_per_call=lambda a, b: a.size,
)
def add(a, b):
    return device.add(a, b, ns=50_000)


@kmeter.benchmark(args=args, ref=device.add)
def tiny(a, b):
    return device.add(a, b, ns=1_500)


@kmeter.benchmark(args=args, ref=device.add)
def two_kernels(a, b):
    device.add(a, b, ns=10_000)
    return device.add(a, b, ns=20_000)


@kmeter.benchmark(args=lambda: (*args(), device.rand(N)), ref=lambda a, b, out: device.add(a, b))
def into_an_argument(a, b, out):
    device.add(a, b, out)


@kmeter.benchmark(args=lambda: device.rand(N), ref=device.double)
def in_place(a):
    device.double(a)


@kmeter.benchmark(args=args, ref=device.add)
def waits(a, b):
    out = device.add(a, b, ns=50_000)
    device.synchronize()
    return out


@kmeter.benchmark(args=args, ref=device.add)
def on_another_stream(a, b):
    return device.add(a, b, stream=SIDE_STREAM)


@kmeter.benchmark(args=args, ref=device.add)
def half_on_another_stream(a, b):
    device.add(a, b, ns=2_000_000, stream=SIDE_STREAM)
    return device.add(a, b, ns=5_000)


@kmeter.benchmark(args=args, ref=device.add, stream=SIDE_STREAM)
def on_its_named_stream(a, b):
    return device.add(a, b, ns=30_000, stream=SIDE_STREAM)


@kmeter.benchmark(args=args, ref=device.add, bytes_per_call=10**12)
def impossible(a, b):
    return device.add(a, b)


@kmeter.benchmark(args=args, ref=device.add)
def misses_a_kernel_in_graphs(a, b):
    """Its second kernel goes to another stream while a graph is made: the graph lacks it."""
    out = device.add(a, a, ns=5_000)
    stream = SIDE_STREAM if device.current_stream() else 0
    return device.add(a, b, out, ns=5_000, stream=stream)


@kmeter.benchmark(args=args, ref=device.add)
def marks_lines_to_stay(a, b):
    device.set_aside(1 << 20)
    return device.add(a, b, ns=20_000, marks=True)


@kmeter.benchmark(args=args, ref=device.add)
def marks_nothing(a, b):
    device.set_aside(1 << 20)
    return device.add(a, b, ns=20_000)


@kmeter.benchmark(args=args)
def crashes(a, b):
    device.crash()


@kmeter.benchmark(args=args)
def hangs(a, b):
    device.hang()
    device.synchronize()


_kept = []


@kmeter.benchmark(args=args)
def leaks(a, b):
    _kept.append(device.Array(1 << 28))


@kmeter.benchmark(args=args, ref=device.add)
def after_all_of_that(a, b):
    return device.add(a, b, ns=40_000)
