"""Nsight Compute's pages as CSV, row by row: details with a metric a row, raw with a launch a row."""

import re
from collections.abc import Sequence

from kmeter.errors import UsageError
from kmeter.kernels.ncu_metrics import LaunchId, launch_of
from kmeter.kernels.ncu_names import DETAILS, WANTED
from kmeter.kernels.profiler_lines import MOST_LAUNCHES, Row, printable
from kmeter.kernels.profiler_numbers import DecimalMark
from kmeter.kernels.profiler_reading import Amounts, Place, Reading, dimensions_in
from kmeter.model.profiled_kernel import ProfiledLaunch
from kmeter.units import quoted

_WHOLE = frozenset({"byte", "B", "ns", "nsecond", "inst", "thread", "sector", "request", "warp"})
"""Units in which nothing is counted to three decimals."""
_ROW = re.compile(r'"[\d., ]{0,20}(?:"(?:[,;\t]|$)|\Z)')
_BARE_ROW = re.compile(r"[\d., ]{0,20}[,;\t]")
_ROW_BEHIND_TEXT = re.compile(r'"\d{1,12}","\d{1,12}","')
_MOST_INVOCATIONS = 10**12


class NcuPage:
    """What both pages have in common: columns by name, and which lines are rows."""

    def __init__(
        self, file: str, header: Sequence[str], delimiter: str, *, is_quoted: bool
    ) -> None:
        self.file = file
        self.delimiter = delimiter
        self._header = header
        self._is_quoted = is_quoted
        self._columns = {name: at for at, name in reversed(list(enumerate(header)))}
        self._started: dict[tuple[str, ...], tuple[LaunchId, dict[str, Reading]]] = {}

    def row_in(self, line: str) -> str:
        """The part of a line where a row begins; empty in one that a program printed."""
        if not self._is_quoted:
            return line if _BARE_ROW.match(line) else ""
        if _ROW.match(line):
            return line
        behind = _ROW_BEHIND_TEXT.search(line)
        return line[behind.start() :] if behind and self.delimiter == "," else ""

    def launches(self, decimal: str) -> list[ProfiledLaunch]:
        """All launches; raises UsageError for a value that is no amount of what it should be."""
        started = self._started.values()
        return [launch_of(known, Amounts(readings, decimal)) for known, readings in started]

    def _start(self, key: tuple[str, ...], row: Row) -> dict[str, Reading]:
        """Where the metrics of a further launch go."""
        if len(self._started) >= MOST_LAUNCHES:
            raise UsageError(f"{self.file} has more than {MOST_LAUNCHES} launches")
        self._started[key] = (self._launch_id(row), {})
        return self._started[key][1]

    def _place(self, line: int, column: str) -> Place:
        return Place(self.file, line, printable(column))

    def _cut(self, row: Row) -> UsageError:
        columns = f"{len(row.fields)} of {len(self._header)} columns"
        return UsageError(f"{self.file}:{row.line}: {columns}: the file is cut or damaged")

    def _launch_id(self, row: Row) -> LaunchId:
        return LaunchId(
            printable(row.field(self._columns["Kernel Name"])) or "(no name)",
            self._invocations(row),
            dimensions_in(row.field(self._columns.get("Block Size"))),
            dimensions_in(row.field(self._columns.get("Grid Size"))),
            self._compute_capability(row),
        )

    def _compute_capability(self, row: Row) -> str | None:
        """``8.0``; older profilers have no such column."""
        text = row.field(self._columns.get("CC")).strip().replace(",", ".")
        return text if re.fullmatch(r"[0-9]{1,2}\.[0-9]", text) else None

    def _invocations(self, row: Row) -> int:
        column = self._columns.get("Invocations")
        if column is None:
            return 1
        whole = re.sub(r"[.,]0{1,2}$", "", row.field(column)[:30])
        digits = re.sub(r"[\s.,\u00a0\u202f]", "", whole)
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= _MOST_INVOCATIONS:
            return int(digits)
        place = self._place(row.line, "Invocations")
        raise UsageError(f"{place}: {quoted(row.field(column))} is no count of launches")


class DetailsPage(NcuPage):
    """``--page details``, ``--metrics`` and ``--print-summary``: a metric a row."""

    def __init__(
        self, file: str, header: Sequence[str], delimiter: str, *, is_quoted: bool
    ) -> None:
        super().__init__(file, header, delimiter, is_quoted=is_quoted)
        self._value = "Average" if "Average" in self._columns else "Metric Value"
        for column in ("Metric Unit", self._value, *(() if self._is_summary else ("ID",))):
            if column not in self._columns:
                raise UsageError(f"{file}: the table has no column {column}")
        needed = ("Kernel Name", "Metric Name", "Metric Unit", self._value)
        self._least_width = 1 + max(self._columns[name] for name in needed)
        identity = ("ID", "Process ID", "Host Name", "Kernel Name")
        shape = ("Block Size", "Grid Size", "Device")
        names = identity + shape if self._is_summary else identity
        self._identity = [self._columns[name] for name in names if name in self._columns]

    @property
    def _is_summary(self) -> bool:
        return self._value == "Average"

    def take(self, row: Row, mark: DecimalMark) -> None:
        """Keep what a row says; raises UsageError for one that is cut."""
        metric = row.field(self._columns["Metric Name"])
        text = row.field(self._columns[self._value])
        unit = row.field(self._columns["Metric Unit"])
        at_its_end = row.at_end and len(row.fields) == self._least_width
        if len(row.fields) < self._least_width or (metric and not text and at_its_end):
            raise self._cut(row)
        mark.hear(text, whole=unit in _WHOLE)
        key = tuple(row.field(column) for column in self._identity)
        if key not in self._started:
            self._start(key, row)
        name = DETAILS.get(metric, metric)
        if name in WANTED and (metric == name or unit != "%"):
            self._keep(self._started[key][1], name, row)

    def _keep(self, readings: dict[str, Reading], name: str, row: Row) -> None:
        """The first value of a metric; later sections may show it again."""
        if name not in readings or not readings[name].has_value:
            readings[name] = Reading(
                row.field(self._columns[self._value]),
                row.field(self._columns["Metric Unit"]),
                self._place(row.line, self._value),
                self._place(row.line, "Metric Unit"),
                row.field(self._columns.get("Minimum")),
                row.field(self._columns.get("Maximum")),
            )


class RawPage(NcuPage):
    """``--page raw``: a launch a row, a metric a column, and a row of units below the header."""

    def __init__(
        self, file: str, header: Sequence[str], delimiter: str, *, is_quoted: bool
    ) -> None:
        super().__init__(file, header, delimiter, is_quoted=is_quoted)
        self._metrics = [(at, name) for at, name in enumerate(header) if name in WANTED]
        self._numbers = [at for at, name in enumerate(header) if "__" in name]
        self._units: Row | None = None

    def take(self, row: Row, mark: DecimalMark) -> None:
        """Keep what a row says; raises UsageError for one that is cut or has no units above it."""
        if len(row.fields) < len(self._header):
            raise self._cut(row)
        if not row.field(self._columns["ID"]):
            self._units = row
            return
        if self._units is None:
            raise UsageError(f"{self.file}:{row.line}: there is no row of units below the header")
        for column in self._numbers:
            unit = self._units.field(column)
            mark.hear(row.field(column), whole=unit in _WHOLE)
        self._start((str(row.line),), row).update(self._readings(row, self._units))

    def _readings(self, row: Row, units: Row) -> dict[str, Reading]:
        readings: dict[str, Reading] = {}
        for column, name in self._metrics:
            if name not in readings or not readings[name].has_value:
                readings[name] = Reading(
                    row.field(column),
                    units.field(column),
                    self._place(row.line, name),
                    self._place(units.line, name),
                )
        return readings
