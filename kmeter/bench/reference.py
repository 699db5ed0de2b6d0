"""What the reference says is right: called on copies, its word kept on the host."""

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from kmeter.bench import arrays
from kmeter.bench.argument_sets import Context, changes, cloned_arguments, same_array, views_of
from kmeter.bench.arrays import cloned, flattened, values_of
from kmeter.bench.cases import Arguments, Case
from kmeter.bench.compare import Values

GOLDEN_FLOATS = ("float16", "float32", "bfloat16")
"""Types whose reference can be run in fp64."""
_MOST_COPIED_BYTES = 2**28
"""Of an array that the GPU itself compares: the copy takes memory that a kernel may want."""


class Wanted(NamedTuple):
    """What the reference says: what it returned, or else wrote to its arguments."""

    values: list[Values]
    """On the host."""
    original: Arguments
    """The arguments as they were."""
    places: tuple[int, ...] = ()
    """The arguments that it wrote to."""
    returned: tuple[Any, ...] = ()
    """The arrays that it returned, where they lie."""
    copies: tuple[Any, ...] = ()
    """The values once more on the GPU; None for one that is too large for that, or not there."""

    @property
    def was_written(self) -> bool:
        """Whether the values stand in arguments."""
        return not self.returned


class Reference:
    """A case's reference. It never sees the arguments that a kernel is given."""

    def __init__(
        self, case: Case, context: Callable[[], Context], settle: Callable[[], None]
    ) -> None:
        """``settle`` waits for the GPU; ``context`` is asked where an array lies there."""
        self._case, self._context, self._settle = case, context, settle

    def wanted(self, arguments: Arguments) -> Wanted:
        """Its word on these arguments; raises what it raises."""
        original, own = cloned_arguments(arguments), cloned_arguments(arguments)
        returned = self._called(own)
        written = list(changes(own, original, self._context()))
        places = tuple(index for index, _ in written)
        items = returned or [item for _, item in written]
        values = [values_of(item, self._context()) for item in items]
        copies = tuple(_copy_on_gpu(item) for item in items)
        return Wanted(values, original, places, tuple(returned), copies)

    def _called(self, arguments: Arguments) -> list[Any]:
        reference = self._case.benchmark.ref
        assert reference is not None
        result = arguments.given_to(reference, self._case.parameters)()
        self._settle()
        return list(flattened(result))

    def returns_a_table(self, arguments: Arguments) -> bool:
        """Whether it returns memory that lasts and that it does not write itself."""
        one, other = (self._called(cloned_arguments(arguments)) for _ in range(2))
        if not any(a.overlaps(b) for a in views_of(one) for b in views_of(other)):
            return False
        context = self._context()
        poisoned = [
            (item, copy)
            for item, copy in zip(one, [cloned(item) for item in one], strict=True)
            if arrays.overwrite(item, copy, context) and arrays.poison(item, context)
        ]
        self._called(cloned_arguments(arguments))
        is_rewritten = [same_array(item, copy, context) for item, copy in poisoned]
        for item, copy in poisoned:
            arrays.overwrite(item, copy, context)
        self._settle()
        return not all(is_rewritten) or not poisoned

    def golden(self, arguments: Arguments) -> NDArray[Any] | None:
        """Its result where it computes in fp64; None where it cannot."""
        try:
            wide = Arguments(
                tuple(_widened(item) for item in arguments.positional),
                {key: _widened(item) for key, item in arguments.named.items()},
            )
            values, dtype = values_of(self._called(wide)[0], self._context())
        except Exception:  # many references take no fp64: then there is no golden run
            return None
        return values if dtype == "float64" else None


def _copy_on_gpu(item: Any) -> Any | None:
    view = arrays.view_of(item)
    is_fit = view is not None and view.on_gpu and view.span_bytes <= _MOST_COPIED_BYTES
    return cloned(item) if is_fit else None


def _widened(value: Any) -> Any:
    """An array in fp64 where it is a floating-point one."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype not in GOLDEN_FLOATS:
        return value
    return value.double() if hasattr(value, "double") else value.astype("float64")
