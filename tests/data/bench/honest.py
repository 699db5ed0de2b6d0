"""Kernels that are right in ways which look odd: each must pass."""

import numpy as np

import kmeter

N = 1000


def one():
    return (np.random.rand(N),)


def double_and_return(x):
    x *= 2
    return x


def double_in_place(x):
    x *= 2


@kmeter.benchmark("reference-in-place", args=one, ref=double_and_return)
def beside_one_in_place(x):
    return x + x


@kmeter.benchmark("reference-writes", args=one, ref=double_in_place)
def beside_one_that_writes(x):
    return x + x
