"""A folder of reports: a file a GPU, written by whoever measures, read by whoever judges."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded, write_whole
from kmeter.model.ceiling import CeilingRun
from kmeter.model.fleet import Report
from kmeter.sources._ceilings import FORMAT, LARGEST_BYTES, VERSION
from kmeter.units import MOST, printable
from kmeter.views.ceiling_json import ceiling_document

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100


FOREIGN = "no report of kmeter's"


class Unreadable(NamedTuple):
    """A file that tells of no GPU, and why."""

    path: str
    """Below the folder that was named."""
    reason: str


class Gathered(NamedTuple):
    """What was found in folders."""

    reports: list[Report]
    unreadable: list[Unreadable]


# ---- writing --------------------------------------------------------------------------------


def report_text(run: CeilingRun) -> str:
    """A run as a report's file holds it, on one line."""
    return json.dumps(ceiling_document(run), allow_nan=False, separators=(",", ":")) + "\n"


def save_report(run: CeilingRun, folder: Path) -> Path:
    """Write the run to a file of its own GPU, in place of an earlier one; raises UsageError."""
    gpu = run.uuid or run.pci_bus_id
    if gpu is None:
        raise UsageError(f"{run.gpu_name} has neither UUID nor bus id to name a file by")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}") from None
    path = folder / f"{_file_name(run.host or 'unknown-host')}-{_file_name(gpu)}.json"
    write_whole(str(path), report_text(run))
    return path


def _file_name(text: str) -> str:
    """A part of a file's name that no folder and no shell takes for something else."""
    return _NO_NAME.sub("_", text).lstrip(".-_")[:_LONGEST]


# ---- reading --------------------------------------------------------------------------------


class _File(msgspec.Struct):
    schema: str = ""


_schema = msgspec.json.Decoder(_File)
_report = msgspec.json.Decoder(Report)


def gather(paths: Iterable[Path]) -> Gathered:
    """The reports of files, and of folders with all that is below them, in the order of their names.

    What is no report is named and does not keep the others from being read. Hidden files are not
    looked at: files are written under a hidden name first. Raises UsageError for a path that is not
    there.
    """
    gathered = Gathered([], [])
    for name, path in _files(paths):
        try:
            gathered.reports.append(decode_report(_bytes_of(path), name))
        except UsageError as error:
            gathered.unreadable.append(Unreadable(printable(name), error.message))
    return gathered


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Every file once, by the name that it has below the folder that was named."""
    seen: set[Path] = set()
    for given in paths:
        if not given.exists():
            raise UsageError(f"there is no {given}", "Name folders that --save-to wrote to")
        found = _below(given) if given.is_dir() else [given]
        base = given if given.is_dir() else given.parent
        for path in found:
            if (real := path.absolute()) not in seen:
                seen.add(real)
                yield path.relative_to(base).as_posix(), path


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _refuse(error: OSError) -> None:
    raise UsageError(f"cannot read {error.filename}: {error.strerror}")


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():  # a pipe would be waited for
        raise UsageError("no ordinary file")
    raw = read_bounded(path, LARGEST_BYTES, "report")
    if not raw.strip():
        raise UsageError("empty")
    return raw


def decode_report(raw: bytes, origin: str) -> Report:
    """The report in ``raw``; raises UsageError with the reason alone where there is none."""
    kind, _, version = _schema_of(raw).rpartition("/")
    if f"{kind}/" != FORMAT:
        raise UsageError(FOREIGN)
    if version != str(VERSION):
        raise UsageError(f"written by another version of kmeter ({kind}/{version[:8]})")
    try:
        report = _report.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{FOREIGN}: {error}") from None
    return _checked(replace(report, origin=printable(origin)))


def _schema_of(raw: bytes) -> str:
    """What the file says that it is; raises UsageError where it says nothing of the kind."""
    try:
        return _schema.decode(raw).schema
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError("cut off" if "truncated" in str(error) else FOREIGN) from None


def _checked(report: Report) -> Report:
    """The report, of which the verdict and its views can rely on every number and word."""
    if report.identity == ("", ""):
        raise UsageError("it does not say which GPU it is of")
    if not report.ceilings and not report.refusal and report.is_complete:
        raise UsageError("it has no tests")
    numbers = [report.power_limit_w]
    words = [
        report.gpu_name, report.uuid, report.host, report.pci_bus_id, report.driver_version,
        report.started_at, report.refusal,
    ]  # fmt: skip
    for figure in report.ceilings:
        seen = figure.conditions
        numbers += (figure.value, seen.sm_clock_hz, seen.memory_clock_hz)
        words += (figure.name, figure.reason, figure.level)
        if not 0 <= (seen.throttle_reasons_mask or 0) < 1 << 64:
            raise UsageError("it has an impossible throttle mask")
    if not all(number is None or 1 / MOST <= number <= MOST for number in numbers):
        raise UsageError("it has an impossible number")
    if not all(word is None or word.isprintable() for word in words):
        raise UsageError("it has words that are not printable")
    names = [figure.name for figure in report.ceilings]
    if len(set(names)) < len(names):
        raise UsageError("it has a test twice")
    return report
