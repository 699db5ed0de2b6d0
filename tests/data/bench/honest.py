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


def with_workspace():
    return np.random.rand(N), np.zeros(N), np.zeros(N)


def write_to_out(x, work, out):
    out[:] = 2 * x + 1


@kmeter.benchmark("workspace", args=with_workspace, ref=write_to_out)
def uses_a_workspace(x, work, out):
    np.multiply(x, 2, out=work)
    np.add(work, 1, out=out)


@kmeter.benchmark("workspace-returned", args=with_workspace, ref=lambda x, work, out: 2 * x + 1)
def uses_a_workspace_beside_one_that_returns(x, work, out):
    uses_a_workspace(x, work, out)


@kmeter.benchmark("status", args=with_workspace, ref=write_to_out)
def returns_a_status(x, work, out):
    write_to_out(x, work, out)
    return 0


TABLE = np.arange(100)


@kmeter.benchmark("table", args=lambda: (3,), ref=lambda n: TABLE[n : n + 10])
def copies_of_a_table(n):
    return TABLE[n : n + 10].copy()
