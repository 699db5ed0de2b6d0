"""What the doctor found, a line a check and the fix below it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.check import Check
from kmeter.views.tables import indented

_MARKS = {True: ("ok  ", "green"), False: ("NOT ", "bold red")}
_OPTIONAL = ("--  ", "yellow")


@dataclass(frozen=True)
class DoctorView:
    """The checks in order; what is not needed and not there is no alarm."""

    found: Sequence[Check]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        for check in self.found:
            is_alarm = check.is_needed and not check.is_good
            mark = _MARKS[check.is_good] if check.is_good or is_alarm else _OPTIONAL
            yield Text.assemble(mark, (check.name, "bold"), f": {check.says}")
            if check.fix:
                yield indented(check.fix, 6)


def doctor_document(found: Sequence[Check]) -> dict[str, Any]:
    """``kmeter.doctor/1``."""
    return {
        "schema": "kmeter.doctor/1",
        "checks": [
            {
                "name": check.name,
                "ok": check.is_good,
                "needed": check.is_needed,
                "says": check.says,
                "fix": check.fix or None,
            }
            for check in found
        ],
    }
