"""What nvprof writes with ``--csv``: a summary, a trace of the GPU, or averages of metrics.

nvprof counts GPUs before Volta and the first years of it; a row of units stands below the header.
"""

import re
from collections.abc import Sequence

from kmeter.errors import UsageError
from kmeter.kernels.profiler_lines import MOST_LAUNCHES, Row, printable
from kmeter.kernels.profiler_numbers import DecimalMark
from kmeter.kernels.profiler_reading import Amounts, Place, Reading
from kmeter.kernels.profiler_units import Kind
from kmeter.model.compiled_kernel import Dimensions
from kmeter.model.profiled_kernel import ProfiledLaunch

_CORRELATION = re.compile(r" \[\d{1,12}\]$")
"""A trace writes the number of a launch behind its name."""
_FLOP = {"fp64": "flop_count_dp", "fp32": "flop_count_sp", "fp16": "flop_count_hp"}
_SECTOR_BYTES = 32


class NvprofPage:
    """A table of nvprof: which lines are rows, and their fields by the column's name."""

    needed: tuple[str, ...] = ()
    has_units = True

    def __init__(self, file: str, header: Sequence[str], delimiter: str) -> None:
        self.file = file
        self.delimiter = delimiter
        self._header = header
        self._columns = {name: at for at, name in reversed(list(enumerate(header)))}
        self._units: Row | None = None
        self._rows: list[Row] = []

    def row_in(self, line: str) -> str:
        """The line where it is a row; empty in a banner and in what a program printed."""
        if line.startswith("=="):
            return ""
        if self.has_units and self._units is None:
            return line if self.delimiter in line else ""
        is_bare_number = self.delimiter not in line and line.endswith("\n")
        return line if line.startswith('"') or (line[:1].isdigit() and not is_bare_number) else ""

    def take(self, row: Row, mark: DecimalMark) -> None:
        """Keep a row; raises UsageError for one that is cut."""
        if len(row.fields) < len(self._header):
            raise UsageError(
                f"{self.file}:{row.line}: {len(row.fields)} of {len(self._header)} columns: "
                "the file is cut or damaged"
            )
        if self.has_units and self._units is None:
            self._units = self._checked_units(row)
        elif len(self._rows) >= MOST_LAUNCHES:
            raise UsageError(f"{self.file} has more than {MOST_LAUNCHES} launches")
        elif self.is_kernel(row):
            for name in self.needed:
                mark.hear(self.field(row, name))
            self._rows.append(row)

    def _checked_units(self, row: Row) -> Row:
        if self.field(row, "Name"):
            raise UsageError(f"{self.file}:{row.line}: there is no row of units below the header")
        return row

    def is_kernel(self, row: Row) -> bool:
        """Whether a row is one of a kernel: not of a copy, and not of the host's calls."""
        return not self.field(row, "Name").startswith("[CUDA ")

    def launches(self, decimal: str) -> list[ProfiledLaunch]:
        """All launches; raises UsageError for a value that is no amount of what it should be."""
        return [self.launch(row, self.amounts(row, decimal)) for row in self._rows]

    def launch(self, row: Row, amounts: Amounts) -> ProfiledLaunch:
        raise NotImplementedError

    def field(self, row: Row, name: str) -> str:
        return row.field(self._columns.get(name))

    def amounts(self, row: Row, decimal: str) -> Amounts:
        """The row's values by the names of their columns."""
        return Amounts({name: self.reading(row, name) for name in self.needed}, decimal)

    def reading(self, row: Row, name: str, unit: str | None = None) -> Reading:
        units = self._units
        own = "" if units is None else units.field(self._columns.get(name))
        value = Place(self.file, row.line, name)
        where = value if units is None else Place(self.file, units.line, name)
        return Reading(self.field(row, name), own if unit is None else unit, value, where)


class SummaryPage(NvprofPage):
    """The summary: a kernel a row, with its average time."""

    needed = ("Avg", "Min", "Max", "Calls")

    def __init__(self, file: str, header: Sequence[str], delimiter: str, *, of_calls: bool) -> None:
        super().__init__(file, header, delimiter)
        self._of_calls = of_calls

    def is_kernel(self, row: Row) -> bool:
        kind = self.field(row, "Type")
        return not self._of_calls and kind in {"", "GPU activities"} and super().is_kernel(row)

    def launch(self, row: Row, amounts: Amounts) -> ProfiledLaunch:
        return ProfiledLaunch(
            printable(self.field(row, "Name")) or "(no name)",
            launches=_launches(amounts, "Calls", Place(self.file, row.line, "Calls")),
            seconds=amounts.get(Kind.TIME, "Avg"),
            seconds_min=amounts.get(Kind.TIME, "Min"),
            seconds_max=amounts.get(Kind.TIME, "Max"),
        )


class TracePage(NvprofPage):
    """``--print-gpu-trace``: a launch a row; copies have no grid."""

    needed = (
        "Duration", "Registers Per Thread",
        "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z",
    )  # fmt: skip

    def is_kernel(self, row: Row) -> bool:
        return bool(self.field(row, "Grid X")) and super().is_kernel(row)

    def launch(self, row: Row, amounts: Amounts) -> ProfiledLaunch:
        block, grid = _shape(amounts, "Block"), _shape(amounts, "Grid")
        name = _CORRELATION.sub("", printable(self.field(row, "Name")))
        return ProfiledLaunch(
            name or "(no name)",
            seconds=amounts.get(Kind.TIME, "Duration"),
            registers_per_thread=amounts.whole("Registers Per Thread"),
            block=block,
            grid=grid,
            threads_per_block=None if block is None else block[0] * block[1] * block[2],
            blocks=None if grid is None else grid[0] * grid[1] * grid[2],
        )


class MetricsPage(NvprofPage):
    """``--metrics``: a kernel and a metric a row, averaged over the launches; no times."""

    needed = ("Avg", "Invocations")
    has_units = False

    def launches(self, decimal: str) -> list[ProfiledLaunch]:
        found: dict[tuple[str, str], tuple[Row, dict[str, Reading]]] = {}
        for row in self._rows:
            key = (self.field(row, "Device"), self.field(row, "Kernel"))
            metric = self.field(row, "Metric Name")
            unit = "byte" if metric.endswith("_bytes") else ""
            found.setdefault(key, (row, {}))[1].setdefault(metric, self.reading(row, "Avg", unit))
        return [
            self._counted(row, self.amounts(row, decimal), Amounts(readings, decimal))
            for row, readings in found.values()
        ]

    def _counted(self, row: Row, own: Amounts, metrics: Amounts) -> ProfiledLaunch:
        read, write = (_dram(metrics, direction) for direction in ("read", "write"))
        flop = {unit: metrics.get(Kind.COUNT, name) for unit, name in _FLOP.items()}
        return ProfiledLaunch(
            printable(self.field(row, "Kernel")) or "(no name)",
            launches=_launches(own, "Invocations", Place(self.file, row.line, "Invocations")),
            dram_bytes=None if read is None or write is None else read + write,
            dram_read_bytes=read,
            dram_write_bytes=write,
            flop={unit: value for unit, value in flop.items() if value is not None},
        )


def _dram(metrics: Amounts, direction: str) -> float | None:
    counted = metrics.get(Kind.BYTES, f"dram_{direction}_bytes")
    if counted is not None:
        return counted
    sectors = metrics.get(Kind.COUNT, f"dram_{direction}_transactions")
    return None if sectors is None else sectors * _SECTOR_BYTES


def _launches(amounts: Amounts, column: str, place: Place) -> int:
    count = amounts.whole(column)
    if not count or count > 10**12:
        raise UsageError(f"{place}: no count of launches")
    return count


def _shape(amounts: Amounts, part: str) -> Dimensions | None:
    x, y, z = (amounts.whole(f"{part} {axis}") for axis in "XYZ")
    return (x, y, z) if x and y and z else None
