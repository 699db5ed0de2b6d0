"""A result held against the reference's, on the host and in portions."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from kmeter.bench.arrays import POISON
from kmeter.bench.numbers import as_numbers, fineness, is_exact, is_same_memory
from kmeter.bench.registry import Tolerance

_PORTION = 1 << 16
"""Elements compared at a time: what is reckoned of them stays in the host's caches."""
_TYPICAL_OF = 1 << 14
"""Elements that tell how large a typical one is."""
_ZEROS_OF = 1 << 20
"""Elements that tell whether zeros would pass: few of them may differ from 0."""

Values = tuple[NDArray[Any], str]
"""Values as they stand in memory, and the name of their type."""


class Comparison(NamedTuple):
    """How a result compares; ``reason`` says what is wrong with it, or nothing."""

    reason: str = ""
    largest_error: float = 0.0
    allowed: str = ""
    """How much was allowed, in words."""


class Allowed(NamedTuple):
    """The largest difference that is none: ``absolute + relative * |expected|``."""

    relative: float
    absolute: float

    def __str__(self) -> str:
        if not self.relative and not self.absolute:
            return "equal"
        return f"{self.relative:.2g} relative, {self.absolute:.2g} absolute"


def compare(
    got: Values, expected: Values, tolerance: Tolerance = None, unit: str | None = None
) -> Comparison:
    """Compare shape, type and every element.

    Without a ``tolerance`` the type of the result decides, or the coarser one of the compute unit
    that it comes from; the absolute part follows from how large the expected values are.
    """
    (found, dtype), (wanted, wanted_dtype) = got, expected
    if found.shape != wanted.shape:
        return Comparison(f"its shape is {_shape(found)}, the reference's {_shape(wanted)}")
    if dtype != wanted_dtype and not _is_number(found):
        return Comparison(f"its type is {dtype}, the reference's {wanted_dtype}")
    if not found.size:
        return Comparison(allowed="nothing to compare")
    found, wanted = numpy.ascontiguousarray(found).ravel(), numpy.ascontiguousarray(wanted).ravel()
    allowed = allowance(wanted, wanted_dtype, tolerance, unit)
    if tolerance is not None and _zeros_would_pass(wanted, wanted_dtype, allowed):
        return Comparison("the tolerance is so wide that a result of zeros would pass")
    largest = 0.0
    for start in range(0, found.size, _PORTION):
        part = slice(start, start + _PORTION)
        error, reason = _portion(found[part], wanted[part], dtype, wanted_dtype, allowed, start)
        largest = max(largest, error)
        if reason:
            return Comparison(reason, largest, str(allowed))
    return Comparison("", largest, str(allowed))


def _is_number(array: NDArray[Any]) -> bool:
    """A bare number of Python has no type of its own to be wrong in."""
    return array.ndim == 0


def _shape(array: NDArray[Any]) -> str:
    return "x".join(map(str, array.shape)) or "that of a number"


def allowance(
    expected: NDArray[Any], dtype: str, tolerance: Tolerance, unit: str | None = None
) -> Allowed:
    """How far a result may be off; the user's word counts, then the type."""
    if isinstance(tolerance, tuple):
        return Allowed(*tolerance)
    if is_exact(dtype) and tolerance is None:
        return Allowed(0.0, 0.0)
    fine = fineness(dtype, unit)
    relative = fine.relative if tolerance is None else tolerance
    return Allowed(relative, relative * typical(expected, dtype) + fine.smallest)


def typical(values: NDArray[Any], dtype: str) -> float:
    """The median of the magnitudes that are neither 0 nor infinite; 0 where there are none."""
    step = max(1, values.size // _TYPICAL_OF)
    sizes = _sizes(as_numbers(values[::step], dtype))
    sizes = sizes[(sizes > 0) & numpy.isfinite(sizes)]
    return float(numpy.median(sizes)) if sizes.size else 0.0


def _sizes(numbers: NDArray[Any]) -> NDArray[Any]:
    """Their magnitudes in fp64."""
    sizes: NDArray[Any] = numpy.abs(_reals(numbers)).astype(numpy.float64)
    return sizes


def _reals(numbers: NDArray[Any]) -> NDArray[Any]:
    """Integers and truth values as fp64: the difference of two integers may wrap."""
    return numbers.astype(numpy.float64) if numbers.dtype.kind in "biu" else numbers


def _zeros_would_pass(expected: NDArray[Any], dtype: str, allowed: Allowed) -> bool:
    step = max(1, expected.size // _ZEROS_OF)
    sizes = _sizes(as_numbers(expected[::step], dtype))
    return bool(sizes.any() and (sizes <= allowed.absolute + allowed.relative * sizes).all())


def _portion(
    found: NDArray[Any],
    wanted: NDArray[Any],
    dtype: str,
    wanted_dtype: str,
    allowed: Allowed,
    start: int,
) -> tuple[float, str]:
    """The largest error of a portion, and what is wrong with its first bad element."""
    if dtype == wanted_dtype and is_same_memory(found, wanted):
        return 0.0, ""
    if dtype == wanted_dtype and is_exact(dtype) and allowed == Allowed(0.0, 0.0):
        own, right, bad = found, wanted, found != wanted
        # Of text and dates nobody asks how far they are apart.
        errors = _sizes(_reals(own) - _reals(right)) if own.dtype.kind in "biu" else numpy.zeros(0)
    else:
        own, right = as_numbers(found, dtype), as_numbers(wanted, wanted_dtype)
        with numpy.errstate(all="ignore"):
            errors = _sizes(_reals(own) - _reals(right))
            limit = allowed.absolute + allowed.relative * _sizes(right)
            if (errors <= limit).all() and limit.max() < numpy.inf:
                return float(errors.max()), ""
            same = (own == right) | (numpy.isnan(own) & numpy.isnan(right))
            if found.itemsize > 1:  # a NaN of one byte may well be the poison's own
                same &= ~(_poisoned(found) & ~_poisoned(wanted))
            bad = ~(same | (numpy.isfinite(right) & (errors <= limit)))
    finite = errors[numpy.isfinite(errors)]
    largest = float(finite.max()) if finite.size else 0.0
    if not bad.any():
        return largest, ""
    unwritten = _poisoned(found) & bad
    if unwritten.any():
        return largest, f"{_count(unwritten)} not written, the first at {start + _first(unwritten)}"
    return largest, _told(own, right, bad, start)


def _poisoned(values: NDArray[Any]) -> NDArray[numpy.bool_]:
    """Elements that still hold what was put there before the call."""
    raw = values.view(numpy.uint8).reshape(values.size, -1)
    whole: NDArray[numpy.bool_] = (raw == POISON).all(axis=1)
    return whole


def _told(own: NDArray[Any], right: NDArray[Any], bad: NDArray[numpy.bool_], start: int) -> str:
    index = _first(bad)
    kinds = dict(_kinds(own[index], right[index]))
    what = next((word for word, is_so in kinds.items() if is_so), "wrong")
    found, wanted = _texts(own[index], right[index])
    return f"{_count(bad)} {what}, the first at {start + index}: {found} where {wanted} is right"


def _kinds(own: Any, right: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(own, numpy.inexact):
        yield "NaN", bool(numpy.isnan(own) and not numpy.isnan(right))
        yield "infinite", bool(numpy.isinf(own) and not numpy.isinf(right))


def _count(bad: NDArray[numpy.bool_]) -> str:
    many = int(bad.sum())
    return "1 element is" if many == 1 else f"{many} elements are"


def _first(bad: NDArray[numpy.bool_]) -> int:
    return int(numpy.argmax(bad))


def _texts(own: Any, right: Any) -> tuple[str, str]:
    """Both values, with as many digits as it takes to tell them apart."""
    if not isinstance(own, numpy.floating | float):
        return str(own), str(right)
    for digits in (6, 9, 17):
        texts = f"{own:.{digits}g}", f"{right:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
