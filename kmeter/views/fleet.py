"""A verdict about many GPUs for people: which need attention and why, and how their like are spread."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.ceiling import Measure
from kmeter.model.fleet import Figure, Finding, Group, Kind, Report, Test, Unmeasured, Verdict
from kmeter.model.outliers import FEWEST
from kmeter.units import UNKNOWN, number, percent, si
from kmeter.views.ceiling import UNITS
from kmeter.views.fleet_strip import legend, ruler, strip_plot
from kmeter.views.tables import Cell, Column, WideOrStacked, indented, table_width

_NARROWEST, _WIDEST = 17, 61
NO_CAUSE = "no cause seen: no throttling, clocks and links as usual"
LONG_LIST = 8
"""Of so many things of a kind and fewer each is named."""


@dataclass(frozen=True)
class FleetView:
    """One verdict, and the files that told nothing with their reasons."""

    verdict: Verdict
    unreadable: Sequence[tuple[str, str]] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield Text(headline(self.verdict), style="bold")
        for findings in by_gpu(self.verdict.findings):
            yield ""
            yield from _gpu(findings)
        for section, groups in groupby(self.verdict.groups, key=_section):
            yield ""
            yield Text(section, style="bold")
            yield from _groups(list(groups), options)
        yield from _remarks(self.verdict, self.unreadable)


def headline(verdict: Verdict) -> str:
    """``256 GPUs of 32 hosts: 2 need attention``."""
    hosts = f" of {counted(verdict.hosts, 'host')}" if verdict.hosts else ""
    gpus = counted(len(verdict.reports), "GPU") + hosts
    flagged = len(verdict.flagged)
    if flagged:
        return f"{gpus}: {flagged} {'needs' if flagged == 1 else 'need'} attention"
    unjudged = len(verdict.unjudged)
    if unjudged == len(verdict.reports):
        return f"{gpus}: none can be judged"
    rest = f", {unjudged} cannot be judged" if unjudged else ""
    return f"{gpus}: none is slower than its like{rest}"


def counted(count: int, what: str) -> str:
    """``1 GPU``, ``3 GPUs``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def gpu_text(report: Report) -> str:
    """``node17 0000:1b:00.0 GPU-…``: where somebody finds it."""
    names = (report.host, report.place, report.uuid)
    return "  ".join(filter(None, names))


def amount(value: float | None, measure: Measure) -> str:
    """A value in the unit of its measure."""
    return si(value, UNITS[measure])


def why(finding: Finding) -> str:
    """Its causes on one line, or that nobody knows them."""
    unknown = NO_CAUSE if finding.kind is Kind.SLOW else "no reason given"
    return "; ".join(filter(None, finding.causes)) or unknown


# ---- GPUs that need attention ---------------------------------------------------------------

_FOUND = (
    Column("test", right=False),
    Column("measured"),
    Column("median"),
    Column("of median"),
    Column("flagged below"),
)


def by_gpu(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings of each GPU, in the order of the first."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.report.identity, []).append(finding)
    return list(found.values())


def _gpu(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """What was found about one GPU; what several tests have in common is said once."""
    report = findings[0].report
    yield Text.assemble((gpu_text(report), "bold red"), f"  {report.gpu_name}")
    rows = [_found(finding, f) for finding in findings if (f := finding.figure) and f.value]
    if rows:
        yield indented(WideOrStacked(_FOUND, rows))
    reasons = {words: list(same) for words, same in groupby(sorted(findings, key=why), key=why)}
    for words, same in reasons.items():
        names = [finding.figure.name for finding in same if finding.figure]
        about = "why" if len(reasons) == 1 and len(names) != 1 else ", ".join(names)
        yield indented(f"{about or 'all tests'}: {words}")


def _found(finding: Finding, figure: Figure) -> tuple[Cell, ...]:
    return (
        figure.name,
        amount(figure.value, figure.measure),
        amount(finding.median, figure.measure),
        percent(finding.share),
        percent(finding.lowest),
    )


# ---- groups ---------------------------------------------------------------------------------


def _section(group: Group) -> str:
    return section_text(group.test)


def section_text(test: Test) -> str:
    """``NVIDIA H200 at 700 W, quick``: what its groups have in common."""
    limit = f" at {test.power_limit_w} W" if test.power_limit_w is not None else ""
    return f"{test.gpu_name}{limit}{', quick' if test.is_quick else ''}"


def _groups(groups: Sequence[Group], options: ConsoleOptions) -> Iterator[RenderableType]:
    """A row a test; where all are too small to be judged, that alone is said."""
    most = max(len(group.shares) for group in groups)
    if most < FEWEST:
        yield indented(f"{counted(most, 'GPU')}: fewer than {FEWEST} cannot be judged")
        return
    rows = [_row(group) for group in groups]
    headings = ("test", "GPUs", "median", "MAD", "flagged below")
    left = options.max_width - table_width(list(zip(headings, *rows, strict=True))) - 2
    width = max(_NARROWEST, min(_WIDEST, left)) // 2 * 2 - 1
    is_ascii = options.ascii_only
    columns = (
        *(Column(heading, right=heading != "test") for heading in headings),
        Column(ruler(width, ascii_only=is_ascii), right=False),
    )
    strips = [_strip(group, width, is_ascii=is_ascii) for group in groups]
    yield WideOrStacked(columns, [(*row, s) for row, s in zip(rows, strips, strict=True)])
    yield Text(legend(ascii_only=is_ascii), style="dim")


def _row(group: Group) -> tuple[str, ...]:
    """Its numbers."""
    test, has_spread = group.test, len(group.shares) >= FEWEST
    return (
        test.name,
        number(len(group.shares), 9),
        amount(group.median, test.measure),
        percent(group.spread.mad, 2) if has_spread else UNKNOWN,
        percent(group.spread.lowest) if group.can_be_judged else UNKNOWN,
    )


def _strip(group: Group, width: int, *, is_ascii: bool) -> Text:
    if not group.can_be_judged:
        return Text(group.why_not_judged, style="yellow")
    return strip_plot(group.shares, group.spread.margin, width, ascii_only=is_ascii)


# ---- what else there is to say --------------------------------------------------------------


def _remarks(verdict: Verdict, unreadable: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    lines = [
        *_named(
            "slow at first, not when measured again", [_recovered(f) for f in verdict.recovered]
        ),
        *_named("not measured", _unmeasured_texts(verdict.unmeasured)),
        *_named("cannot be judged", _unjudged_texts(verdict.unjudged)),
        *_named("interrupted", [gpu_text(report) for report in interrupted(verdict)]),
        *_named("reported again, counted once", [_twice(r) for r in verdict.duplicates]),
        *_named("not read", [f"{path}: {reason}" for path, reason in unreadable]),
    ]
    if lines:
        yield ""
        yield from lines


def _recovered(finding: Finding) -> str:
    name = finding.figure.name if finding.figure else "all tests"
    return f"{gpu_text(finding.report)}: {name}, {percent(finding.share)} of the median"


def _twice(report: Report) -> str:
    return f"{gpu_text(report)} ({report.origin})" if report.origin else gpu_text(report)


def interrupted(verdict: Verdict) -> list[Report]:
    """GPUs of which a run ended before its end, through no fault of theirs."""
    return [report for report in verdict.reports if report.was_interrupted]


def _unjudged_texts(reports: Iterable[Report]) -> list[str]:
    """Each with what it would have to have in common with others."""
    return [f"{gpu_text(report)}: {report.gpu_name}{_limit(report)}" for report in reports]


def _limit(report: Report) -> str:
    return f" at {number(report.power_limit_w)} W" if report.power_limit_w else ""


def _unmeasured_texts(unmeasured: Iterable[Unmeasured]) -> list[str]:
    return [
        f"{gpu_text(item.report)}: {item.figure.name}: {item.figure.reason or 'no reason given'}"
        for item in unmeasured
    ]


def _named(what: str, texts: Sequence[str]) -> Iterator[RenderableType]:
    """Each of a few; of many the first ones and how many there are."""
    if not texts:
        return
    yield Text(f"{what}: {len(texts)}", style="yellow")
    shown = texts if len(texts) <= LONG_LIST else texts[: LONG_LIST - 1]
    yield from (indented(text) for text in shown)
    if len(shown) < len(texts):
        yield indented(f"… and {len(texts) - len(shown)} more: --json has them all")
