"""A benchmark run as one HTML file."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kmeter.errors import UsageError
from kmeter.model.benchmark import BenchRun, Environment, Row
from kmeter.model.compute_units import operation
from kmeter.model.device import Device, Quantity, Source
from kmeter.model.roofline import Bound, KernelPoint, Roof, Roofline
from kmeter.model.samples import Interval
from kmeter.model.score import Score, score
from kmeter.units import MOST, UNKNOWN, number, percent, si
from kmeter.views.html_page import html_page, html_table
from kmeter.views.markup import clean, escaped, tag
from kmeter.views.roofline_svg import roofline_svg
from kmeter.views.strip_frame import STRIP_LAYOUT, STRIP_STYLE
from kmeter.views.strip_svg import interval_text, samples_figure


def bench_html(run: BenchRun) -> str:
    """One HTML document with the run's table, its roofline and the samples of every row.

    It needs no network and no script; the same run gives the same text.
    """
    title = f"Benchmark of {run.environment.file or 'an unnamed file'}"
    body = "\n".join([*_heading(run, title), *_table(run.rows), *_roofline(run), *_details(run)])
    return html_page(title, body, STRIP_LAYOUT, STRIP_STYLE)


# ---- heading --------------------------------------------------------------------------------


def _heading(run: BenchRun, title: str) -> Iterator[str]:
    yield tag("h1", title)
    facts = "\n".join(tag("dt", name) + tag("dd", text) for name, text in _facts(run))
    yield f"<dl>\n{facts}\n</dl>"
    if not run.is_complete:
        yield '<p class="bad">The run was interrupted: rows are missing.</p>'


def _facts(run: BenchRun) -> Iterator[tuple[str, str]]:
    where = run.environment
    yield "card", where.gpu_name or _dash_because(where.no_gpu_reason)
    yield "driver", where.driver_version or UNKNOWN
    yield "CUDA", where.cuda_version or UNKNOWN
    yield "date", run.started_at or UNKNOWN
    yield "file", where.file or UNKNOWN
    yield "git commit", _commit(where)
    yield "kmeter", where.kmeter_version or UNKNOWN
    if run.tag:
        yield "tag", run.tag
    if where.packages:
        yield "packages", ", ".join(f"{name} {where.packages[name]}" for name in where.packages)


def _dash_because(reason: str) -> str:
    return f"{UNKNOWN} ({reason})" if reason else UNKNOWN


def _commit(where: Environment) -> str:
    if not where.git_commit:
        return UNKNOWN
    return where.git_commit + (" (the file differs from it)" if where.git_is_dirty else "")


# ---- table ----------------------------------------------------------------------------------


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield tag("h2", "Results")
    if not rows:
        yield tag("p", "The run has no rows.")
        return
    lines = [_line(place, row) for place, row in enumerate(rows, start=1)]
    yield html_table(("benchmark", "outcome", *_COLUMNS), lines)


def _line(place: int, row: Row) -> str:
    found = score(row)
    style = "good" if row.outcome.is_good else "bad"
    cells = "".join(tag("td", text(row, found)) for text in _COLUMNS.values())
    return (
        f'<tr><td><a href="#row-{place}">{escaped(row.label)}</a></td>'
        f'<td class="{style}">{escaped(row.outcome)}</td>{cells}</tr>'
    )


def _flop_per_s(row: Row, found: Score) -> str:
    return si(found.flop_per_s, f"{operation(row.roofs.unit)}/s")


def _speedup(row: Row) -> str:
    if row.speedup is None:
        return UNKNOWN
    interval = _range(row.speedup_interval, number)
    return f"{number(row.speedup)} × ({interval})"


def _range(interval: Interval | None, text: Callable[[float], str]) -> str:
    return f"{text(interval.low)} to {text(interval.high)}" if interval else UNKNOWN


def _correct(row: Row) -> str:
    return UNKNOWN if row.correct is None else ("yes" if row.correct else "no")


_COLUMNS: dict[str, Callable[[Row, Score], str]] = {
    "median": lambda row, found: si(row.median_s, "s"),
    "95 % interval": lambda row, found: interval_text(row),
    "bytes/s": lambda row, found: si(found.bytes_per_s, "B/s"),
    "FLOP/s": _flop_per_s,
    "bound": lambda row, found: found.bound or UNKNOWN,
    "of roof": lambda row, found: percent(found.fraction_of_roof),
    "of measured ceiling": lambda row, found: percent(found.fraction_of_ceiling),
    "speedup (95 % interval)": lambda row, found: _speedup(row),
    "correct": lambda row, found: _correct(row),
    "engine": lambda row, found: row.engine or UNKNOWN,
    "cache": lambda row, found: row.cache_state,
}


# ---- roofline -------------------------------------------------------------------------------


def _roofline(run: BenchRun) -> Iterator[str]:
    points = [(row, point) for row in run.rows if (point := _point(row)) is not None]
    if not points:
        return
    first = points[0][0]
    line = _line_of(first, run.environment)
    same = [point for row, point in points if _roofs_of(row) == _roofs_of(first)]
    yield tag("h2", "Roofline")
    yield f"<figure>\n{roofline_svg(line, [line.place(point) for point in same])}"
    yield f"{tag('figcaption', _drawn(len(same), len(run.rows)))}\n</figure>"


def _point(row: Row) -> KernelPoint | None:
    """Where a row stands; None where bytes, FLOP, its time or a roof is unknown or absurd."""
    flop, moved, time = row.flop_per_call, row.bytes_per_call, row.median_s
    roofs = row.roofs.dram_bytes_per_s, row.roofs.flop_per_s
    if flop is None or moved is None or time is None or not _all_drawable(flop, moved, time):
        return None
    name = row.label if row.outcome.is_good else f"{row.outcome}: {row.label}"
    try:
        point = KernelPoint.timed(clean(name), flop, moved, time)
    except UsageError:
        return None
    return point if _all_drawable(point.arithmetic_intensity, point.flop_per_s, *roofs) else None


def _all_drawable(*values: float | None) -> bool:
    """Whether products and logarithms of the values are finite."""
    return all(value is not None and 1 / MOST <= value <= MOST for value in values)


def _roofs_of(row: Row) -> tuple[str, float | None, float | None]:
    return row.roofs.unit, row.roofs.dram_bytes_per_s, row.roofs.flop_per_s


def _line_of(row: Row, where: Environment) -> Roofline:
    unit, bytes_per_s, flop_per_s = _roofs_of(row)
    name = clean(row.roofs.device_name or where.gpu_name or "an unknown card")
    card = Device("", Source.RECORDING, name, where.compute_capability or "", None)
    memory = Quantity(bytes_per_s, Source.RECORDING)
    compute = Quantity(flop_per_s, Source.RECORDING, clock_hz=row.roofs.clock_hz)
    return Roofline(
        card,
        Roof("DRAM", Bound.MEMORY, memory),
        Roof(clean(unit) or "compute", Bound.COMPUTE, compute),
    )


def _drawn(drawn: int, rows: int) -> str:
    if drawn == rows:
        return "Every row, by its median."
    return (
        f"{drawn} of {rows} rows, by their medians: the others have other roofs, "
        "or their bytes, their FLOP, their time or a roof is unknown."
    )


# ---- rows, one by one -----------------------------------------------------------------------


def _details(run: BenchRun) -> Iterator[str]:
    if run.rows:
        yield tag("h2", "Samples and notes")
    for place, row in enumerate(run.rows, start=1):
        yield f'<section id="row-{place}">\n{tag("h3", f"{row.label}: {row.outcome}")}'
        yield from _bullets(_remarks(row))
        yield f"{samples_figure(row)}\n</section>"


def _remarks(row: Row) -> Iterator[str]:
    """Reasons and notes, each once and in this order."""
    yield row.reason
    if row.check:
        yield row.check.reason
    why = score(row).reason
    if why and why != row.reason:
        yield f"No share of the roof: {why}"
    if row.roofs.unit_is_assumed:
        yield f"The benchmark names no unit: {row.roofs.unit or 'fp32'} is assumed"
    yield row.cache_note
    yield from row.notes


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    items = [tag("li", text) for text in dict.fromkeys(texts) if text]
    if items:
        yield f"<ul>\n{''.join(items)}\n</ul>"
