"""Data types of results: how fine each is, and the bits of those that NumPy lacks as numbers."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from kmeter.errors import KmeterError

_AT_ONCE = 1 << 20
"""Bytes compared at a time."""


class Fineness(NamedTuple):
    """How near a right result of a type comes to another."""

    relative: float
    """Allowed beside a value, for sums in another order; about 16 roundings."""
    smallest: float
    """The distance of the two smallest numbers: below it nothing can be told apart."""


FINENESS: Mapping[str, Fineness] = {
    "float64": Fineness(1e-10, 5e-324),
    "float32": Fineness(1e-4, 1.4e-45),
    "tfloat32": Fineness(5e-3, 1.4e-45),
    "float16": Fineness(5e-3, 6e-8),
    "bfloat16": Fineness(2e-2, 9.2e-41),
    "float8_e4m3fn": Fineness(0.13, 2.0**-9),
    "float8_e4m3": Fineness(0.13, 2.0**-9),
    "float8_e5m2": Fineness(0.26, 2.0**-16),
    "complex64": Fineness(1e-4, 1.4e-45),
    "complex128": Fineness(1e-10, 5e-324),
}
"""By the type's name. Integers and truth values are equal or not."""

OF_UNIT: Mapping[str, str] = {
    "tf32": "tfloat32", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8_e4m3fn",
}  # fmt: skip
"""The type that a compute unit rounds its inputs to, by the beginning of the unit's name."""


_FLOAT8_MANTISSA_BITS = {"float8_e4m3fn": 3, "float8_e4m3": 3, "float8_e5m2": 2}
_EXACT = (
    "int", "uint", "bool", "str", "bytes", "datetime64", "timedelta64", "void", "<", ">", "|", "[",
)  # fmt: skip
"""How the names of such types begin, NumPy's spelling of texts and structures among them."""


def is_exact(dtype: str) -> bool:
    """Whether results of this type are equal or wrong: integers, moments, texts, structures."""
    return dtype.startswith(_EXACT)


def fineness(dtype: str, unit: str | None = None) -> Fineness:
    """Of a result's type, or of the coarser one that the unit computes in."""
    own = FINENESS.get(dtype, FINENESS["float32"])
    coarse = next((name for key, name in OF_UNIT.items() if (unit or "").startswith(key)), None)
    if coarse is None:
        return own
    return Fineness(max(own.relative, FINENESS[coarse].relative), own.smallest)


def as_numbers(bits: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Values as NumPy can reckon with them: float64, complex128, integers as they are.

    ``bits`` holds the type itself, or the bits of a type that NumPy lacks. Raises KmeterError for one
    that is not known.
    """
    if bits.dtype.name == dtype and dtype.startswith(("bfloat", "float")):
        return _widened(bits)  # NumPy knows it, by itself or through ml_dtypes
    if dtype == "bfloat16":
        wide = bits.astype(numpy.uint32) << numpy.uint32(16)
        return _widened(wide.view(numpy.float32))
    if dtype in _FLOAT8_MANTISSA_BITS:
        decoded: NDArray[Any] = _float8_table(dtype)[bits]
        return decoded
    if dtype.startswith("complex"):
        return bits.astype(numpy.complex128)
    if not is_exact(dtype):
        raise KmeterError(f"results of type {dtype} cannot be compared")
    return bits


def is_same_memory(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays of one shape are equal to the bit, NaN among them."""
    if one.shape != other.shape or one.itemsize != other.itemsize:
        return False
    own, others = (numpy.ascontiguousarray(a).reshape(-1).view(numpy.uint8) for a in (one, other))
    return all(
        numpy.array_equal(_in_words(own[part]), _in_words(others[part])) for part in _parts(own)
    )


def _parts(raw: NDArray[numpy.uint8]) -> Iterator[slice]:
    return (slice(start, start + _AT_ONCE) for start in range(0, raw.size, _AT_ONCE))


def _in_words(raw: NDArray[numpy.uint8]) -> NDArray[Any]:
    """Eight bytes an element where they come out even: that compares faster."""
    return raw.view(numpy.uint64) if raw.size % 8 == 0 else raw


def _widened(values: NDArray[Any]) -> NDArray[numpy.float64]:
    """The same values in fp64; a signalling NaN is a NaN."""
    with numpy.errstate(invalid="ignore"):
        return values.astype(numpy.float64)


@cache
def _float8_table(dtype: str) -> NDArray[numpy.float64]:
    """The value of each of the 256 patterns, by the OCP 8-bit floating point specification."""
    mantissa_bits = _FLOAT8_MANTISSA_BITS[dtype]
    bias = 7 if mantissa_bits == 3 else 15
    table = numpy.empty(256)
    for pattern in range(256):
        exponent = (pattern & 0x7F) >> mantissa_bits
        mantissa = (pattern & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
        value = (
            (1 + mantissa) * 2.0 ** (exponent - bias) if exponent else mantissa * 2.0 ** (1 - bias)
        )
        table[pattern] = -value if pattern & 0x80 else value
        if dtype == "float8_e4m3fn" and pattern & 0x7F == 0x7F:
            table[pattern] = numpy.nan
        elif dtype != "float8_e4m3fn" and exponent == (1 << (7 - mantissa_bits)) - 1:
            table[pattern] = numpy.nan if mantissa else table[pattern] * numpy.inf
    return table
