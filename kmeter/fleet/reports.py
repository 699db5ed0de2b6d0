"""A folder of reports: a file a GPU, written by whoever measures, read by whoever judges."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded, write_whole
from kmeter.model.ceiling import CeilingRun, Conditions, Status
from kmeter.model.fleet import Figure, Report
from kmeter.sources._ceilings import FORMAT, LARGEST_BYTES, VERSION
from kmeter.units import MOST, on_a_line, printable
from kmeter.views.ceiling_json import ceiling_document

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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


def ready_folder(folder: Path) -> Path:
    """The folder, made where it was not there; raises UsageError where nothing can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write to {folder}")
    return folder


def save_report(run: CeilingRun, folder: Path) -> Path | None:
    """Write the run to a file of its own GPU, in place of an earlier one; raises UsageError.

    None where the run was interrupted and the file there is of one that was not: that one is kept.
    """
    name = f"{_file_name(run.host or 'unknown-host')}-{_file_name(run.called)}.json"
    path = ready_folder(folder) / name
    if run.was_interrupted and _is_complete(path):
        return None
    write_whole(str(path), report_text(run))
    return path


def _is_complete(path: Path) -> bool:
    try:
        return decode_report(_bytes_of(path), "").is_complete
    except UsageError:
        return False


def _file_name(text: str) -> str:
    """A part of a file's name that no folder and no shell takes for something else."""
    return _NO_NAME.sub("_", text).lstrip(".-_")[:_LONGEST]


# ---- reading --------------------------------------------------------------------------------


class _File(msgspec.Struct):
    schema: str = ""


_schema = msgspec.json.Decoder(_File)
_report = msgspec.json.Decoder(Report)


def gather(paths: Sequence[Path]) -> Gathered:
    """The reports of files, and of folders with all that is below them, in the order of their names.

    What is no report is named and does not keep the others from being read. Hidden files are not
    looked at: files are written under a hidden name first. Raises UsageError for a path that is not
    there.
    """
    gathered = Gathered([], [])
    for name, path in _files(paths, gathered.unreadable):
        try:
            gathered.reports.append(decode_report(_bytes_of(path), name))
        except UsageError as error:
            gathered.unreadable.append(Unreadable(printable(name), printable(error.message)))
    gathered.unreadable.sort()
    return gathered


def _files(paths: Sequence[Path], unreadable: list[Unreadable]) -> Iterator[tuple[str, Path]]:
    """Every file once, by the name that it has below what was named."""
    seen: set[tuple[int, int]] = set()
    for given in paths:
        if not given.exists():
            raise UsageError(f"there is no {given}", "Name folders that --save-to wrote to")
        is_folder = given.is_dir()
        for path in _below(given, unreadable) if is_folder else [given]:
            if (place := _place_of(path)) in seen:
                continue
            if place is not None:
                seen.add(place)
            name = path.relative_to(given).as_posix() if is_folder else path.name
            yield name if len(paths) == 1 else path.as_posix(), path


def _place_of(path: Path) -> tuple[int, int] | None:
    """What makes it this file or folder by whatever name; None for a link to nowhere."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _below(folder: Path, unreadable: list[Unreadable]) -> Iterator[Path]:
    """What is in a folder and its folders, by name; links are followed, each folder once."""
    seen = {_place_of(folder)}

    def refuse(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise UsageError(f"cannot read {folder}: {error.strerror}")
        name = Path(error.filename).relative_to(folder).as_posix()
        unreadable.append(Unreadable(printable(name), f"cannot be read: {error.strerror}"))

    for parent, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        below = [name for name in sorted(folders) if not name.startswith(".")]
        folders[:] = []
        for name in below:
            place = _place_of(Path(parent, name))
            if place not in seen:
                seen.add(place)
                folders.append(name)
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for
            raise UsageError("no ordinary file" if path.exists() else "it leads nowhere")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from None
    raw = read_bounded(path, LARGEST_BYTES, "report").removeprefix(_BYTE_ORDER_MARK)
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
    """The report, of which the verdict and its views can rely on every number and word.

    A test with a number that nothing can have has failed: it costs neither the GPU nor the others.
    """
    if report.identity == ("", ""):
        raise UsageError("it does not say which GPU it is of")
    if not report.ceilings and not report.refusal and report.is_complete:
        raise UsageError("it has no tests")
    words = (
        report.gpu_name, report.uuid, report.host, report.pci_bus_id, report.driver_version,
        report.started_at, report.number,
    )  # fmt: skip
    if not all(word is None or word.isprintable() for word in words):
        raise UsageError("it has words that are not printable")
    if not _is_possible(report.power_limit_w):
        raise UsageError("it has an impossible power limit")
    figures = tuple(map(_sound, report.ceilings))
    if len({figure.name for figure in figures}) < len(figures):
        raise UsageError("it has a test twice")
    return replace(report, ceilings=figures, refusal=on_a_line(report.refusal))


def _sound(figure: Figure) -> Figure:
    """A figure as it is, or the failure that it amounts to."""
    seen = figure.conditions
    if not (figure.name + figure.reason + figure.level).isprintable():
        figure = replace(
            figure,
            name=on_a_line(figure.name),
            reason=on_a_line(figure.reason),
            level=on_a_line(figure.level),
        )
    clocks = (seen.sm_clock_hz, seen.memory_clock_hz)
    if not all(map(_is_possible, clocks)) or not 0 <= (seen.throttle_reasons_mask or 0) < 1 << 64:
        figure = replace(figure, conditions=Conditions())
    if figure.value is not None and not 1 / MOST <= figure.value <= MOST:
        reason = f"{figure.value:g} is no value that a GPU can have"
        figure = replace(figure, status=Status.FAILED, value=None, reason=reason)
    return figure


def _is_possible(number: float | None) -> bool:
    """0 is how a driver says that it does not know."""
    return number is None or number == 0 or 1 / MOST <= number <= MOST
