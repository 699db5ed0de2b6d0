"""Right kernels of every habit: none may be called wrong."""

import numpy as np

import kmeter

N = 1000


def one():
    return (np.random.rand(N),)


def with_room():
    return (np.random.rand(N), np.empty(N))


@kmeter.benchmark(args=one, ref=lambda x: np.square(x, out=x))
def its_reference_works_in_place(x):
    return x * x


@kmeter.benchmark(args=one, ref=np.square)
def uses_up_its_input(x):
    y = np.square(x)
    x[:] = 0
    return y


@kmeter.benchmark(args=with_room, ref=lambda x, out: x + 1)
def fills_and_returns_an_argument(x, out):
    np.add(x, 1, out=out)
    return out


@kmeter.benchmark(args=with_room, ref=lambda x, out: np.add(x, 1, out=out))
def fills_an_argument_as_its_reference_does(x, out):
    np.add(x, 1, out=out)


@kmeter.benchmark(args=with_room, ref=lambda x, workspace: x + 1)
def needs_a_workspace(x, workspace):
    workspace[:] = x
    return workspace + 1


@kmeter.benchmark(args=one, ref=lambda x: np.negative(x, out=x))
def works_in_place(x):
    np.multiply(x, -1, out=x)


@kmeter.benchmark(args=one, ref=lambda x: x)
def returns_its_input(x):
    return x


@kmeter.benchmark(args=one, ref=lambda x: x[::2].copy())
def returns_a_view(x):
    return x[::2]


@kmeter.benchmark(
    args=lambda: {"x": np.random.rand(N), "scale": 2.0}, ref=lambda x, scale: x * scale
)
def takes_keywords(scale, x):
    return scale * x


@kmeter.benchmark(args=lambda: (np.random.default_rng().random(N),), ref=np.sqrt)
def is_given_other_random_numbers_each_time(x):
    return np.sqrt(x)


@kmeter.benchmark(args=lambda: (np.random.randn(1 << 18).astype("f4"),), ref=lambda x: x.sum())
def sums_in_another_order(x):
    return np.add.reduce(x.reshape(-1, 64).sum(1))


@kmeter.benchmark(args=lambda: (np.random.rand(4096).astype("f2"),), ref=lambda x: x.sum())
def sums_halves_more_exactly(x):
    return x.astype("f4").sum().astype("f2")


@kmeter.benchmark(args=lambda: (np.random.randint(0, 9, N),), ref=np.bincount)
def counts(x):
    return np.bincount(x, minlength=x.max() + 1)


@kmeter.benchmark(args=one, ref=lambda x: {"min": x.min(), "max": x.max()})
def returns_a_dict(x):
    return {"max": x.max(), "min": x.min()}


SAME = np.linspace(0, 1, N)
EXPECTED = np.sqrt(SAME)


@kmeter.benchmark(args=lambda: (SAME,), ref=lambda x: EXPECTED)
def is_held_against_a_constant(x):
    return np.sqrt(x)


_out = np.empty(N)


@kmeter.benchmark(args=one, ref=np.sqrt)
def returns_a_buffer_of_its_own(x):
    return np.sqrt(x, out=_out)


@kmeter.benchmark(args=lambda: (np.zeros(N),), ref=np.copy)
def copies_zeros(x):
    return x.copy()


@kmeter.benchmark(args=lambda: (np.random.rand(N) * 1e-30,), ref=lambda x: x * 2)
def works_on_tiny_numbers(x):
    return x + x


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
