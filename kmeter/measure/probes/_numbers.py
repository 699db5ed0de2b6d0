"""Random operands of matrix products, in every data type that tensor cores take."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np


class Encoding(NamedTuple):
    """Numbers of a matrix as bytes: how they are drawn, and what they stand for."""

    bytes: int
    draw: Callable[[Any, tuple[int, ...]], Any]
    """NumPy's generator and a shape -> raw words, uniform in [-1, 1), or all of int8."""
    value: Callable[[Any], Any]
    """Raw words -> doubles, exactly."""


def without_sign(encoding: "Encoding", words: Any) -> Any:
    """The same numbers, negative ones by their magnitude; of integers the lower bits alone."""
    unsigned = words.view(f"u{encoding.bytes}")
    mask = (1 << (8 * encoding.bytes - 1)) - 1
    return (unsigned & unsigned.dtype.type(mask)).view(words.dtype)


def _draw_bf16(random: Any, shape: tuple[int, ...]) -> Any:
    words = random.uniform(-1, 1, shape).astype(np.float32).view(np.uint32)
    return (words >> 16).astype(np.uint16)


def _draw_tf32(random: Any, shape: tuple[int, ...]) -> Any:
    """Floats whose last 13 bits, which the tensor cores ignore, are zero."""
    words = random.uniform(-1, 1, shape).astype(np.float32).view(np.uint32)
    return words & np.uint32(0xFFFFE000)


@cache
def _e4m3_values() -> Any:
    """What each byte means as e4m3 (OCP 8-bit floating point, table 1); NaN for 0x7F and 0xFF."""
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    normal = np.ldexp(1 + mantissa / 8, exponent - 7)
    magnitude = np.where(exponent == 0, np.ldexp(mantissa / 8, -6), normal)
    magnitude[(codes & 0x7F) == 0x7F] = np.nan
    return np.where(codes & 0x80, -magnitude, magnitude)


def _draw_e4m3(random: Any, shape: tuple[int, ...]) -> Any:
    """The e4m3 number at or below a uniform magnitude, with a random sign."""
    positive = _e4m3_values()[:0x7F]
    codes = np.searchsorted(positive, random.uniform(0, 1, shape), side="right") - 1
    return (codes | random.integers(0, 2, shape) << 7).astype(np.uint8)


FP64 = Encoding(8, lambda r, s: r.uniform(-1, 1, s), lambda w: w)
TF32 = Encoding(4, _draw_tf32, lambda w: w.view(np.float32).astype(np.float64))
FP32 = Encoding(
    4, lambda r, s: r.uniform(-1, 1, s).astype(np.float32), lambda w: w.astype(np.float64)
)
FP16 = Encoding(
    2, lambda r, s: r.uniform(-1, 1, s).astype(np.float16), lambda w: w.astype(np.float64)
)
BF16 = Encoding(
    2, _draw_bf16, lambda w: (w.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
)
E4M3 = Encoding(1, _draw_e4m3, lambda w: _e4m3_values()[w])
INT8 = Encoding(
    1, lambda r, s: r.integers(-128, 128, s).astype(np.int8), lambda w: w.astype(np.float64)
)
