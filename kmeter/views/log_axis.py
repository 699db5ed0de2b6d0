"""A logarithmic axis: values to positions, and ticks that fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LogAxis:
    """From ``low`` to ``high`` over ``length`` cells or pixels."""

    low: float
    high: float
    length: float

    def at(self, value: float) -> float:
        """The position of a value, 0 at ``low``."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return share * self.length

    def powers(self, base: int, most: int) -> list[float]:
        """Powers of ``base`` in the range, at most ``most`` of them, evenly spaced."""
        first = math.ceil(round(math.log(self.low, base), 9))
        last = math.floor(round(math.log(self.high, base), 9))
        step = max(1, math.ceil((last - first + 1) / max(1, most)))
        start = first + (-first) % step
        return [float(base) ** n for n in range(start, last + 1, step)]


def powers_around(values: Sequence[float], base: int) -> tuple[float, float]:
    """The powers of ``base`` that enclose all values, with a little room on both sides."""
    low = math.floor(math.log(min(values), base) - 0.05)
    high = math.ceil(math.log(max(values), base) + 0.05)
    return float(base) ** low, float(base) ** high


def room_around(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values with room below and, for labels, above; more than a decade."""
    low, high = min(values) / 1.5, max(values) * 2.5
    return (low, high) if high > 20 * low else (low / 4, high * 2)


def power_of_two(value: float) -> str:
    """``1/16``, ``1``, ``64``, ``2^20``: a power of two as people write it."""
    exponent = round(math.log2(value))
    if abs(exponent) > 12:
        return f"2^{exponent}"
    return str(2**exponent) if exponent >= 0 else f"1/{2**-exponent}"
