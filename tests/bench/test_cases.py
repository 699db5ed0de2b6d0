"""Decorating, sweeping and narrowing: what becomes of a file's declarations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kmeter.bench.cases import Case, accepted, cases_of, chosen
from kmeter.bench.registry import REGISTRY, benchmark
from kmeter.errors import UsageError


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    REGISTRY.clear()
    yield
    REGISTRY.clear()


def args(n: int = 4) -> tuple[Any, ...]:
    return (np.ones(n), np.ones(n))


def declared(**options: Any) -> list[Case]:
    benchmark("add", **({"args": args} | options))(lambda x, y: x + y)
    return cases_of(REGISTRY)


def test_the_function_stays_what_it_is() -> None:
    def add(x: int) -> int:
        return x

    assert benchmark(args=args)(add) is add
    assert REGISTRY[0].name == "add"


def test_a_sweep_is_every_combination_in_order() -> None:
    cases = declared(params={"n": [1, 2], "dtype": ["a", "b"]})
    assert [case.label for case in cases] == [
        "add[n=1, dtype=a]", "add[n=1, dtype=b]", "add[n=2, dtype=a]", "add[n=2, dtype=b]",
    ]  # fmt: skip


def test_a_label_is_one_line_and_the_same_in_each_process() -> None:
    values = [float, len, object(), float("nan"), "a\nb", np.ones((2, 2))]
    assert [case.parameters["n"] is value for case, value in
            zip(declared(params={"n": values}), values, strict=True)] == [True] * 6  # fmt: skip
    assert [case.label for case in cases_of(REGISTRY)] == [
        "add[n=float]", "add[n=len]", "add[n=<object object>]", "add[n=nan]", "add[n=a\\nb]",
        "add[n=[[1. 1.] [1. 1.]]]",
    ]  # fmt: skip


def test_two_rows_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two rows would be named"):
        declared(params={"n": [1, 1]})


@pytest.mark.parametrize(
    "options", [{"name": "a\nb"}, {"name": "\udcff"}, {"tags": ["\x1b"]}, {"params": {"\n": [1]}}]
)
def test_names_are_of_one_line(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="printable"):
        benchmark(**({"args": args} | options))


def test_each_function_receives_what_it_asks_for() -> None:
    (case,) = declared(
        params={"n": [8]},
        bytes_per_call=lambda x, y: x.nbytes + y.nbytes,
        flops_per_call=lambda n: 2 * n,
    )
    arguments = case.arguments()
    assert arguments.positional[0].size == 8
    assert case.amount(case.benchmark.bytes_per_call, arguments) == 128
    assert case.amount(case.benchmark.flops_per_call, arguments) == 16


def test_arguments_may_be_one_array_a_dict_or_a_list() -> None:
    one, named, listed = (
        cases_of([case.benchmark])[0].arguments()
        for make in (lambda: np.ones(3), lambda: {"x": 1}, lambda: [1, 2])
        for case in declared(args=make)[-1:]
    )
    assert len(one.positional) == 1
    assert named.named == {"x": 1}
    assert listed.positional == (1, 2)


def test_a_kernel_may_take_parameters_by_name() -> None:
    def kernel(x: int, block: int, *, unroll: int = 1) -> tuple[int, int, int]:
        return x, block, unroll

    assert accepted(kernel, (1,), {"block": 64, "unroll": 4, "n": 9}) == {"block": 64, "unroll": 4}
    assert accepted(kernel, (1, 2), {"block": 64}) == {}, "an argument fills it already"
    assert accepted(lambda **rest: rest, (), {"n": 9}) == {"n": 9}
    assert accepted(np.add, (1, 2), {"n": 9}) == {}, "a compiled function tells nothing"


def test_benchmarks_of_one_name_get_numbers() -> None:
    declared()
    assert [case.label for case in declared()] == ["add", "add #2"]


# ---- narrowing ------------------------------------------------------------------------------


def test_names_tags_and_values_narrow() -> None:
    cases = declared(params={"n": [1024, 2048]}, tags=("small",))
    assert len(chosen(cases, ["add"], {})) == 2
    assert len(chosen(cases, ["small"], {})) == 2
    assert [c.label for c in chosen(cases, [], {"n": ["2048"]})] == ["add[n=2048]"]
    assert [c.label for c in chosen(cases, [], {"n": ["1.024e3"]})] == ["add[n=1024]"]
    assert [c.label for c in chosen(cases, ["add[n=1024]"], {})] == ["add[n=1024]"]


@pytest.mark.parametrize(
    ("names", "narrowed", "words"),
    [
        (["mul"], {}, "there is no benchmark 'mul'. There are: add"),
        ([], {"m": ["1"]}, "no benchmark has a parameter 'm'"),
        ([], {"n": ["3"]}, "n is never 3. It is 1024, 2048"),
    ],
)
def test_what_is_not_there_is_named(
    names: list[str], narrowed: dict[str, list[str]], words: str
) -> None:
    cases = declared(params={"n": [1024, 2048]})
    with pytest.raises(UsageError, match="^" + words.replace("[", r"\[")):
        chosen(cases, names, narrowed)


# ---- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"args": (1, 2)}, "args is a function"),
        ({"ref": 3}, "ref is a function"),
        ({"bytes_per_call": 0}, "bytes_per_call is a number above 0"),
        ({"flops_per_call": "many"}, "flops_per_call is a number above 0"),
        ({"peak_tflops": -1}, "peak_tflops is a number above 0"),
        ({"iters": 0}, "iters is a whole number of at least 1"),
        ({"warmup": -1}, "warmup is a whole number of at least 0"),
        ({"dtype": "fp12"}, "dtype 'fp12' names no unit"),
        ({"timer": "sundial"}, "timer is one of auto"),
        ({"params": {"n": 3}}, "n has a list of values"),
        ({"params": {"n": []}}, "n has no values"),
        ({"params": {"n": "abc"}}, "n has a list of values"),
        ({"tolerance": -1}, "tolerance is a relative one"),
        ({"tolerance": (1, 2, 3)}, "tolerance is a relative one"),
    ],
)
def test_a_mistake_is_told_where_it_is_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        declared(**options)


def test_a_function_that_takes_something_else_is_told() -> None:
    (case,) = declared(args=lambda m: (m,), params={"n": [1]})
    with pytest.raises(UsageError, match="args takes m, and is given params n"):
        case.arguments()
    (case,) = declared(bytes_per_call=lambda k: k, params={"n": [1]})[-1:]
    with pytest.raises(UsageError, match="takes k, and is given 2 arguments and params n"):
        case.amount(case.benchmark.bytes_per_call, case.arguments())


def test_an_amount_that_is_none_is_refused() -> None:
    (case,) = declared(bytes_per_call=lambda x, y: -1)
    with pytest.raises(UsageError, match="above 0"):
        case.amount(case.benchmark.bytes_per_call, case.arguments())
