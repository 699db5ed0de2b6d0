"""A run of benchmarks as NVBench's JSON, format 1.0.0: https://github.com/NVIDIA/nvbench.

NVBench writes numbers as text, empty lists as null and every result as a tagged summary.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kmeter.model.benchmark import BenchRun, Environment, Row
from kmeter.model.samples import quantile

_FORMAT = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
_INT64 = 2**63
_FEWEST_FOR_NOISE = 5
"""Samples below which NVBench gives no spread, and neither do we."""


def nvbench_document(run: BenchRun) -> dict[str, Any]:
    """The run as NVBench writes it, for its compare script and other readers; times in seconds.

    Times stand under ``nv/cold``, NVBench's name for calls that are timed one by one, whatever L2
    held; ``kmeter/cache_state`` and ``kmeter/engine`` say what was done. Rows without a time that
    can be used are skipped states. What kmeter does not know, such as item counts, is left out.
    """
    names = dict.fromkeys(row.name for row in run.rows)
    version = {"json": _FORMAT, "kmeter": {"string": run.environment.kmeter_version}}
    return {
        "meta": {"argv": [], "version": version},
        "devices": [_device(run.environment)],
        "benchmarks": [
            _benchmark(name, index, [row for row in run.rows if row.name == name])
            for index, name in enumerate(names)
        ],
    }


def _device(environment: Environment) -> dict[str, Any]:
    device: dict[str, Any] = {"id": 0, "name": environment.gpu_name or ""}
    major, _, minor = (environment.compute_capability or "").partition(".")
    if major.isdecimal() and minor.isdecimal():
        device["sm_version"] = 100 * int(major) + 10 * int(minor)
    return device


def _benchmark(name: str, index: int, rows: Sequence[Row]) -> dict[str, Any]:
    keys = dict.fromkeys(key for row in rows for key in row.parameters)
    types = {key: _type(r.parameters[key] for r in rows if key in r.parameters) for key in keys}
    return {
        "name": name,
        "index": index,
        "devices": [0],
        "axes": [_axis(key, types[key], rows) for key in keys],
        "states": [_state(row, types) for row in rows],
    }


def _type(values: Iterable[Any]) -> str:
    """The narrowest of NVBench's types that holds all of them."""
    kinds = {_type_of(value) for value in values}
    if len(kinds) == 1:
        return kinds.pop()
    return "float64" if kinds == {"int64", "float64"} else "string"


def _type_of(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return "int64"
    return "float64" if isinstance(value, float) and math.isfinite(value) else "string"


def _axis(key: str, kind: str, rows: Sequence[Row]) -> dict[str, Any]:
    values = dict.fromkeys(_spelled(r.parameters[key], kind) for r in rows if key in r.parameters)
    number = {"int64": int, "float64": float}.get(kind, str)
    return {
        "name": key,
        "type": kind,
        "flags": "",
        "values": [{"input_string": v, "description": "", "value": number(v)} for v in values],
    }


def _state(row: Row, types: Mapping[str, str]) -> dict[str, Any]:
    axes = {key: _spelled(value, types[key]) for key, value in row.parameters.items()}
    times = sorted(row.used_s) if row.outcome.is_good else []
    state = {
        "name": " ".join(["Device=0", *(f"{key}={_short(v)}" for key, v in axes.items())]),
        "device": 0,
        "type_config_index": 0,
        "axis_values": [{"name": k, "type": types[k], "value": v} for k, v in axes.items()],
        "summaries": _summaries(row, times) if times else [],
        "is_skipped": not times,
    }
    return state if times else {**state, "skip_reason": _skip_reason(row)}


def _skip_reason(row: Row) -> str:
    if row.outcome.is_good:
        return "no samples"
    return f"{row.outcome.value}: {row.reason}" if row.reason else row.outcome.value


def _spelled(value: Any, kind: str) -> str:
    return repr(float(value)) if kind == "float64" else str(value)


def _short(text: str) -> str:
    """A number with the five digits that NVBench shows, where they say all of it."""
    try:
        short = f"{float(text):.5g}"
        return short if "." in text and float(short) == float(text) else text
    except ValueError:
        return text


def _summaries(row: Row, times: Sequence[float]) -> list[dict[str, Any]]:
    return [
        _summary("nv/cold/sample_size", "Samples", "sample_size", len(times)),
        *_times(times),
        *_rates(row, math.fsum(times) / len(times)),
        _summary("kmeter/engine", "Engine", "", row.engine, "not NVBench's"),
        _summary("kmeter/cache_state", "L2", "", row.cache_state.value, "not NVBench's"),
    ]


def _times(times: Sequence[float]) -> list[dict[str, Any]]:
    """Of sorted times: where they lie and how far they spread."""
    group, hide = "nv/cold/time/gpu", "hidden by default"
    mean = math.fsum(times) / len(times)
    stdev = _deviation(times, mean)
    found = [
        _summary(f"{group}/min", "Min GPU Time", "duration", times[0], hide),
        _summary(f"{group}/max", "Max GPU Time", "duration", times[-1], hide),
        _summary(f"{group}/mean", "GPU Time", "duration", mean),
        _summary(f"{group}/stdev/absolute", "Noise", "duration", stdev, hide),
        _summary(f"{group}/stdev/relative", "Noise", "percentage", _share(stdev, mean)),
        _summary(f"{group}/median", "Median GPU Time", "duration", quantile(times, 0.5), hide),
    ]
    return found + (_quartiles(times) if len(times) >= _FEWEST_FOR_NOISE else [])


def _quartiles(times: Sequence[float]) -> list[dict[str, Any]]:
    group, hide = "nv/cold/time/gpu", "hidden by default"
    low, middle, high = (quantile(times, fraction) for fraction in (0.25, 0.5, 0.75))
    return [
        _summary(f"{group}/q1", "Q1 GPU Time", "duration", low, hide),
        _summary(f"{group}/q3", "Q3 GPU Time", "duration", high, hide),
        _summary(f"{group}/iqr/absolute", "IQR", "duration", high - low, hide),
        _summary(f"{group}/iqr/relative", "IQR", "percentage", _share(high - low, middle), hide),
    ]


def _deviation(times: Sequence[float], mean: float) -> float | None:
    """The unbiased standard deviation; None of too few."""
    if len(times) < _FEWEST_FOR_NOISE:
        return None
    return math.sqrt(math.fsum((time - mean) ** 2 for time in times) / (len(times) - 1))


def _share(part: float | None, whole: float) -> float | None:
    return part / whole if part is not None and whole > 0 else None


def _rates(row: Row, mean_s: float) -> list[dict[str, Any]]:
    """Bytes a second, their share of the card's peak, and the clock; what is known of them."""
    rate = _share(row.bytes_per_call, mean_s)
    peak, clock_hz = row.roofs.dram_bytes_per_s, row.conditions.sm_clock_hz
    group, hide = "nv/cold/bw/global", "hidden by default"
    used = _share(rate, peak) if peak else None
    found = [
        (f"{group}/bytes_per_second", "GlobalMem BW", "byte_rate", rate, ""),
        (f"{group}/utilization", "BWUtil", "percentage", used, ""),
        ("nv/cold/sm_clock_rate/mean", "Clock Rate", "frequency", clock_hz, hide),
    ]
    return [_summary(*one) for one in found if one[3] is not None]


def _summary(
    tag: str, name: str, hint: str, value: str | int | float | None, hide: str = ""
) -> dict[str, Any]:
    """One result; null is a spread that too few samples cannot give."""
    kind = {str: "string", int: "int64"}.get(type(value), "float64")
    text = None if value is None else _spelled(value, kind)
    item = {"name": "value", "type": kind, "value": text}
    texts = {"tag": tag, "name": name, "hint": hint, "hide": hide}
    return {**{key: text for key, text in texts.items() if text}, "data": [item]}
