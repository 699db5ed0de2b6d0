"""A value as it stands in a profiler's text, and the amount that it spells.

An amount that is not there is None; one that makes no sense is refused with its place.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.kernels.profiler_numbers import has_no_value, number_in
from kmeter.kernels.profiler_units import Kind, scale_of
from kmeter.model.compiled_kernel import Dimensions
from kmeter.units import MOST, quoted

_MOST_OF_A_DIMENSION = 2**31


class Place(NamedTuple):
    """Where something stands."""

    file: str
    line: int
    """From 1; 0 in a file without lines."""
    column: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.file}: metric {self.column}"
        return f"{self.file}:{self.line}: column {self.column}"


class Reading(NamedTuple):
    """A value with its unit, both as text; a summary has the least and the most beside."""

    text: str
    unit: str
    place: Place
    unit_place: Place
    least: str = ""
    most: str = ""

    @property
    def has_value(self) -> bool:
        return not has_no_value(self.text)


class Amounts:
    """The readings of one launch, by the metric's name, as numbers in base units."""

    def __init__(self, readings: Mapping[str, Reading], decimal: str) -> None:
        self._readings = readings
        self._decimal = decimal

    def get(self, kind: Kind, *names: str) -> float | None:
        """The first of the metrics that has a value, in the base unit of ``kind``; else None.

        Raises UsageError with the place of what is no number, negative, or in another unit.
        """
        name = self.first(*names)
        return None if name is None else self._amount(name, self._readings[name].text, kind)

    def first(self, *names: str) -> str | None:
        """The first of the metrics that has a value."""
        for name in names:
            reading = self._readings.get(name)
            if reading is not None and reading.has_value:
                return name
        return None

    def extremes(self, kind: Kind, *names: str) -> tuple[float | None, float | None]:
        """The least and the most of what ``get`` gives the average of."""
        name = self.first(*names)
        if name is None:
            return None, None
        reading = self._readings[name]
        return self._amount(name, reading.least, kind), self._amount(name, reading.most, kind)

    def whole(self, *names: str) -> int | None:
        """As ``get``, of a count; None for an average between two integers."""
        value = self.get(Kind.COUNT, *names)
        return int(value) if value is not None and value == int(value) else None

    def _amount(self, name: str, text: str, kind: Kind) -> float | None:
        if has_no_value(text):
            return None
        reading = self._readings[name]
        value = number_in(text, self._decimal)
        if value is None:
            raise UsageError(f"{reading.place}: {quoted(text)} is no number")
        try:
            scaled = value * scale_of(reading.unit, kind)
        except ValueError as error:
            raise UsageError(f"{reading.unit_place}: {quoted(reading.unit)} {error}") from None
        return possible_amount(scaled, text, reading.place)


def possible_amount(value: float, text: str, place: Place) -> float:
    """An amount that a kernel can have; raises UsageError for a negative or an absurd one."""
    if value < 0:
        raise UsageError(f"{place}: {quoted(text)} is below 0")
    if value != 0 and not 1 / MOST <= value <= MOST:
        raise UsageError(f"{place}: {quoted(text)} is impossible")
    return value


def dimensions_in(text: str) -> Dimensions | None:
    """``(32, 8, 1)`` → the three numbers; None for anything else."""
    parts = text.strip().removeprefix("(").removesuffix(")").split(",", 4)
    numbers = [part.strip() for part in parts]
    if len(numbers) != 3 or not all(n.isascii() and n.isdigit() and len(n) < 12 for n in numbers):
        return None
    x, y, z = map(int, numbers)
    return (x, y, z) if min(x, y, z) > 0 and max(x, y, z) <= _MOST_OF_A_DIMENSION else None
