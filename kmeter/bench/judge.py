"""Is the result right, and is it the work of the call? A kernel is tried on fresh inputs, with
outputs poisoned and inputs replaced at their addresses, before it is timed and after.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from kmeter.bench import arrays, frameworks
from kmeter.bench.arrays import cloned, flattened, values_of
from kmeter.bench.cases import Arguments, Case
from kmeter.bench.compare import Comparison, Values, compare
from kmeter.bench.numbers import as_numbers
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import CudaContext
from kmeter.model.benchmark import Check

_SEEDS = (20_001, 20_002, 20_003)
_TIMED_SEED = 20_004
_AFTER_SEED = 20_005
_GOLDEN_FLOATS = ("float16", "float32", "bfloat16")


class Wanted(NamedTuple):
    """What the reference says, on the host: what it returned, or else wrote to its arguments."""

    values: list[Values]
    arguments: Arguments
    """As the reference left them."""
    original: Arguments
    """As they were."""
    places: tuple[int, ...] = ()
    """The arguments that it wrote the values to; none where it returned them."""


class Judge:
    """Tries one case. Every check is a pure comparison on the host."""

    def __init__(
        self, case: Case, context: Callable[[], CudaContext | None], settle: Callable[[], None]
    ) -> None:
        """``settle`` waits for the GPU; ``context`` is asked where an array lies there."""
        self._case, self._context, self._settle = case, context, settle
        self._returned: list[Any] = []
        self._lasting: list[arrays.View] = []
        """Memory of the file's own that the reference returns, a table of it: never poisoned."""
        self._returns_lasting = False
        self._timed: Wanted | None = None
        self._unused = Arguments((), {})
        """The first trial's arguments, which no kernel has seen."""
        self._same_inputs = False
        self.is_in_place = False
        """Whether the kernel writes to what it also reads."""
        self._written: frozenset[int] = frozenset()
        """Arguments that the kernel writes and the reference does not need: they can be poisoned."""
        self._spoilt: frozenset[int] = frozenset()
        """Arguments that the reference writes and the kernel does not."""
        self.runs = 0
        self._largest, self._allowed, self._golden = 0.0, "", False

    # ---- before ---------------------------------------------------------------------------

    def before(self) -> Check | None:
        """Three trials, each of other inputs; None where there is no reference."""
        if self._case.benchmark.ref is None:
            return None
        first = self._fresh(_SEEDS[0])
        self._unused = cloned_arguments(first)
        self._returns_lasting = self._returns_a_table(first)
        reason = self._trial(first, first)
        if not reason:
            self._find_outputs()
        for seed, replaces in zip(_SEEDS[1:], (True, False), strict=True):
            if reason:
                break
            fresh = self._fresh(seed)
            if replaces:
                self._same_inputs = same_values(self._unused, fresh, self._context())
                self._unused = Arguments((), {})
            given = self._replaced(first, fresh) if replaces else fresh
            reason = self._trial(fresh, given)
            if reason and given is not fresh and not self._trial(fresh, fresh):
                reason = f"it keeps results by the address of its inputs: {reason}"
        return self._check(reason)

    def _check(self, reason: str) -> Check:
        return Check(
            passed=not reason,
            reason=reason,
            largest_error=self._largest if numpy.isfinite(self._largest) else None,
            tolerance=self._allowed,
            runs=self.runs,
            golden=self._golden,
            same_inputs=self._same_inputs,
        )

    def _fresh(self, seed: int) -> Arguments:
        frameworks.seed(seed)
        return self._case.arguments()

    def _replaced(self, old: Arguments, fresh: Arguments) -> Arguments:
        """The old arguments, at their addresses, with the fresh ones' values; else the fresh ones."""
        context = self._context()
        pairs = list(zip(flattened(list(old.values)), flattened(list(fresh.values)), strict=False))
        arrays_of = [(to, new) for to, new in pairs if arrays.view_of(to) is not None]
        if not arrays_of or not all(_is_equal(to, new) for to, new in pairs):
            return fresh
        if not all(arrays.overwrite(to, new, context) for to, new in arrays_of):
            return fresh
        self._settle()
        return old

    def _trial(self, fresh: Arguments, given: Arguments) -> str:
        """Call the kernel with ``given``, whose values are those of ``fresh``; what is wrong, or ""."""
        wanted = self._wanted(fresh)
        self._poison(given)
        result = given.given_to(self._case.benchmark.function, self._case.parameters)()
        self._settle()
        return self._compared(result, given, wanted)

    def _poison(self, given: Arguments) -> None:
        """Overwrite what earlier calls returned, and arguments that are outputs alone."""
        context = self._context()
        own = [*self._lasting, *_views(list(given.values))]
        for item in self._returned:
            view = arrays.view_of(item)
            if view is not None and not any(view.overlaps(other) for other in own):
                arrays.poison(item, context)
        self._returned = []
        for index, item in enumerate(flattened(list(given.values))):
            if index in self._written:
                arrays.poison(item, context)
        self._settle()

    # ---- the reference --------------------------------------------------------------------

    def _wanted(self, arguments: Arguments) -> Wanted:
        reference = self._case.benchmark.ref
        assert reference is not None
        original, own = cloned_arguments(arguments), cloned_arguments(arguments)
        result = own.given_to(reference, self._case.parameters)()
        self._settle()
        returned = list(flattened(result))
        if returned:
            values = [values_of(item, self._context()) for item in returned]
            if self._returns_lasting:
                self._lasting += _views(returned)
            self._returned += returned  # kept, so that its memory is not what the kernel is given
            return Wanted(values, own, original)
        changes = list(self._changes(own, original))
        values = [values_of(item, self._context()) for _, item in changes]
        return Wanted(values, own, original, tuple(index for index, _ in changes))

    def _changes(self, arguments: Arguments, original: Arguments) -> Iterator[tuple[int, Any]]:
        pairs = zip(
            flattened(list(arguments.values)), flattened(list(original.values)), strict=True
        )
        for index, (item, before) in enumerate(pairs):
            if arrays.view_of(item) is None:
                continue
            if not _same_bytes(
                [values_of(item, self._context())], [values_of(before, self._context())]
            ):
                yield index, item

    def _find_outputs(self) -> None:
        """Tell arguments that are outputs alone from those that the reference needs, too."""
        fresh = self._fresh(_SEEDS[0])
        original, poisoned = cloned_arguments(fresh), cloned_arguments(fresh)
        fresh.given_to(self._case.benchmark.function, self._case.parameters)()
        self._settle()
        changed = frozenset(index for index, _ in self._changes(fresh, original))
        self._spoilt = self._written_by_reference(original) - changed
        if not changed:
            return
        for index, item in enumerate(flattened(list(poisoned.values))):
            if index in changed:
                arrays.poison(item, self._context())
        self._settle()
        plain, again = self._wanted(original), self._wanted(poisoned)
        self.is_in_place = not _same_bytes(plain.values, again.values)
        self._written = frozenset() if self.is_in_place else changed

    def _returns_a_table(self, arguments: Arguments) -> bool:
        """Whether the reference returns memory that lasts and that it does not write itself."""
        reference = self._case.benchmark.ref
        assert reference is not None

        def call() -> list[Any]:
            result = cloned_arguments(arguments).given_to(reference, self._case.parameters)()
            self._settle()
            return list(flattened(result))

        one, other = call(), call()
        if not any(a.overlaps(b) for a in _views(one) for b in _views(other)):
            return False
        kept = [cloned(item) for item in one]
        poisoned = [
            (item, copy)
            for item, copy in zip(one, kept, strict=True)
            if arrays.overwrite(item, copy, self._context())
            and arrays.poison(item, self._context())
        ]
        call()
        is_rewritten = [_same_bytes(*self._both(item, copy)) for item, copy in poisoned]
        for item, copy in poisoned:
            arrays.overwrite(item, copy, self._context())
        self._settle()
        return not all(is_rewritten) or not poisoned

    def _both(self, one: Any, other: Any) -> tuple[list[Values], list[Values]]:
        return [values_of(one, self._context())], [values_of(other, self._context())]

    def _written_by_reference(self, original: Arguments) -> frozenset[int]:
        own = self._wanted(original).arguments
        return frozenset(index for index, _ in self._changes(own, original))

    # ---- comparing ------------------------------------------------------------------------

    def _compared(self, result: Any, given: Arguments, wanted: Wanted) -> str:
        self.runs += 1
        returned = [item for item in flattened(result) if not isinstance(item, str)]
        self._returned += returned
        if not wanted.values:
            return "the reference neither returns nor writes anything"
        if returned and not self._is_status(returned, given, wanted):
            found, what = returned, "returns"
        else:
            found, what = self._outputs(given, wanted), "writes"
        if len(found) != len(wanted.values):
            return f"it {what} {len(found)} arrays, the reference gives {len(wanted.values)}"
        for item, right in zip(found, wanted.values, strict=True):
            reason = self._compared_one(values_of(item, self._context()), right, wanted)
            if reason:
                return reason
        return ""

    def _is_status(self, returned: list[Any], given: Arguments, wanted: Wanted) -> bool:
        """Whether bare numbers are returned beside a result that is written, as the reference's is."""
        if not wanted.places or any(arrays.view_of(item) is not None for item in returned):
            return False
        return self._written_by(given, wanted.original).issuperset(wanted.places)

    def _written_by(self, given: Arguments, original: Arguments) -> set[int]:
        """The arguments that hold a result: known to, or seen to have changed."""
        return {index for index, _ in self._changes(given, original)} | self._written

    def _outputs(self, given: Arguments, wanted: Wanted) -> list[Any]:
        """The arguments that hold a result; workspaces are left out."""
        written = sorted(self._written_by(given, wanted.original))
        items = list(flattened(list(given.values)))
        found = [(index, items[index]) for index in written]
        if len(found) > len(wanted.values):
            results = self._without_workspaces(found, wanted)
            others = set(written) - {index for index, _ in results}
            if not self._are_needed(others, wanted):
                found = results
        return [item for _, item in found]

    def _without_workspaces(
        self, written: list[tuple[int, Any]], wanted: Wanted
    ) -> list[tuple[int, Any]]:
        """The written arguments that the reference writes, or those with what it returned."""
        if wanted.places:
            return [(index, item) for index, item in written if index in wanted.places]
        found, rest = [], iter(written)
        for right in wanted.values:
            found += next(([pair] for pair in rest if self._is_like(pair[1], right)), [])
        return found

    def _is_like(self, item: Any, right: Values) -> bool:
        benchmark = self._case.benchmark
        got = values_of(item, self._context())
        return not compare(got, right, benchmark.tolerance, benchmark.unit).reason

    def _are_needed(self, places: set[int], wanted: Wanted) -> bool:
        """Whether the reference reads any of these arguments."""
        poisoned = cloned_arguments(wanted.original)
        for index, item in enumerate(flattened(list(poisoned.values))):
            if index in places:
                arrays.poison(item, self._context())
        self._settle()
        return not _same_bytes(self._wanted(poisoned).values, wanted.values)

    def _compared_one(self, got: Values, right: Values, wanted: Wanted) -> str:
        benchmark = self._case.benchmark
        found = compare(got, right, benchmark.tolerance, benchmark.unit)
        if (
            found.reason
            and benchmark.tolerance is None
            and self._is_near_golden(got, right, wanted)
        ):
            self._golden = True
            found = Comparison(
                "", found.largest_error, f"{found.allowed}, or the reference's own error"
            )
        self._largest = max(self._largest, found.largest_error)
        self._allowed = found.allowed or self._allowed
        return found.reason

    def _is_near_golden(self, got: Values, right: Values, wanted: Wanted) -> bool:
        """Whether the result is as near to an fp64 run of the reference as the reference itself is."""
        golden = self._golden_of(wanted) if len(wanted.values) == 1 else None
        if golden is None or golden.shape != got[0].shape or got[1] not in _GOLDEN_FLOATS:
            return False
        own, reference = as_numbers(*got), as_numbers(*right)
        scale = float(numpy.abs(golden).max(initial=0.0))
        off, allowed = (float(numpy.abs(x - golden).max(initial=0.0)) for x in (own, reference))
        if not (numpy.isfinite(off) and numpy.isfinite(allowed)) or allowed > 0.1 * scale:
            return False
        return off <= 2 * allowed

    def _golden_of(self, wanted: Wanted) -> "numpy.ndarray[Any, Any] | None":
        reference = self._case.benchmark.ref
        assert reference is not None
        try:
            wide = Arguments(
                tuple(_widened(item) for item in wanted.original.positional),
                {key: _widened(item) for key, item in wanted.original.named.items()},
            )
            result = list(flattened(wide.given_to(reference, self._case.parameters)()))
            self._settle()
            values, dtype = values_of(result[0], self._context())
        except Exception:  # many references take no fp64: then there is no golden run
            return None
        return values if dtype == "float64" else None

    # ---- timing ---------------------------------------------------------------------------

    def timed_arguments(self) -> Arguments:
        """Arguments to time with, of which the right result is known."""
        arguments = self._fresh(_TIMED_SEED)
        if self._case.benchmark.ref is not None:
            self._timed = self._wanted(arguments)
            self._poison(arguments)
        return arguments

    def for_reference(self, arguments: Arguments) -> Arguments:
        """What the reference is timed with: the same, unless it would spoil the kernel's inputs."""
        return cloned_arguments(arguments) if self._spoilt else arguments

    def outputs_of(self, result: Any, arguments: Arguments) -> list[Any]:
        """The arrays that a call has its result in: those it returned, or the arguments it writes."""
        returned = list(flattened(result))
        if returned:
            return returned
        items = list(flattened(list(arguments.values)))
        return [items[index] for index in sorted(self._written)]

    def after(
        self, last: Any, others: Sequence[Any], given: Arguments, check: Check | None
    ) -> Check | None:
        """The check once more: the last timed call's own result, that call with what it returned
        poisoned, and one call of fresh inputs.

        ``others`` are the last results of what was timed in turns with it: they are poisoned, too.
        """
        if check is None or not check.passed or self._timed is None:
            return check
        reason = ""
        if not self.is_in_place:
            reason = self._compared(last, given, self._timed)
        if self._returns_lasting and others:
            self._lasting += _views(others[0])
        self._returned += [*flattened(last), *flattened(list(others))]
        reason = reason or self._once_more(given, self._timed)
        if reason:
            reason = f"while it was timed: {reason}"
        else:
            fresh = self._fresh(_AFTER_SEED)
            reason = self._trial(fresh, fresh)
            if reason:
                reason = f"after it was timed: {reason}"
        return self._check(reason)

    def _once_more(self, given: Arguments, timed: Wanted) -> str:
        """Make the timed call again, its inputs as they were: one that gives out what it kept, or
        that stopped working in place, is found.
        """
        if self.is_in_place and not self._restored(given, timed.original):
            return ""
        self._poison(given)
        result = given.given_to(self._case.benchmark.function, self._case.parameters)()
        self._settle()
        return self._compared(result, given, timed)

    def _restored(self, given: Arguments, original: Arguments) -> bool:
        """Whether every array has its first values again."""
        pairs = zip(flattened(list(given.values)), flattened(list(original.values)), strict=True)
        restored = [
            arrays.overwrite(to, was, self._context())
            for to, was in pairs
            if arrays.view_of(to) is not None
        ]
        self._settle()
        return all(restored)


def _views(result: Any) -> list[arrays.View]:
    return [view for item in flattened(result) if (view := arrays.view_of(item))]


def cloned_arguments(arguments: Arguments) -> Arguments:
    """The same arguments in other memory."""
    return Arguments(
        tuple(cloned(item) for item in arguments.positional),
        {key: cloned(item) for key, item in arguments.named.items()},
    )


def _bits(values: "numpy.ndarray[Any, Any]") -> "numpy.ndarray[Any, Any]":
    """Values as bytes, so that one NaN is equal to another of the same bits."""
    return numpy.ascontiguousarray(values).reshape(*values.shape, 1).view(numpy.uint8)


def same_values(one: Arguments, other: Arguments, context: CudaContext | None) -> bool:
    """Whether two sets of arguments hold equal arrays, and nothing but arrays and numbers."""
    pairs = list(zip(flattened(list(one.values)), flattened(list(other.values)), strict=False))
    if len(one.values) != len(other.values) or set(one.named) != set(other.named):
        return False
    try:
        return all(_same_bytes([values_of(a, context)], [values_of(b, context)]) for a, b in pairs)
    except KmeterError:
        return False


def _is_equal(one: Any, other: Any) -> bool:
    """Whether what is no array is the same: an object of the user's may hold arrays of its own."""
    if one is other or arrays.view_of(one) is not None:
        return True
    return isinstance(one, int | float | complex | str | bytes) and bool(one == other)


def _widened(value: Any) -> Any:
    """An array in fp64 where it is a floating-point one."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype not in _GOLDEN_FLOATS:
        return value
    return value.double() if hasattr(value, "double") else value.astype("float64")


def _same_bytes(one: Sequence[Values], other: Sequence[Values]) -> bool:
    return len(one) == len(other) and all(
        kind == other_kind and numpy.array_equal(_bits(a), _bits(b))
        for (a, kind), (b, other_kind) in zip(one, other, strict=True)
    )
