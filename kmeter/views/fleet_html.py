"""A verdict about many GPUs as one HTML file."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from kmeter.model.fleet import Finding, Group, Report, Test, Unmeasured, Verdict
from kmeter.model.fleet_verdict import test_of
from kmeter.units import UNKNOWN, percent
from kmeter.views.fleet import (
    amount,
    by_gpu,
    counted,
    gpu_text,
    headline,
    interrupted,
    section_text,
    why,
)
from kmeter.views.fleet_strip_svg import (
    FLEET_STRIP_LAYOUT,
    FLEET_STRIP_STYLE,
    flagged_beyond,
    group_figure,
)
from kmeter.views.html_page import html_page, html_table
from kmeter.views.markup import escaped, tag
from kmeter.views.strip_frame import STRIP_LAYOUT, STRIP_STYLE

MOST_ROWS, MOST_STRIPS, MOST_NAMES = 1000, 200, 8
"""What the page holds of each list, so that a browser opens it whatever a fleet's size."""

_LAYOUT = """\
td.words { text-align: left; white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
th.gpu { padding-top: 1rem; white-space: normal; overflow-wrap: anywhere; }
@media print {
  body { max-width: none; margin: 0; font-size: 11px; }
  .wide { overflow: visible; }
  th, td { white-space: normal; padding: .15rem .4rem; }
  td:first-child, td.words { min-width: 0; }
  tr, figure, section { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""
_STYLE = """\
th.gpu { color: INK; }
"""


def fleet_html(verdict: Verdict, unreadable: Sequence[tuple[str, str]] = ()) -> str:
    """One HTML document with what was found, a strip a test, and what could not be judged.

    ``unreadable`` are paths with the reasons why nothing was read there. The page needs no network
    and no script; the same verdict gives the same text.
    """
    title = headline(verdict)
    strips = _drawn(verdict.groups)
    parts = [
        *_heading(verdict, title),
        *_flagged(verdict, {group.test: place for place, group in enumerate(strips, start=1)}),
        *_strips(strips, sum(group.can_be_judged for group in verdict.groups)),
        *_unjudged([group for group in verdict.groups if not group.can_be_judged]),
        *_unmeasured(verdict.unmeasured),
        *_interrupted(interrupted(verdict)),
        *_duplicates(verdict),
        *_unreadable(unreadable),
    ]
    layout = STRIP_LAYOUT + FLEET_STRIP_LAYOUT + _LAYOUT
    return html_page(title, "\n".join(parts), layout, STRIP_STYLE + FLEET_STRIP_STYLE + _STYLE)


def _heading(verdict: Verdict, title: str) -> Iterator[str]:
    yield tag("h1", title)
    if not verdict.is_certain:
        yield tag("p", "Not every test of every GPU could be judged: see below.")


def _row(*cells: str, words: str | None = None) -> str:
    """A line of a table; ``words`` are a last cell that may be long."""
    last = "" if words is None else f'<td class="words">{escaped(words)}</td>'
    return f"<tr>{''.join(tag('td', cell) for cell in cells)}{last}</tr>"


def _listed(
    heading: str, headings: Sequence[str], lines: Sequence[str], note: str
) -> Iterator[str]:
    """A section with a table of lines, of very many the first; nothing where there are none."""
    if not lines:
        return
    yield tag("h2", heading)
    yield tag("p", note)
    yield html_table(headings, lines[:MOST_ROWS])
    yield from _left_out(len(lines) - MOST_ROWS, "row")


def _left_out(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield tag(
            "p", f"{counted(count, f'more {what}')} not shown here: the JSON document has all."
        )


# ---- GPUs that need attention ---------------------------------------------------------------

_FOUND = ("test", "measured", "median", "of median", "flagged", "cause")


def _flagged(verdict: Verdict, strips: dict[Test, int]) -> Iterator[str]:
    """A block of lines a GPU, the worst first."""
    if not verdict.findings:
        return
    gpus = by_gpu(verdict.findings)
    ends = accumulate(len(same) for same in gpus)
    whole = [same for same, end in zip(gpus, ends, strict=True) if end <= MOST_ROWS]
    blocks = [[_gpu(same[0].report), *(_found(f, strips) for f in same)] for same in whole]
    yield tag("h2", "GPUs that need attention")
    yield html_table(_FOUND, *blocks)
    lines = [_in_brief(same) for same in gpus[len(whole) :]]
    headings = ("GPU", "findings", "worst of median", "its cause")
    note = "Less far off than those above: a line each."
    yield from _listed("More GPUs that need attention", headings, lines, note)


def _in_brief(findings: Sequence[Finding]) -> str:
    worst = findings[0]
    return _row(_who(worst.report), str(len(findings)), percent(worst.share), words=why(worst))


def _gpu(report: Report) -> str:
    who = escaped(_who(report))
    return f'<tr><th class="gpu" colspan="{len(_FOUND)}" scope="rowgroup">{who}</th></tr>'


def _who(report: Report) -> str:
    return f"{gpu_text(report)}  {report.gpu_name}"


def _found(finding: Finding, strips: dict[Test, int]) -> str:
    figure = finding.figure
    if figure is None:
        return _line(tag("td", "every test"), finding, [UNKNOWN] * 3)
    place = strips.get(test_of(finding.report, figure))
    name = escaped(figure.name)
    link = name if place is None else f'<a href="#strip-{place}">{name}</a>'
    beyond = flagged_beyond(finding.lowest, finding.median, figure.measure)
    numbers = [amount(finding.median, figure.measure), percent(finding.share), beyond or UNKNOWN]
    return _line(f"<td>{link}</td>", finding, numbers)


def _line(first: str, finding: Finding, numbers: Sequence[str]) -> str:
    figure = finding.figure
    measured = amount(figure.value, figure.measure) if figure and figure.value else "failed"
    cells = "".join(tag("td", number) for number in numbers)
    return (
        f'<tr>{first}<td class="bad">{escaped(measured)}</td>{cells}'
        f'<td class="words">{escaped(why(finding))}</td></tr>'
    )


# ---- strips ---------------------------------------------------------------------------------


def _drawn(groups: Iterable[Group]) -> list[Group]:
    """The groups that a strip is drawn of: those with flagged GPUs first."""
    judged = [group for group in groups if group.can_be_judged]
    return sorted(judged, key=lambda group: not group.slow)[:MOST_STRIPS]


def _strips(groups: Sequence[Group], judged: int) -> Iterator[str]:
    if not groups:
        return
    yield tag("h2", "Every test")
    yield tag(
        "p",
        "Across: each GPU's share of the median of its like, better ones further right. Whole "
        "line: the median; dashed line: what is left of it is flagged. Height means nothing, "
        "except that bars count GPUs where these are many.",
    )
    for place, group in enumerate(groups, start=1):
        heading = tag("h3", f"{group.test.name}: {section_text(group.test)}")
        yield f'<section id="strip-{place}">\n{heading}\n{group_figure(group)}\n</section>'
    yield from _left_out(judged - len(groups), "test")


# ---- what could not be judged ---------------------------------------------------------------


def _unjudged(groups: Sequence[Group]) -> Iterator[str]:
    lines = [
        _row(
            group.test.name,
            section_text(group.test),
            str(len(group.shares)),
            amount(group.median, group.test.measure),
            words=group.why_not_judged,
        )
        for group in groups
    ]
    note = "Where GPUs are few, or lie too far apart, nobody can say which one is the odd one."
    headings = ("test", "model", "GPUs", "median", "reason")
    yield from _listed("Not judged", headings, lines, note)


def _unmeasured(unmeasured: Sequence[Unmeasured]) -> Iterator[str]:
    """A line a reason, with the GPUs that have it in common."""
    by_reason: dict[tuple[str, ...], list[Report]] = defaultdict(list)
    for item in unmeasured:
        figure = item.figure
        section = section_text(test_of(item.report, figure))
        by_reason[figure.name, section, figure.status, figure.reason].append(item.report)
    lines = [
        _row(name, section, str(len(reports)), status, words=_why_and_who(reason, reports))
        for (name, section, status, reason), reports in sorted(by_reason.items())
    ]
    headings = ("test", "model", "GPUs", "outcome", "reason")
    note = "Tests that a GPU left out while its like did them."
    yield from _listed("Not measured", headings, lines, note)


def _why_and_who(reason: str, reports: Sequence[Report]) -> str:
    names = ", ".join(gpu_text(report) for report in reports[:MOST_NAMES])
    more = f" and {len(reports) - MOST_NAMES} more" if len(reports) > MOST_NAMES else ""
    return f"{reason or 'no reason given'}: {names}{more}"


def _interrupted(reports: Sequence[Report]) -> Iterator[str]:
    lines = [_row(gpu_text(report), counted(len(report.ceilings), "test")) for report in reports]
    note = "Runs that ended early: tests are missing."
    yield from _listed("Interrupted", ("GPU", "done"), lines, note)


def _duplicates(verdict: Verdict) -> Iterator[str]:
    counted_once = {report.identity: report for report in verdict.reports}
    lines = [
        _row(gpu_text(report), _run(report), _run(counted_once.get(report.identity)))
        for report in sorted(verdict.duplicates, key=lambda r: (gpu_text(r), _run(r)))
    ]
    headings = ("GPU", "not counted", "counted")
    note = "Another report of the same GPU stands for each of these: the newest that was not only interrupted."
    yield from _listed("Reported more than once", headings, lines, note)


def _run(report: Report | None) -> str:
    """When it was measured, and where that was read."""
    return (report and "  ".join(filter(None, (report.started_at, report.origin)))) or UNKNOWN


def _unreadable(unreadable: Sequence[tuple[str, str]]) -> Iterator[str]:
    lines = [_row(path, words=reason) for path, reason in unreadable]
    yield from _listed("Not read", ("file", "reason"), lines, "Files that tell of no GPU.")
