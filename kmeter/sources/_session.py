"""Sessions of ``kmeter top`` as files: a line of who is watched, then a line a moment, changes alone.

A line is written when its moment is over, so that a session that was cut off is whole up to there.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.card import Fact, Identity
from kmeter.model.device import Source
from kmeter.model.live import LiveGpu, Moment, Process

SCHEMA = "kmeter.session/1"
LARGEST_BYTES = 256 * 2**20
"""A day of sixteen GPUs, a second a moment, is half of it."""

_MOST = 2.0**63
_MOST_BY_ENDING = {
    "_active": 1.05, "_occupancy": 1.05, "utilisation": 1.05, "_hz": 1e11, "_w": 1e5, "_c": 1e3,
    "_bytes_per_s": 1e15, "_bytes": 1e15,
}  # fmt: skip
"""No field of a GPU is larger, in base units, by how its name ends; another one is below ``_MOST``."""

Value = int | float


class Header(msgspec.Struct, omit_defaults=True):
    """The first line."""

    schema: str
    gpus: list[Identity]
    reason: str = ""


class GpuPart(msgspec.Struct, omit_defaults=True):
    """What is different about one GPU since the line before."""

    values: dict[str, Value] = {}
    reasons: dict[str, str] = {}
    """Fields that nobody knows any more, and why."""
    processes: list[Process] | None = None
    """None where they are the same."""


class Line(msgspec.Struct):
    """A moment; the GPUs are in the header's order."""

    at: str
    gpus: list[GpuPart]


class SessionWriter:
    """Writes moments to a file that is open until ``close``."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError where it cannot be written; an older file of that name is replaced."""
        try:
            self._out: BinaryIO = path.open("wb")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        self.path = path
        self._last: dict[Identity, LiveGpu] = {}
        self._order: list[Identity] = []

    def write(self, moment: Moment) -> None:
        """Add a moment, in whatever order its GPUs are."""
        if not self._order:
            self._order = [gpu.identity for gpu in moment.gpus]
            self._put(Header(SCHEMA, self._order, moment.reason))
        gpus = {gpu.identity: gpu for gpu in moment.gpus}
        parts = [_part(self._last.get(who), gpus[who]) for who in self._order]
        self._put(Line(moment.at, parts))
        self._last = gpus

    def _put(self, line: Header | Line) -> None:
        self._out.write(msgspec.json.encode(line) + b"\n")
        self._out.flush()

    def close(self) -> None:
        """Nothing is added any more; what a full disk did not take was said when it was written."""
        with suppress(OSError):
            self._out.close()


def _part(before: LiveGpu | None, gpu: LiveGpu) -> GpuPart:
    old = before.facts if before else {}
    new = {name: fact for name, fact in gpu.facts.items() if fact != old.get(name)}
    is_same = before is not None and before.processes == gpu.processes
    return GpuPart(
        {name: fact.value for name, fact in new.items() if fact.value is not None},
        {name: fact.reason for name, fact in new.items() if fact.value is None},
        None if is_same else list(gpu.processes),
    )


def read_session(path: Path) -> tuple[Moment, ...]:
    """The moments of a session; a last line that was cut off is left out.

    Raises UsageError for a file that is none, naming the line.
    """
    first, *lines = read_bounded(path, LARGEST_BYTES, "session").split(b"\n")
    header: Header = _decoded(first, Header, path, 1)
    if header.schema != SCHEMA:
        raise UsageError(f"{path} is no session of kmeter top, or a newer kmeter's")
    if not header.gpus:
        raise UsageError(f"{path} holds no GPU")
    if not all(text.isprintable() for text in _texts_of(header)):
        raise UsageError(f"{path}, line 1: a name that no GPU has")
    moments = tuple(_moments(header, lines[:-1], path))
    if not moments:
        raise UsageError(f"{path} holds no moment")
    return moments


def _moments(header: Header, lines: Sequence[bytes], path: Path) -> Iterator[Moment]:
    gpus = [LiveGpu(identity, {}) for identity in header.gpus]
    last: datetime | None = None
    for number, raw in enumerate(lines, start=2):
        line: Line = _decoded(raw, Line, path, number)
        moment = _moment(line.at)
        if len(line.gpus) != len(gpus) or moment is None or (last is not None and moment < last):
            raise UsageError(f"{path}, line {number}: no moment of this session")
        gpus = [_changed(gpu, part) for gpu, part in zip(gpus, line.gpus, strict=True)]
        last = moment
        yield Moment(line.at, tuple(gpus), header.reason)


def _changed(gpu: LiveGpu, part: GpuPart) -> LiveGpu:
    values = {name: Fact(value, Source.RECORDING) for name, value in part.values.items()}
    reasons = {name: Fact(reason=reason) for name, reason in part.reasons.items()}
    processes = gpu.processes if part.processes is None else tuple(part.processes)
    return LiveGpu(gpu.identity, {**gpu.facts, **values, **reasons}, processes)


def _moment(text: str) -> datetime | None:
    """The time that a text says, with its zone; None for what says none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _decoded(raw: bytes, kind: Any, path: Path, number: int) -> Any:
    try:
        found = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}, line {number}: not a session of kmeter top ({error})") from None
    if isinstance(found, Line):
        if not all(0 <= value <= most for value, most in _numbers(found)):
            raise UsageError(f"{path}, line {number}: a value that no GPU has")
        if not all(text.isprintable() for text in _texts(found)):
            raise UsageError(f"{path}, line {number}: a text that is none")
    return found


def _numbers(line: Line) -> Iterator[tuple[Value, float]]:
    """Every number, and the most that it can be."""
    for part in line.gpus:
        yield from ((value, _most(name)) for name, value in part.values.items())
        for process in part.processes or ():
            yield process.pid, _MOST
            yield process.memory_bytes or 0, _most("memory_bytes")


def _most(name: str) -> float:
    endings = (most for ending, most in _MOST_BY_ENDING.items() if name.endswith(ending))
    return next(endings, _MOST)


def _texts(line: Line) -> Iterator[str]:
    for part in line.gpus:
        yield from part.reasons.values()
        yield from (process.command for process in part.processes or ())


def _texts_of(header: Header) -> Iterator[str]:
    yield header.reason
    for identity in header.gpus:
        yield from (part for part in identity if isinstance(part, str))
