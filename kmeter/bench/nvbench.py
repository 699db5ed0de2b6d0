"""NVBench's JSON, read: https://github.com/NVIDIA/nvbench, format 1.0.0.

NVBench writes numbers as text, empty lists as null and every result as a tagged summary. The JSON
of ``--json`` holds no samples, only what they amount to; ``--jsonbin`` puts them beside it.
"""

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.benchmark import BenchRun, CacheState, Environment, Outcome, Roofs, Row
from kmeter.units import MOST, quoted

LARGEST_BYTES = 64 * 2**20
"""Of a document."""
MOST_SAMPLES = 4 * 2**20
"""Of a document's binary files together; the states above have their mean alone."""
_INT64 = 2**63
_ENGINES = ("events", "graph", "cupti", "host")

_Value = str | int | float | None


class _Top(msgspec.Struct):
    devices: msgspec.Raw
    benchmarks: msgspec.Raw


class _Named(msgspec.Struct):
    name: str
    value: _Value = None
    type: str = "string"


class _Summary(msgspec.Struct):
    tag: str
    data: list[_Named] | None = None


class _State(msgspec.Struct):
    device: int | None = None
    axis_values: list[_Named] | None = None
    summaries: list[_Summary] | None = None
    is_skipped: bool = False
    skip_reason: str | None = None


class _Benchmark(msgspec.Struct):
    name: str
    states: list[_State] | None = None


class _Device(msgspec.Struct):
    id: int
    name: str = ""
    sm_version: int | None = None


class _Document(msgspec.Struct):
    devices: list[_Device] | None
    benchmarks: list[_Benchmark] | None


class _Clock(NamedTuple):
    """One of NVBench's ways to take a time."""

    group: str
    """Where its tags begin."""
    mean: str
    engine: str
    cache_state: CacheState
    cache_note: str = ""


_CLOCKS = (
    _Clock(
        "nv/cold", "nv/cold/time/gpu/mean", "events",
        CacheState.COLD, "NVBench overwrites L2 before every call",
    ),
    _Clock(
        "nv/batch", "nv/batch/time/gpu/mean", "events",
        CacheState.WARM, "NVBench's batch: calls back to back",
    ),
    _Clock("nv/cpu_only", "nv/cpu_only/time/cpu/mean", "host", CacheState.UNKNOWN),
)  # fmt: skip
"""The best first."""

_Results = Mapping[str, Mapping[str, _Value]]
"""Of a state, by tag and then by name."""


def is_nvbench(raw: bytes) -> bool:
    """Whether ``raw`` is JSON with the keys that NVBench's documents have; raises nothing."""
    try:
        msgspec.json.decode(raw, type=_Top)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def read_nvbench(raw: bytes, name: str, folder: Path | None = None) -> BenchRun:
    """A row for every state of the document in ``raw``, times in seconds.

    ``name`` is the file's, for errors. ``folder`` is where it lies: samples are read from the
    folder ``….json-bin`` in there, and from nowhere else. Without them a row has the mean as its
    only sample, and a note that says so. A skipped state is a row that failed. The file does not
    say when it was written: ``started_at`` is empty.

    Raises UsageError for anything that is no such document.
    """
    if len(raw) > LARGEST_BYTES:
        raise UsageError(f"{name} is larger than any NVBench document")
    try:
        document = msgspec.json.decode(raw, type=_Document)
        return _run(document, _SampleFiles(folder))
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no NVBench document: {error}") from None


def _run(document: _Document, files: "_SampleFiles") -> BenchRun:
    devices = {device.id: device for device in document.devices or ()}
    pairs = [(bench, state) for bench in document.benchmarks or () for state in bench.states or ()]
    used = list(dict.fromkeys(state.device for _, state in pairs))
    rows = tuple(_row(b.name, state, devices, len(used) > 1, files) for b, state in pairs)
    return BenchRun(_environment([devices[n] for n in used if n in devices]), "", rows)


def _environment(used: Sequence[_Device]) -> Environment:
    """What is the same for every row; nothing where rows come from different GPUs."""
    names = {_printable(device.name) for device in used}
    versions = {_capability(device.sm_version) for device in used}
    reason = "" if used else "the file names no GPU"
    if len(names) > 1:
        reason = "the file has rows of several GPUs"
    return Environment(
        gpu_name=(names.pop() or None) if len(names) == 1 else None,
        compute_capability=versions.pop() if len(versions) == 1 else None,
        no_gpu_reason=reason,
    )


def _capability(sm_version: int | None) -> str | None:
    """900 → ``9.0``."""
    if sm_version is None or not 100 <= sm_version < 10_000:
        return None
    return f"{sm_version // 100}.{sm_version % 100 // 10}"


def _row(
    name: str, state: _State, devices: Mapping[int, _Device], several: bool, files: "_SampleFiles"
) -> Row:
    own = {_printable(axis.name): _parameter(axis) for axis in state.axis_values or ()}
    device = devices.get(state.device) if state.device is not None else None
    row = Row(
        name=_printable(name),
        parameters={"Device": state.device, **own} if several else own,
        roofs=Roofs(device_name=_printable(device.name)) if device else Roofs(),
    )
    if state.is_skipped:
        return _failed(row, state.skip_reason or "NVBench skipped it and does not say why")
    return _timed(row, _results(state), files)


def _failed(row: Row, reason: str) -> Row:
    return replace(row, outcome=Outcome.FAILED, reason=_line(reason))


def _timed(row: Row, results: _Results, files: "_SampleFiles") -> Row:
    means = ((clock, _number(results, clock.mean)) for clock in _CLOCKS)
    clock, mean_s = next((pair for pair in means if pair[1] is not None), (None, None))
    if clock is None or mean_s is None:
        return _failed(row, "the file has no time of it")
    samples, note = files.samples(results, clock)
    return replace(
        _conditions(row, results, clock),
        samples_s=samples or (mean_s,),
        bytes_per_call=_bytes_per_call(results, clock, mean_s),
        notes=() if samples else (note,),
    )


def _conditions(row: Row, results: _Results, clock: _Clock) -> Row:
    """How it was timed: in kmeter's words where kmeter wrote the file, else as NVBench does it."""
    if "kmeter/cache_state" not in results:
        state, note = clock.cache_state, clock.cache_note
        return replace(row, engine=clock.engine, cache_state=state, cache_note=note)
    engine, held = _text(results, "kmeter/engine"), _text(results, "kmeter/cache_state")
    return replace(
        row,
        engine=engine if engine in _ENGINES else "",
        cache_state=CacheState(held) if held in set(CacheState) else CacheState.UNKNOWN,
    )


def _bytes_per_call(results: _Results, clock: _Clock, mean_s: float) -> float | None:
    """From the bandwidth, which counts all of them; else from the columns that have a name."""
    rate = _number(results, f"{clock.group}/bw/global/bytes_per_second")
    if rate and mean_s:
        return float(round(_possible(rate * mean_s, "bytes of a call")))
    tags = [tag for tag in results if tag.startswith(("nv/gmem/reads/", "nv/gmem/writes/"))]
    total = math.fsum(_number(results, tag) or 0.0 for tag in tags)
    return _possible(total, "bytes of a call") or None


class _SampleFiles:
    """The binary files beside a document: little-endian float32, seconds."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._left = MOST_SAMPLES

    def samples(self, results: _Results, clock: _Clock) -> tuple[tuple[float, ...], str]:
        """The samples of a state, or none and why."""
        tag = f"nv/json/bin:{clock.group}/sample_times"
        size = _number(results, f"{clock.group}/sample_size")
        mean = f"this is the mean{f' of {size:.0f}' if size else ''}"
        if self._folder is None or not _text(results, tag, "filename"):
            return (), f"no samples in the file: {mean}"
        path = _beside(self._folder, _text(results, tag, "filename"))
        if path is None:
            return (), f"no file of samples beside it: {mean}"
        count = _number(results, tag, "size")
        if count is not None and count > self._left:
            return (), f"more samples than kmeter reads of one file: {mean}"
        return self._read(path, count), ""

    def _read(self, path: Path, count: float | None) -> tuple[float, ...]:
        raw = read_bounded(path, 4 * self._left, "file of samples")
        if count is None or len(raw) != 4 * count:
            raise UsageError(f"{quoted(path.name)} does not hold the samples that are announced")
        samples = struct.unpack(f"<{len(raw) // 4}f", raw)
        for sample in samples:
            _possible(sample, "a sample")
        self._left -= len(samples)
        return samples


def _beside(folder: Path, text: str) -> Path | None:
    """The file of samples that ``text`` names; None where it is not there.

    NVBench writes the path as its user gave it, from the folder in which it ran. Its last two
    parts are what lies beside the document; raises UsageError where they would lead elsewhere.
    """
    parts = re.split(r"[/\\]+", text)[-2:]
    if len(parts) < 2 or not (parts[0].endswith("-bin") and parts[1].endswith(".bin")):
        raise UsageError(f"{quoted(text)} is no file of samples beside it")
    try:
        path = folder.joinpath(*parts).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UsageError(f"{quoted(text)} leads out of its folder")
        return path if path.is_file() else None
    except (OSError, RuntimeError):
        return None


def _results(state: _State) -> _Results:
    return {
        summary.tag: {item.name: item.value for item in summary.data or ()}
        for summary in state.summaries or ()
    }


def _text(results: _Results, tag: str, name: str = "value") -> str:
    value = results.get(tag, {}).get(name)
    return _printable(value) if isinstance(value, str) else ""


def _number(results: _Results, tag: str, name: str = "value") -> float | None:
    """An amount, 0 or more; None where there is none, or one that NVBench could not compute.

    Raises UsageError for what is no number, and for one that nothing can have.
    """
    value = results.get(tag, {}).get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise UsageError(f"{quoted(tag)} is {quoted(str(value))}, not a number") from None
    return _possible(number, quoted(tag)) if math.isfinite(number) else None


def _possible(number: float, what: str) -> float:
    if number == 0 or 1 / MOST <= number <= MOST:
        return number
    raise UsageError(f"{what} is impossible: {number:.3g}")


def _parameter(axis: _Named) -> str | int | float:
    """The value of an axis; the text of a number that JSON cannot hold."""
    text = _printable(str(axis.value))
    try:
        if axis.type == "int64" and -_INT64 <= int(text) < _INT64:
            return int(text)
        if axis.type == "float64" and math.isfinite(float(text)):
            return float(text)
    except ValueError:
        raise UsageError(f"the axis {quoted(axis.name)} has the value {quoted(text)}") from None
    return text


def _line(text: str) -> str:
    return _printable(" ".join(text.split()))


def _printable(text: str) -> str:
    if not text.isprintable():
        raise UsageError(f"{quoted(text)} is not printable")
    return text
