"""Kernels for a roofline out of files: a profiler's exports, saved benchmarks."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.benchmark import Row
from kmeter.model.compute_units import UNITS
from kmeter.model.profiled_kernel import ProfiledKernel
from kmeter.model.profiled_points import ProfiledPoints, profiled_points, units_of
from kmeter.model.roofline import KernelPoint, Roofline
from kmeter.units import quoted


class Profiles(NamedTuple):
    """What files told of kernels."""

    kernels: list[ProfiledKernel]
    points: list[KernelPoint]
    """Of benchmarks, whose rows count their FLOP and bytes themselves."""

    @property
    def units(self) -> tuple[str, ...]:
        """What the kernels compute in, the one with the most FLOP first."""
        of_points = (point.unit for point in self.points if point.unit is not None)
        return tuple(dict.fromkeys([*units_of(self.kernels), *of_points]))

    def placed(self, line: Roofline) -> ProfiledPoints:
        """All of them under the roofs."""
        found = profiled_points(line, self.kernels)
        for point in self.points:
            try:
                found.placed.append(line.place(point))
            except UsageError as error:
                found.remarks.append(f"{quoted(point.name)} is left out: {error}")
        return found


def read_profiles(files: Sequence[str]) -> Profiles:
    """Raises UsageError, naming the file, for one that is of no known kind."""
    found = Profiles([], [])
    for file in files:
        one = _read(Path(file))
        found = Profiles(found.kernels + one.kernels, found.points + one.points)
    return found


def _read(path: Path) -> Profiles:
    from kmeter.kernels.ncu_csv import profiled_kernels
    from kmeter.kernels.ncu_report import SUFFIXES, reported_kernels
    from kmeter.kernels.profiler_lines import LARGEST_BYTES

    if path.suffix in SUFFIXES:
        return Profiles(reported_kernels(path), [])
    if str(path) == "-":
        raw = sys.stdin.buffer.read(LARGEST_BYTES) if sys.stdin is not None else b""
        return Profiles(profiled_kernels(raw, "stdin"), [])
    raw = read_bounded(path, LARGEST_BYTES, "profile")
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return Profiles([], _points_of_run(path))
    return Profiles(profiled_kernels(raw, str(path)), [])


def _points_of_run(path: Path) -> list[KernelPoint]:
    from kmeter.bench.saved import points_of

    points = [replace(point, unit=_unit_of(row)) for row, point in points_of(path)]
    if not points:
        raise UsageError(f"{path}: no row has a time, FLOP and bytes", "NVBench counts no FLOP")
    return points


def _unit_of(row: Row) -> str | None:
    """What the row says that it computes in; None where that was assumed."""
    return row.roofs.unit if row.roofs.unit in UNITS and not row.roofs.unit_is_assumed else None
