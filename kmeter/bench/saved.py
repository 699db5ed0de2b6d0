"""Saved runs: files that a user names, and a history by tag in the user's data folder."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kmeter.bench.nvbench import is_nvbench, read_nvbench
from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.benchmark import BenchRun, Row
from kmeter.model.roofline import KernelPoint
from kmeter.model.score import point_of
from kmeter.units import MOST, quoted

FORMAT, VERSION = "kmeter.bench/", "1"
LARGEST_BYTES = 256 * 2**20
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_WORD = 2000


def read_run(path: Path) -> BenchRun:
    """The run in a file of ``kmeter bench --save`` or of NVBench; raises UsageError for others."""
    raw = read_bounded(path, LARGEST_BYTES, "file of benchmarks")
    if is_nvbench(raw):
        return read_nvbench(raw, str(path), path.parent)
    return decode_run(raw, str(path))


def points_of(path: Path) -> list[tuple[Row, KernelPoint]]:
    """Rows of a saved run that have a time, FLOP and bytes, each with its place on the roofline.

    Raises UsageError for another file.
    """
    pairs = ((row, point_of(row)) for row in read_run(path).rows)
    return [(row, point) for row, point in pairs if point is not None]


def decode_run(raw: bytes, name: str) -> BenchRun:
    """The run in ``raw``; raises UsageError where there is none."""
    try:
        document = msgspec.json.decode(raw)
        if _is_kernelmeters(document):
            raise UsageError(
                f"{name} is kernelmeter's: it keeps no samples to compare",
                "Measure the baseline with kmeter bench --save",
            )
        schema = str(document.get("schema", "")) if isinstance(document, dict) else ""
        if not schema.startswith(FORMAT):
            raise UsageError(
                f"{name} holds no benchmarks" + (f", but {schema[:40]!r}" * bool(schema))
            )
        if schema.removeprefix(FORMAT) != VERSION:
            raise UsageError(f"{name} was written by another version of kmeter ({schema[:40]})")
        return _checked(msgspec.convert(_as_run(document), BenchRun), name)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise UsageError(f"{name} holds no benchmarks: {str(error)[:200]}") from None


def _is_kernelmeters(document: Any) -> bool:
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and "ms_median" in document[0]
    )


def _as_run(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document under the model's names."""
    results = document.get("results")
    if not isinstance(results, list):
        raise ValueError("it has no results")
    rows = [{**row, "outcome": row.get("status")} for row in results if isinstance(row, dict)]
    return {**document, "rows": rows}


def _checked(run: BenchRun, name: str) -> BenchRun:
    """The run, of which views and the gate can rely on every number and word."""
    labels = [row.label for row in run.rows]
    if len(set(labels)) != len(labels):
        raise UsageError(f"{name} has two results of one name")
    for row in run.rows:
        series = (row.samples_s, row.reference_samples_s, row.rival_samples_s)
        numbers = [number for part in series for number in part]
        numbers += [n for n in (row.bytes_per_call, row.flop_per_call, row.host_s) if n is not None]
        if any(not (math.isfinite(n) and 1 / MOST <= n <= MOST) for n in numbers):
            raise UsageError(f"{name}: {quoted(row.label)} has an impossible number")
        if any(not 0 <= index < len(row.samples_s) for index in row.throttled):
            raise UsageError(f"{name}: {quoted(row.label)} marks samples that it has not")
    for text in _words(run):
        if not text.isprintable() or len(text) > _LONGEST_WORD:
            raise UsageError(f"{name}: {quoted(text)} is not printable")
    return run


def _words(run: BenchRun) -> Iterator[str]:
    environment = run.environment
    yield from (run.started_at, run.tag or "", environment.file, environment.host_processor)
    yield from (environment.gpu_name or "", environment.driver_version or "")
    for row in run.rows:
        yield from (row.label, row.reason, row.engine, row.cache_note, row.stopped_by, *row.notes)


# ---- history --------------------------------------------------------------------------------


def history_folder() -> Path:
    """Where tagged runs are kept: a folder a tag."""
    from platformdirs import user_data_path

    return user_data_path("kmeter") / "history"


def tagged_file(tag: str, run: BenchRun) -> Path:
    """Where a run of that tag goes; raises UsageError for what can be no folder's name."""
    moment = re.sub(r"[^0-9T]", "", run.started_at.partition("+")[0])
    folder, name = history_folder() / checked_tag(tag), _stem(run.environment.file)
    path = folder / f"{moment}-{name}.json"
    while path.exists():  # another run of the same second
        moment += "b"
        path = folder / f"{moment}-{name}.json"
    return path


def _stem(file: str) -> str:
    """What stands for a benchmark file in the names of its runs."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", Path(file).stem)


def checked_tag(tag: str) -> str:
    """The tag; raises UsageError where it is none."""
    if not _TAG.fullmatch(tag):
        raise UsageError(
            f"{quoted(tag)} is no tag", "Letters, digits, dots, dashes and underscores, at most 64"
        )
    return tag


def tags() -> dict[str, list[Path]]:
    """Tagged runs, the newest last."""
    folder = history_folder()
    if not folder.is_dir():
        return {}
    return {
        child.name: sorted(child.glob("*.json"))
        for child in sorted(folder.iterdir())
        if child.is_dir() and any(child.glob("*.json"))
    }


def baseline(name: str, file: str) -> BenchRun:
    """The run in a file, or the newest one of a tag that is of the same benchmark file.

    Without a ``file`` the newest one of the tag counts. Raises UsageError where there is neither.
    """
    if Path(name).is_file():
        return read_run(Path(name))
    known = tags()
    if name in known:
        wanted = f"{_stem(file)}.json"
        own = [p for p in known[name] if not file or p.name.partition("-")[2] == wanted]
        if own:
            return read_run(own[-1])
        raise UsageError(f"no run of {file} is tagged {name}")
    there = f"Tags: {', '.join(known)}" if known else "Save one with --save FILE or --tag NAME"
    raise UsageError(f"{quoted(name)} is no file and no tag", there)
