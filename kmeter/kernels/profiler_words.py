"""What a profiler says around its tables, and from it why there is no table."""

import re
from collections.abc import Sequence

from kmeter.errors import UsageError
from kmeter.kernels.profiler_lines import printable
from kmeter.units import quoted

AS_CSV = "Export it with ncu --csv --page raw -i REPORT.ncu-rep"
_ANEW = "Once that is mended, write it with ncu --csv --page raw --log-file FILE PROGRAM"
_ERROR = re.compile(r"={2,}(?:ERROR={2,}|\d*={2,} Error:)\s*(.*)")
_WARNING = re.compile(r"={2,}(?:WARNING|\d*)={2,} (?:Warning: )?(No kernels? .*)")
_CALLS = re.compile(r"={2,}\d*={2,} API calls")
_RESULT = re.compile(r"={2,}\d*={2,} Profiling result")


class Told:
    """What a profiler said outside of tables: why there is none, perhaps."""

    def __init__(self) -> None:
        self.error = ""
        self.calls_follow = False
        self._warning = ""
        self._is_source = self._is_plain = self._is_per_gpu = False

    def hear(self, line: str) -> None:
        if line.startswith("=="):
            self._hear_profiler(line[:500])
        elif "Metric Name" in line or line.startswith("    Section: "):
            self._is_plain = True

    def _hear_profiler(self, line: str) -> None:
        error, warning = _ERROR.match(line), _WARNING.match(line)
        if error and not self.error:
            self.error = printable(error[1])[:200] or "an error"
        elif warning and not self._warning:
            self._warning = printable(warning[1])[:200]
        if _CALLS.match(line) or _RESULT.match(line):
            self.calls_follow = _CALLS.match(line) is not None

    def hear_header(self, header: Sequence[str]) -> None:
        names = set(header)
        is_title = len(header) == 2 and header[0] == "Kernel Name"
        self._is_source |= is_title or {"Address", "Source"} <= names
        self._is_per_gpu |= {"Metric Name", "Average"} <= names

    def nothing(self, name: str) -> UsageError:
        """Why there are no kernels."""
        if self.error:
            return UsageError(
                f"{name} has no kernels, the profiler said: {quoted(self.error, 200)}", _ANEW
            )
        if self._is_source:
            return UsageError(
                f"{name} is the source page of Nsight Compute, without metrics", AS_CSV
            )
        if self._is_per_gpu:
            return UsageError(
                f"{name} sums up whole GPUs", "Write it with --print-summary per-kernel"
            )
        if self._warning:
            return UsageError(
                f"{name} has no kernels, the profiler said: {quoted(self._warning, 200)}"
            )
        if self._is_plain:
            return UsageError(f"{name} is a profiler's text without --csv", AS_CSV)
        return UsageError(f"{name} has no kernels in CSV of Nsight Compute or nvprof", AS_CSV)
