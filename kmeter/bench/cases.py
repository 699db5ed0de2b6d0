"""A benchmark with one set of parameters: how sweeps unfold, and what each function receives."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from kmeter.bench.registry import Amount, Benchmark
from kmeter.errors import UsageError
from kmeter.model.benchmark import labelled
from kmeter.units import quoted

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies, in its own words: another place in each process."""


class Case(NamedTuple):
    """One row of the table to be."""

    benchmark: Benchmark
    parameters: Mapping[str, Any]
    name: str
    """The benchmark's, with a number behind it where another has the same."""

    @property
    def label(self) -> str:
        return labelled(self.name, plain(self.parameters))

    def arguments(self) -> "Arguments":
        """Fresh ones of the benchmark's ``args``."""
        make = self.benchmark.args
        named = accepted(make, (), self.parameters)
        _demand_fit("args", make, (), named, self.parameters)
        made = make(**named)
        if isinstance(made, dict):
            return Arguments((), made)
        return Arguments(tuple(made) if isinstance(made, tuple | list) else (made,), {})

    def amount(self, amount: Amount, arguments: "Arguments") -> float | None:
        """Bytes or FLOP of a call; raises UsageError for what is no amount."""
        if amount is None:
            return None
        value = self._counted(amount, arguments) if callable(amount) else amount
        number = float(value)
        if not 0 < number < float("inf"):
            raise UsageError(
                f"{self.name}: an amount per call is above 0 and finite, not {value!r}"
            )
        return number

    def _counted(self, count: Callable[..., float], arguments: "Arguments") -> float:
        """A counting function takes the parameters alone, or the arguments as the kernel does."""
        names = _names(count)
        if self.parameters and names is not None and names <= set(self.parameters):
            return count(**{name: self.parameters[name] for name in names})
        named = {**accepted(count, arguments.positional, self.parameters), **arguments.named}
        _demand_fit("an amount per call", count, arguments.positional, named, self.parameters)
        return count(*arguments.positional, **named)


def _demand_fit(
    what: str,
    function: Callable[..., Any],
    positional: Sequence[Any],
    named: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> None:
    """Raise UsageError for a function that cannot be called with these, saying what it takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a compiled function tells nothing about itself
        return
    try:
        signature.bind(*positional, **named)
    except TypeError:
        takes = ", ".join(signature.parameters) or "nothing"
        has = ", ".join(parameters) or "nothing"
        given = f"{len(positional)} arguments and params {has}" if positional else f"params {has}"
        raise UsageError(f"{what} takes {takes}, and is given {given}") from None


class Arguments(NamedTuple):
    """What a kernel is called with."""

    positional: tuple[Any, ...]
    named: Mapping[str, Any]

    def given_to(
        self, function: Callable[..., Any], parameters: Mapping[str, Any]
    ) -> Callable[[], Any]:
        """The call itself, with the parameters that the function takes by name."""
        positional = self.positional
        named = {**accepted(function, positional, parameters), **self.named}
        if not named:
            return lambda: function(*positional)
        return lambda: function(*positional, **named)

    @property
    def values(self) -> tuple[Any, ...]:
        """All of them, positional ones first."""
        return (*self.positional, *self.named.values())


def accepted(
    function: Callable[..., Any], positional: Sequence[Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters that a function takes by name and that no positional argument fills yet."""
    if not parameters:
        return {}
    try:
        signature = inspect.signature(function)
        filled = signature.bind_partial(*positional).arguments
    except (TypeError, ValueError):  # a compiled function tells nothing about itself
        return {}
    takes_all = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    by_name = {
        name
        for name, p in signature.parameters.items()
        if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY} and name not in filled
    }
    return {
        name: value
        for name, value in parameters.items()
        if name in by_name or (takes_all and name not in filled)
    }


def _names(function: Callable[..., Any]) -> set[str] | None:
    """The parameters of a function; None where it does not tell, or takes any number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in parameters):
        return None
    return {p.name for p in parameters}


def cases_of(benchmarks: Iterable[Benchmark]) -> list[Case]:
    """Every combination of every benchmark's parameters, in the order they were written."""
    seen: dict[str, int] = {}
    found: list[Case] = []
    for benchmark in benchmarks:
        count = seen[benchmark.name] = seen.get(benchmark.name, 0) + 1
        name = benchmark.name if count == 1 else f"{benchmark.name} #{count}"
        found += [
            Case(benchmark, dict(zip(benchmark.params, values, strict=True)), name)
            for values in product(*benchmark.params.values())
        ]
    labels = [case.label for case in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two rows would be named {twice}", "Each value of a parameter once")
    return found


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them: numbers and text stay, others become their text."""
    return {key: _plain_value(value) for key, value in parameters.items()}


def _plain_value(value: Any) -> str | int | float | bool:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int | float | bool):
        return value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return value.__name__
    return printable(_ADDRESS.sub("", " ".join(str(value).split())))


def printable(text: str) -> str:
    """The text with escapes for what would end a line or steer a terminal."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def chosen(
    cases: Sequence[Case], names: Sequence[str], narrowed: Mapping[str, Sequence[str]]
) -> list[Case]:
    """The cases of these names and tags, with these values of their parameters.

    A case without a narrowed parameter stays. Raises UsageError for what no case has.
    """
    for name in names:
        if not any(_is_meant(case, name) for case in cases):
            known = ", ".join(dict.fromkeys(case.name for case in cases))
            raise UsageError(f"there is no benchmark {quoted(name)}", f"There are: {known}")
    for key, wanted in narrowed.items():
        there = list(
            dict.fromkeys(_spelled(c.parameters[key]) for c in cases if key in c.parameters)
        )
        if not there:
            raise UsageError(f"no benchmark has a parameter {quoted(key)}")
        missing = [text for text in wanted if not any(_same(text, value) for value in there)]
        if missing:
            raise UsageError(f"{key} is never {printable(missing[0])}", f"It is {', '.join(there)}")
    return [
        case
        for case in cases
        if (not names or any(_is_meant(case, name) for name in names))
        and all(
            key not in case.parameters
            or any(_same(text, _spelled(case.parameters[key])) for text in wanted)
            for key, wanted in narrowed.items()
        )
    ]


def _is_meant(case: Case, name: str) -> bool:
    return name in {case.name, case.label, case.benchmark.name, *case.benchmark.tags}


def _spelled(value: Any) -> str:
    return str(_plain_value(value))


def _same(text: str, value: str) -> bool:
    if text == value:
        return True
    try:
        return float(text) == float(value)
    except ValueError:
        return False
