"""A run of benchmarks as JSON: what ``--json`` prints and ``--save`` keeps, in one form."""

from dataclasses import asdict
from typing import Any

from kmeter.model.benchmark import BenchRun, Row
from kmeter.model.run_comparison import RowChange
from kmeter.model.samples import Interval
from kmeter.model.score import Score, score

SCHEMA = "kmeter.bench/1"


def bench_document(run: BenchRun) -> dict[str, Any]:
    """``kmeter.bench/1``: seconds, bytes/s and FLOP/s; an unknown is null beside its reason."""
    return {
        "schema": SCHEMA,
        "started_at": run.started_at,
        "tag": run.tag,
        "is_complete": run.is_complete,
        "environment": asdict(run.environment),
        "results": [_result(row) for row in run.rows],
    }


def _result(row: Row) -> dict[str, Any]:
    fields = asdict(row)
    outcome = fields.pop("outcome")
    found, times = score(row), row.times
    return {
        "name": fields.pop("name"),
        "parameters": dict(fields.pop("parameters")),
        "status": outcome,
        "median_s": times.median if times else None,
        "median_s_reason": "" if times else row.reason or "it was not timed",
        "interval_s": _pair(times.interval if times else None),
        "mean_s": times.mean if times else None,
        "least_s": times.least if times else None,
        "p5_s": times.p5 if times else None,
        "p95_s": times.p95 if times else None,
        "spread": times.spread if times else None,
        **_rates(row, found),
        "correct": row.correct,
        "correct_reason": _unchecked(row),
        "speedup": row.speedup,
        "speedup_reason": "" if row.speedups else "there is no reference, or it was not timed",
        "speedup_interval": _pair(row.speedup_interval),
        "launch_bound": row.is_launch_bound,
        **fields,
    }


def _unchecked(row: Row) -> str:
    """Why nothing was compared; nothing where it was."""
    if row.check is not None:
        return ""
    told = (note for note in row.notes if note.startswith("not checked"))
    return next(told, row.reason if not row.samples_s else "") or "there is no reference"


def _rates(row: Row, found: Score) -> dict[str, Any]:
    return {
        "bytes_per_s": found.bytes_per_s,
        "bytes_per_s_reason": _reason(row, found.bytes_per_s, row.bytes_per_call, "bytes"),
        "flop_per_s": found.flop_per_s,
        "flop_per_s_reason": _reason(row, found.flop_per_s, row.flop_per_call, "flops"),
        "arithmetic_intensity": found.arithmetic_intensity,
        "bound": found.bound,
        "fraction_of_roof": found.fraction_of_roof,
        "fraction_of_roof_reason": found.reason,
        "fraction_of_ceiling": found.fraction_of_ceiling,
        "fraction_of_roof_at_clock": found.fraction_at_clock,
    }


def _reason(row: Row, value: float | None, amount: float | None, what: str) -> str:
    if value is not None:
        return ""
    untimed = row.reason or "it was not timed"
    return untimed if amount or not row.samples_s else f"{what}_per_call is not given"


def _pair(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def changes_document(changes: tuple[RowChange, ...], baseline: str) -> dict[str, Any]:
    """The ``comparison`` of a document: new over old, below 1 is faster."""
    return {
        "baseline": baseline,
        "changes": [
            {
                "label": item.label,
                "verdict": item.word,
                "old_median_s": item.old.median_s if item.old else None,
                "new_median_s": item.new.median_s if item.new else None,
                "ratio": item.change.ratio,
                "ratio_interval": _pair(item.change.interval),
                "ratio_reason": item.change.reason,
            }
            for item in changes
        ],
    }
