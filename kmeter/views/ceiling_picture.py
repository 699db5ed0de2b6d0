"""The memory hierarchy as bars: how fast each level is, and how far away."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.ceiling import CeilingRun
from kmeter.units import UNKNOWN, number, si

_SHORTEST_BAR = 8
_DECADES = 4
"""From the fastest level downwards: what the width of a bar stands for."""


class Level(NamedTuple):
    """A level, the ceiling of its rate, and that of its latency."""

    name: str
    rate: str
    latency: str = ""


LEVELS = (
    Level("shared memory", "shared-read", "latency-shared"),
    Level("L1", "l1-read", "latency-l1"),
    Level("L2", "l2-read", "latency-l2"),
    Level("DRAM", "dram-read", "latency-dram"),
    Level("host link", "host-h2d"),
)


def has_levels(run: CeilingRun) -> bool:
    """Whether any level was measured."""
    return any(run.rate(level.rate) for level in LEVELS)


@dataclass(frozen=True)
class HierarchyPicture:
    """A bar a level; their lengths are logarithmic."""

    run: CeilingRun

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        known = [(level, self.run.rate(level.rate)) for level in LEVELS]
        rates = [rate for _, rate in known if rate]
        texts = [
            (level.name, si(rate, "B/s"), self._distance(level)) for level, rate in known if rate
        ]
        name, value, distance = (max(len(row[i]) for row in texts) for i in range(3))
        room = options.max_width - name - value - distance - 6
        for (label, rate_text, away), rate in zip(texts, rates, strict=True):
            bar = _bar(rate / max(rates), room, ascii_only=options.ascii_only)
            line = Text.assemble((f"{label:<{name}}", "dim"), f"  {rate_text:>{value}}")
            if room >= _SHORTEST_BAR:
                line.append("  ")
                line.append(f"{bar:<{room}}", style="cyan")
            line.append(f"  {away}", style="dim")
            line.rstrip()
            yield line

    def _distance(self, level: Level) -> str:
        found = self.run.named(level.latency)
        if found is None or found.value is None:
            return ""
        return f"{number(found.cycles, 3)} cycles" if found.cycles else UNKNOWN


def _bar(share: float, width: int, *, ascii_only: bool) -> str:
    cells = max(1, round(width * (1 + math.log10(share) / _DECADES))) if width > 0 else 0
    return ("#" if ascii_only else "█") * cells
