"""Sets of arguments: copied, compared, changed in place, and seen to have changed."""

from collections.abc import Iterator, Sequence
from typing import Any

from kmeter.bench import arrays
from kmeter.bench.arrays import View, cloned, flattened, values_of
from kmeter.bench.cases import Arguments
from kmeter.bench.compare import Values
from kmeter.bench.numbers import is_same_memory
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import CudaContext
from kmeter.measure.device_compare import same_on_device

Context = CudaContext | None


def items_of(arguments: Arguments) -> list[Any]:
    """The arrays and numbers among them, each at its place."""
    return list(flattened(list(arguments.values)))


def views_of(result: Any) -> list[View]:
    """The memory of every array in a result."""
    return [view for item in flattened(result) if (view := arrays.view_of(item))]


def cloned_arguments(arguments: Arguments) -> Arguments:
    """The same arguments in other memory."""
    return Arguments(
        tuple(cloned(item) for item in arguments.positional),
        {key: cloned(item) for key, item in arguments.named.items()},
    )


def changes(
    arguments: Arguments, original: Arguments, context: Context
) -> Iterator[tuple[int, Any]]:
    """The arrays that differ from what they were, with their places."""
    pairs = zip(items_of(arguments), items_of(original), strict=True)
    for index, (item, before) in enumerate(pairs):
        if arrays.view_of(item) is None:
            continue
        if not same_array(item, before, context):
            yield index, item


def poison_at(arguments: Arguments, places: frozenset[int] | set[int], context: Context) -> None:
    """Overwrite the arrays at these places."""
    for index, item in enumerate(items_of(arguments)):
        if index in places:
            arrays.poison(item, context)


def overwritten(old: Arguments, values: Arguments, context: Context) -> bool:
    """Whether every array of ``old`` has got the other ones' values, at its own address.

    Nothing is changed where the two differ in what is no array: an object may hold arrays itself.
    """
    pairs = list(zip(items_of(old), items_of(values), strict=False))
    arrays_of = [(to, new) for to, new in pairs if arrays.view_of(to) is not None]
    if not arrays_of or not all(_is_equal(to, new) for to, new in pairs):
        return False
    return all(arrays.overwrite(to, new, context) for to, new in arrays_of)


def _is_equal(one: Any, other: Any) -> bool:
    if one is other or arrays.view_of(one) is not None:
        return True
    return isinstance(one, int | float | complex | str | bytes) and bool(one == other)


def same_values(one: Arguments, other: Arguments, context: Context) -> bool:
    """Whether two sets of arguments hold equal arrays, and nothing but arrays and numbers."""
    pairs = list(zip(items_of(one), items_of(other), strict=False))
    if len(one.values) != len(other.values) or set(one.named) != set(other.named):
        return False
    try:
        return all(same_array(a, b, context) for a, b in pairs)
    except KmeterError:
        return False


def same_array(one: Any, other: Any, context: Context) -> bool:
    """Whether two arrays or numbers are equal to the bit; on a GPU it compares them itself.

    Raises UnreadableError for what cannot be read.
    """
    on_device = seen_same_on_device(one, other, context)
    if on_device is not None:
        return on_device
    return same_bytes([values_of(one, context)], [values_of(other, context)])


def seen_same_on_device(one: Any, other: Any, context: Context) -> bool | None:
    """Whether a GPU says that two of its arrays are equal to the bit; None where it cannot be asked."""
    a, b = arrays.view_of(one), arrays.view_of(other)
    if context is not None and a and b and _is_solid(a) and _is_solid(b) and _is_laid_out(a, b):
        return same_on_device(context, a.pointer, b.pointer, a.span_bytes)
    return None


def _is_solid(view: View) -> bool:
    """Whether it lies on a GPU, one element beside the other."""
    return view.on_gpu and view.is_dense and view.size > 0


def _is_laid_out(one: View, other: View) -> bool:
    """Whether both have their elements in the same order, of one type."""
    return (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)


def same_bytes(one: Sequence[Values], other: Sequence[Values]) -> bool:
    """Whether values are equal to the bit, NaN among them."""
    return len(one) == len(other) and all(
        kind == other_kind and is_same_memory(a, b)
        for (a, kind), (b, other_kind) in zip(one, other, strict=True)
    )
