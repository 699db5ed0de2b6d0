"""Benchmarks as CSV, and as Markdown for a pull request."""

import csv
import io
from collections.abc import Sequence

from kmeter.model.benchmark import BenchRun, Row
from kmeter.model.run_comparison import RowChange
from kmeter.model.score import score
from kmeter.units import UNKNOWN, percent
from kmeter.views.bench import (
    change_figures,
    figures,
    remarks_of,
    speedup_text,
    verdict_text,
    where,
)
from kmeter.views.markdown import escaped, markdown_table

_CSV_COLUMNS = (
    "name", "parameters", "status", "reason", "median_s", "interval_low_s", "interval_high_s",
    "mean_s", "least_s", "p5_s", "p95_s", "samples", "throttled_samples", "bytes_per_s",
    "flop_per_s", "bound", "fraction_of_roof", "fraction_of_ceiling", "correct", "speedup",
    "engine", "cache_state", "host_s", "sm_clock_hz", "power_w",
)  # fmt: skip


def bench_csv(run: BenchRun) -> str:
    """A line a row, in base units; what is unknown is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    writer.writerows(_csv_row(row) for row in run.rows)
    return out.getvalue()


def _csv_row(row: Row) -> tuple[object, ...]:
    found, times = score(row), row.times
    interval = times.interval if times else None
    timed = (
        times and times.median, interval and interval.low, interval and interval.high,
        times and times.mean, times and times.least, times and times.p5, times and times.p95,
    )  # fmt: skip
    parameters = " ".join(f"{key}={value}" for key, value in row.parameters.items())
    return (
        row.name, parameters, row.outcome, row.reason, *timed, len(row.samples_s),
        len(row.throttled), found.bytes_per_s, found.flop_per_s, found.bound,
        found.fraction_of_roof, found.fraction_of_ceiling, row.correct, row.speedup, row.engine,
        row.cache_state, row.host_s, row.conditions.sm_clock_hz, row.conditions.power_w,
    )  # fmt: skip


def bench_markdown(run: BenchRun, changes: Sequence[RowChange] = (), baseline: str = "") -> str:
    """A table that a pull request shows; with the changes against a baseline where there is one."""
    lines = [f"**{escaped(where(run.environment))}**, {run.started_at[:10]}", ""]
    lines += markdown_table(
        ("kernel", "median", "±", "GB/s", "TFLOP/s", "% roof", "vs ref", "correct"),
        [_markdown_row(row) for row in run.rows],
    )
    remarks = [line.plain for row in run.rows for line in remarks_of(row)]
    if remarks:
        lines += ["", *(f"- {escaped(line)}" for line in remarks)]
    if changes:
        lines += ["", f"Against {escaped(baseline)}:", ""]
        lines += markdown_table(
            ("kernel", "before", "now", "ratio", "95 % interval", "verdict"),
            [(*change_figures(item), verdict_text(item)) for item in changes],
        )
    return "\n".join(lines) + "\n"


def _markdown_row(row: Row) -> tuple[str, ...]:
    return (
        row.label,
        *figures(row),
        percent(score(row).fraction_of_roof),
        speedup_text(row),
        {True: "yes", False: "no", None: UNKNOWN}[row.correct]
        if row.outcome.is_good
        else str(row.outcome),
    )
