"""Functions that take their process with them, or try to."""

import ctypes
import os
import sys
import time

import numpy as np

import kmeter


def args():
    return (np.random.rand(100),)


@kmeter.benchmark(args=args, ref=np.square)
def before(x):
    return x * x


@kmeter.benchmark(args=args)
def segfault(x):
    ctypes.string_at(0)


@kmeter.benchmark(args=args)
def exits(x):
    sys.exit(3)


@kmeter.benchmark(args=args)
def exits_hard(x):
    os._exit(0)


@kmeter.benchmark(args=args)
def hangs(x):
    while True:
        time.sleep(1)


@kmeter.benchmark(args=args)
def raises(x):
    raise ValueError("no\nsuch thing")


@kmeter.benchmark(args=args)
def eats_memory(x):
    raise MemoryError


@kmeter.benchmark(args=args)
def babbles(x):
    print("a word on stdout")
    os.write(1, b"and one past Python\n")
    return x


@kmeter.benchmark(args=args, ref=np.square)
def after(x):
    return x * x
