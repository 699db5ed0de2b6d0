"""A profiler's text, read: which page of Nsight Compute or nvprof it holds, and its kernels.

In front of the table stands whatever the profiled program printed; several tables may follow each
other, as where files were joined.
"""

import re
from collections.abc import Sequence
from typing import Protocol

from kmeter.errors import UsageError
from kmeter.kernels.ncu_metrics import with_missing_named
from kmeter.kernels.ncu_pages import DetailsPage, RawPage
from kmeter.kernels.nvprof_csv import MetricsPage, SummaryPage, TracePage
from kmeter.kernels.profiler_lines import Lines, Row, row_in
from kmeter.kernels.profiler_numbers import DecimalMark
from kmeter.kernels.profiler_words import AS_CSV, Told
from kmeter.model.profiled_kernel import ProfiledKernel, ProfiledLaunch, merged

_REPORT = b"NVR\0"
"""How a report begins that was not exported."""
_MAY_BE_HEADER = re.compile(r"Kernel Name|Time\(%\)|Grid X|Metric Name|Event Name|Address")
_HEADER_BEHIND_TEXT = re.compile(r'"(?:ID|Process ID|Type|Time\(%\)|Start|Device)","')
_MOST_TABLES = 10_000
_BEFORE_VOLTA = (
    "on GPUs before Volta: nvprof --csv --metrics "
    "dram_read_bytes,dram_write_bytes,flop_count_dp,flop_count_sp,flop_count_hp"
)


class _Page(Protocol):
    delimiter: str

    def row_in(self, line: str) -> str: ...
    def take(self, row: Row, mark: DecimalMark) -> None: ...
    def launches(self, decimal: str) -> list[ProfiledLaunch]: ...


def profiled_kernels(text_bytes: bytes, name: str) -> list[ProfiledKernel]:
    """The kernels in what a profiler wrote, each merged over its launches, in order.

    ``name`` is the file's, for errors. Reads CSV of Nsight Compute (details, raw, ``--metrics``,
    ``--print-summary``) and of nvprof (summary, GPU trace, metrics). What a kernel lacks, and how it
    is had, stands in its notes. Raises UsageError, in one line with the place, for anything else.
    """
    text = _Text(text_bytes, name)
    decimal = text.mark.mark
    launches = [launch for page in text.pages for launch in page.launches(decimal)]
    if not launches:
        raise text.told.nothing(name)
    more = text.further_notes()
    kernels = [with_missing_named(kernel) for kernel in merged(launches)]
    return [kernel._replace(notes=(*kernel.notes, *more)) for kernel in kernels]


class _Text:
    """One pass over the lines: tables with their rows, and what was said around them."""

    def __init__(self, raw: bytes, name: str) -> None:
        if raw.startswith(_REPORT):
            raise UsageError(f"{name} is a report of Nsight Compute, not its text", AS_CSV)
        self.pages: list[_Page] = []
        self.mark = DecimalMark()
        self.told = Told()
        self._lines = Lines(raw, name)
        for line in self._lines:
            if not self._began_table(line):
                self._read(line)

    def further_notes(self) -> list[str]:
        """What holds for every kernel of the text."""
        notes = [f"the profiler said: {self.told.error}"] if self.told.error else []
        if any(isinstance(page, SummaryPage | TracePage) for page in self.pages):
            notes.append(_BEFORE_VOLTA)
        return notes

    def _began_table(self, line: str) -> bool:
        if not _MAY_BE_HEADER.search(line):
            return False
        behind = _HEADER_BEHIND_TEXT.search(line)
        text = line[behind.start() :] if behind else line
        for delimiter in (",", ";", "\t"):
            fields = row_in(text, delimiter)
            page = _page_of(self._lines.name, fields, delimiter, text, self.told)
            if page is not None:
                self._append(page)
                return True
            self.told.hear_header(fields)
        return False

    def _append(self, page: _Page) -> None:
        if len(self.pages) >= _MOST_TABLES:
            raise UsageError(f"{self._lines.name} has more than {_MOST_TABLES} tables")
        self.pages.append(page)

    def _read(self, line: str) -> None:
        row = self.pages[-1].row_in(line) if self.pages else ""
        if row:
            page = self.pages[-1]
            page.take(self._lines.row(row, page.delimiter), self.mark)
        else:
            self.told.hear(line)


def _page_of(
    file: str, header: Sequence[str], delimiter: str, text: str, told: Told
) -> _Page | None:
    """The table that begins with a header; None where the line is none."""
    names = set(header)
    if "Kernel Name" in names:
        return _ncu_page(file, header, delimiter, is_quoted=text.startswith('"'))
    if {"Time(%)", "Calls", "Avg", "Min", "Max", "Name"} <= names:
        return SummaryPage(file, header, delimiter, of_calls=told.calls_follow)
    if {"Duration", "Grid X", "Name"} <= names:
        return TracePage(file, header, delimiter)
    if {"Kernel", "Invocations", "Metric Name", "Avg"} <= names:
        return MetricsPage(file, header, delimiter)
    return _Passed(delimiter) if {"Kernel", "Invocations", "Event Name"} <= names else None


def _ncu_page(file: str, header: Sequence[str], delimiter: str, *, is_quoted: bool) -> _Page | None:
    names = set(header)
    if "Metric Name" in names and names & {"Metric Value", "Average"}:
        return DetailsPage(file, header, delimiter, is_quoted=is_quoted)
    return RawPage(file, header, delimiter, is_quoted=is_quoted) if "ID" in names else None


class _Passed:
    """A table of something else, in the same file."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def row_in(self, line: str) -> str:
        return ""

    def take(self, row: Row, mark: DecimalMark) -> None:
        raise NotImplementedError

    def launches(self, decimal: str) -> list[ProfiledLaunch]:
        return []
