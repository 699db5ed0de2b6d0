"""How samples spread, as one line: how many there are from the shortest to the longest time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.samples import quantile
from kmeter.units import si
from kmeter.views.strip import strip

_MOST_BINS = 40
_LONGEST = 0.99
"""What is slower than this share of the samples is counted in the last bar."""


@dataclass(frozen=True)
class Distribution:
    """A histogram between two times."""

    samples_s: Sequence[float]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        ordered = sorted(self.samples_s)
        if not ordered:
            return
        low, high = ordered[0], quantile(ordered, _LONGEST)
        width = min(_MOST_BINS, max(4, options.max_width - 26))
        counts = [0] * width
        for sample in ordered:
            share = (sample - low) / (high - low) if high > low else 0.0
            counts[min(width - 1, int(share * width))] += 1
        most = max(counts)
        drawn = strip([count / most for count in counts], width, ascii_only=options.ascii_only)
        yield Text.assemble(f"{si(low, 's', 3)} ", (drawn, "cyan"), f" {si(high, 's', 3)}")
