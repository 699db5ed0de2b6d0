"""Is the result right, and is it the work of the call? A kernel is tried on fresh inputs, with
outputs poisoned and inputs replaced at their addresses, before it is timed and after.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from kmeter.bench import arrays, frameworks
from kmeter.bench.argument_sets import (
    Context,
    changes,
    cloned_arguments,
    items_of,
    overwritten,
    poison_at,
    same_bytes,
    same_values,
    seen_same_on_device,
    views_of,
)
from kmeter.bench.arrays import flattened, values_of
from kmeter.bench.cases import Arguments, Case
from kmeter.bench.compare import Comparison, Values, compare
from kmeter.bench.numbers import as_numbers
from kmeter.bench.reference import GOLDEN_FLOATS, Reference, Wanted
from kmeter.model.benchmark import Check

_SEEDS = (20_001, 20_002, 20_003)
_TIMED_SEED = 20_004
_AFTER_SEED = 20_005


class Judge:
    """Tries one case. Results are compared on the host; a GPU says which of its arrays have changed."""

    def __init__(
        self, case: Case, context: Callable[[], Context], settle: Callable[[], None]
    ) -> None:
        """``settle`` waits for the GPU; ``context`` is asked where an array lies there."""
        self._case, self._context, self._settle = case, context, settle
        self._reference = Reference(case, context, settle)
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
        self.changes_inputs = False
        """Whether it returns its result elsewhere, and writes to what the reference reads all the same."""
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
        self._returns_lasting = self._reference.returns_a_table(first)
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
        if not overwritten(old, fresh, self._context()):
            return fresh
        self._settle()
        return old

    def _trial(self, fresh: Arguments, given: Arguments) -> str:
        """Call the kernel with ``given``, whose values are those of ``fresh``; what is wrong, or ""."""
        wanted = self._wanted(fresh)
        self._poison(given)
        return self._compared(self._called(given), given, wanted)

    def _poison(self, given: Arguments) -> None:
        """Overwrite what earlier calls returned, and arguments that are outputs alone."""
        context = self._context()
        own = [*self._lasting, *views_of(list(given.values))]
        for item in self._returned:
            view = arrays.view_of(item)
            if view is not None and not any(view.overlaps(other) for other in own):
                arrays.poison(item, context)
        self._returned = []
        poison_at(given, self._written, context)
        self._settle()

    def _wanted(self, arguments: Arguments) -> Wanted:
        """The reference's word; what it returned is kept from being given to the kernel."""
        wanted = self._reference.wanted(arguments)
        if self._returns_lasting:
            self._lasting += views_of(wanted.returned)
        self._returned += wanted.returned
        return wanted

    def _find_outputs(self) -> None:
        """Tell arguments that are outputs alone from those that the reference needs, too."""
        fresh = self._fresh(_SEEDS[0])
        original, poisoned = cloned_arguments(fresh), cloned_arguments(fresh)
        returned = views_of(self._called(fresh))
        changed = frozenset(index for index, _ in changes(fresh, original, self._context()))
        plain = self._wanted(original)
        self._spoilt = frozenset(plain.places) - changed
        if not changed:
            return
        poison_at(poisoned, changed, self._context())
        self._settle()
        self.is_in_place = not same_bytes(plain.values, self._wanted(poisoned).values)
        self._written = frozenset() if self.is_in_place else changed
        own = views_of(list(fresh.values))
        elsewhere = [view for view in returned if not any(view.overlaps(other) for other in own)]
        self.changes_inputs = self.is_in_place and bool(elsewhere)

    def _called(self, arguments: Arguments) -> Any:
        """The kernel's result, when the GPU has done it."""
        result = arguments.given_to(self._case.benchmark.function, self._case.parameters)()
        self._settle()
        return result

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
        for item, right, copy in zip(found, wanted.values, wanted.copies, strict=True):
            # What equals the reference's to the bit is right, once the tolerance has been judged.
            if self.runs > 1 and seen_same_on_device(item, copy, self._context()):
                continue
            reason = self._compared_one(values_of(item, self._context()), right, wanted)
            if reason:
                return reason
        return ""

    def _is_status(self, returned: list[Any], given: Arguments, wanted: Wanted) -> bool:
        """Whether bare numbers are returned beside a result that is written, as the reference's is."""
        if not wanted.was_written or any(arrays.view_of(item) is not None for item in returned):
            return False
        return self._written_by(given, wanted.original).issuperset(wanted.places)

    def _written_by(self, given: Arguments, original: Arguments) -> set[int]:
        """The arguments that hold a result: known to, or seen to have changed."""
        return {index for index, _ in changes(given, original, self._context())} | self._written

    def _outputs(self, given: Arguments, wanted: Wanted) -> list[Any]:
        """The arguments that hold a result; workspaces are left out."""
        written = sorted(self._written_by(given, wanted.original))
        items = items_of(given)
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
        if wanted.was_written:
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
        poison_at(poisoned, places, self._context())
        self._settle()
        return not same_bytes(self._wanted(poisoned).values, wanted.values)

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
        golden = self._reference.golden(wanted.original) if len(wanted.values) == 1 else None
        if golden is None or golden.shape != got[0].shape or got[1] not in GOLDEN_FLOATS:
            return False
        own, reference = as_numbers(*got), as_numbers(*right)
        scale = float(numpy.abs(golden).max(initial=0.0))
        off, allowed = (float(numpy.abs(x - golden).max(initial=0.0)) for x in (own, reference))
        if not (numpy.isfinite(off) and numpy.isfinite(allowed)) or allowed > 0.1 * scale:
            return False
        return off <= 2 * allowed

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
        items = items_of(arguments)
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
            self._lasting += views_of(others[0])
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
        return self._compared(self._called(given), given, timed)

    def _restored(self, given: Arguments, original: Arguments) -> bool:
        """Whether every array has its first values again."""
        is_done = overwritten(given, original, self._context())
        self._settle()
        return is_done
