"""The GPUs of a group as a strip: across their shares of the median, the flagged ones apart."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kmeter.model.ceiling import Measure
from kmeter.model.fleet import Finding, Group, Report
from kmeter.units import percent, shortened
from kmeter.views.fleet import amount, counted, section_text
from kmeter.views.markup import escaped
from kmeter.views.strip_frame import EDGE, HEIGHT, across, dots, evenly, strip_figure, tick, upright

MOST_DOTS = 400
"""Of so many GPUs and fewer each is a dot of its own."""
MOST_LABELS = 5
"""Flagged GPUs that are named in one strip: as many as find room one below another."""
FLEET_STRIP_LAYOUT = """\
.strip .threshold { stroke-width: 1.5; stroke-dasharray: 5 4; }
.strip .bars { fill-opacity: .7; }
.strip .label { font-weight: 600; }
"""
FLEET_STRIP_STYLE = """\
.strip .threshold { stroke: ABOVE; }
.strip .bars { fill: POINT; }
.strip .flagged { fill: ABOVE; stroke: PAPER; }
.strip .label { fill: INK; }
"""

_LOW, _HIGH = -2.5, 1.0
"""The window in margins from the median: in every strip the threshold stands at the same place."""
_LABEL_SIGNS, _SIGN_WIDTH, _LANE = 16, 8.5, 15
_BAR = 4
"""Pixels from one bar to the next."""
_GOLDEN = 0.6180339887498949
"""Multiples of it, less their whole part, fall evenly and never on top of each other."""


def group_figure(group: Group) -> str:
    """A ``figure`` of a group that can be judged."""
    return _Strip(group).figure()


def flagged_beyond(lowest: float | None, median: float | None, measure: Measure) -> str:
    """``below 96.7 % (4.06 TB/s)``; a latency is flagged above its amount. Empty where unknown."""
    if lowest is None or median is None:
        return ""
    if measure.more_is_better:
        return f"below {percent(lowest)} ({amount(lowest * median, measure)})"
    return f"below {percent(lowest)} (above {amount(median / lowest, measure)})"


class _Strip:
    """Dots of the usual GPUs or bars where they are many, and a diamond for each flagged one."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.lowest = group.spread.lowest
        self.slow = sorted(group.slow, key=lambda finding: finding.share or 0.0)
        self.usual = group.shares[len(self.slow) :]
        self.bars = self._counted() if len(self.usual) > MOST_DOTS else Counter[int]()

    def figure(self) -> str:
        test = self.group.test
        parts = [*self._lines(), *self._usual(), *self._flagged()]
        return strip_figure(f"{test.name}: {section_text(test)}", parts, self._caption())

    def _across(self, share: float) -> float:
        return across((share - 1.0) / self.group.spread.margin, _LOW, _HIGH)

    def _lines(self) -> Iterator[str]:
        margin, test = self.group.spread.margin, self.group.test
        if (low := 1.0 + _LOW * margin) > 0:
            yield tick(self._across(low), percent(low), "start")
        yield upright("threshold", self._across(self.lowest))
        yield tick(self._across(self.lowest), percent(self.lowest), "middle")
        yield upright("middle", self._across(1.0))
        yield tick(self._across(1.0), f"median {amount(self.group.median, test.measure)}", "middle")
        yield tick(self._across(1.0 + _HIGH * margin), percent(1.0 + _HIGH * margin), "end")

    # ---- the usual ones -----------------------------------------------------------------

    def _usual(self) -> Iterator[str]:
        if self.bars:
            yield self._bars()
        elif self.usual:
            yield dots(_scattered([self._across(share) for share in self.usual]))

    def _counted(self) -> Counter[int]:
        """How many GPUs a bar stands for, by its place."""
        return Counter(int((self._across(share) - EDGE) / _BAR) for share in self.usual)

    def _bars(self) -> str:
        most = max(self.bars.values())
        drawn = "".join(
            f"M{EDGE + _BAR * place} {HEIGHT - 2}v-{max(1.5, (HEIGHT - 12) * count / most):.1f}"
            f"h{_BAR - 1}V{HEIGHT - 2}z"
            for place, count in sorted(self.bars.items())
        )
        return f'<path class="bars" fill="gray" d="{drawn}"/>'

    # ---- the flagged ones ---------------------------------------------------------------

    def _flagged(self) -> Iterator[str]:
        named, others = self.slow[:MOST_LABELS], self.slow[MOST_LABELS:]
        shown = evenly(others, MOST_DOTS)
        places = [self._at_lane(lane, finding) for lane, finding in enumerate(named)]
        places += _scattered([self._across(finding.share or 0.0) for finding in shown])
        if places:
            drawn = "".join(f"M{x - 5:.1f} {y:.1f}l5-5 5 5-5 5z" for x, y in places)
            yield f'<path class="flagged" fill="gray" d="{drawn}"/>'
        for finding, (x, y) in zip(named, places, strict=False):
            yield self._label(finding, x, y)

    def _at_lane(self, lane: int, finding: Finding) -> tuple[float, float]:
        return self._across(finding.share or 0.0), 12.0 + _LANE * lane

    def _label(self, finding: Finding, x: float, y: float) -> str:
        """Host and share beside a diamond, on the side where they hide no other GPU."""
        text = f"{shortened(_who(finding.report), _LABEL_SIGNS)} {percent(finding.share)}"
        room = _SIGN_WIDTH * len(text) + 9
        is_left = x + room > self._across(self.lowest) and x - room > 0
        place, anchor = (x - 9, "end") if is_left else (x + 9, "start")
        return (
            f'<text class="label" x="{place:.1f}" y="{y + 4.5:.1f}" text-anchor="{anchor}">'
            f"{escaped(text)}</text>"
        )

    # ---- in words -----------------------------------------------------------------------

    def _caption(self) -> str:
        return "; ".join([*self._words()]) + "."

    def _words(self) -> Iterator[str]:
        group = self.group
        left, right = 1.0 + _LOW * group.spread.margin, 1.0 + _HIGH * group.spread.margin
        beyond = sum(not left <= share <= right for share in group.shares)
        yield counted(len(group.shares), "GPU")
        if self.bars:
            yield f"the highest bar is {counted(max(self.bars.values()), 'GPU')}"
        yield f"flagged {flagged_beyond(self.lowest, group.median, group.test.measure)}"
        if self.slow:
            yield f"diamonds: {len(self.slow)} flagged"
        if len(self.slow) > MOST_LABELS + MOST_DOTS:
            yield f"{MOST_LABELS + MOST_DOTS} of them are drawn"
        if beyond:
            yield f"beyond the edges: {beyond}"


def _who(report: Report) -> str:
    """A host without its domain, which would hide what differs in names cut short."""
    host = report.host or report.uuid or report.pci_bus_id or "unknown"
    first = host.partition(".")[0]
    return host if not first or first.isdigit() else first


def _scattered(places: Sequence[float]) -> list[tuple[float, float]]:
    """Spread up and down the field, so that equal ones do not hide each other."""
    room = HEIGHT - 16
    return [(x, 8 + room * (number * _GOLDEN % 1.0)) for number, x in enumerate(places)]
