"""Saved ceilings: a file a GPU under the user's data folder, named by its UUID."""

import re
from importlib.resources import files
from pathlib import Path

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.ceiling import CeilingRun
from kmeter.units import MOST, quoted

FORMAT = "kmeter.ceiling/"
VERSION = 1
LARGEST_BYTES = 8 * 2**20
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F-]{36}")


class _File(msgspec.Struct):
    schema: str


def ceilings_file(uuid: str | None) -> Path:
    """Where the ceilings of a GPU are kept; raises UsageError for a GPU without a UUID."""
    from platformdirs import user_data_path

    if uuid is None or not _UUID.fullmatch(uuid):
        raise UsageError("this GPU has no UUID to keep its ceilings under", "Use --json > FILE")
    return user_data_path("kmeter") / "ceilings" / f"{uuid}.json"


def saved_ceilings(uuid: str | None) -> CeilingRun | None:
    """The ceilings of this very GPU; None where none were saved."""
    try:
        path = ceilings_file(uuid)
    except UsageError:
        return None
    return read_ceilings(path) if path.is_file() else None


def read_ceilings(path: Path) -> CeilingRun:
    """The run in a file of ``kmeter ceiling --json`` or of the data folder; raises UsageError."""
    return decode_ceilings(read_bounded(path, LARGEST_BYTES, "file of ceilings"), str(path))


def reference_ceilings(name: str) -> CeilingRun:
    """The run in a file, or one that comes with kmeter by the name of its card: ``h200``.

    Raises UsageError where there is neither.
    """
    if Path(name).is_file() or name not in embedded_references():
        return read_ceilings(Path(name))
    embedded = files(__package__).joinpath("references", f"{name}.json")
    return decode_ceilings(embedded.read_bytes(), name)


def embedded_references() -> list[str]:
    """The cards whose ceilings come with kmeter."""
    folder = files(__package__).joinpath("references")
    return sorted(item.name.removesuffix(".json") for item in folder.iterdir())


def decode_ceilings(raw: bytes, name: str) -> CeilingRun:
    """The run in ``raw``; raises UsageError where there is none."""
    try:
        schema = msgspec.json.decode(raw, type=_File).schema
        kind, _, version = schema.rpartition("/")
        if f"{kind}/" != FORMAT:
            raise UsageError(f"{name} holds no ceilings, but {schema[:40]!r}")
        if version != str(VERSION):
            raise UsageError(f"{name} was written by another version of kmeter ({schema[:40]})")
        return _checked(msgspec.json.decode(raw, type=CeilingRun), name)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{name} holds no ceilings: {error}") from None


def _checked(run: CeilingRun, name: str) -> CeilingRun:
    """The run, of which views and the gate can rely on every number and word.

    Raises UsageError for a number that nothing can have, and for what would move a cursor.
    """
    for ceiling in run.ceilings:
        numbers = [
            ceiling.value, ceiling.cycles, ceiling.limit.value, ceiling.limit.clock_hz,
            ceiling.conditions.sm_clock_hz, ceiling.conditions.memory_clock_hz, *ceiling.samples,
            *(number for point in ceiling.points for number in (point.x, point.value)),
        ]  # fmt: skip
        if any(number is not None and not 1 / MOST <= number <= MOST for number in numbers):
            raise UsageError(f"{name}: {quoted(ceiling.name)} has an impossible number")
        if (ceiling.conditions.throttle_reasons_mask or 0) < 0:
            raise UsageError(f"{name}: {quoted(ceiling.name)} has an impossible throttle mask")
    words = (run.gpu_name, run.started_at, run.driver_version or "", run.compute_capability)
    of_ceilings = ((c.name, c.reason, c.how, c.note, c.limit.reason) for c in run.ceilings)
    for text in (*words, *(text for texts in of_ceilings for text in texts)):
        if not text.isprintable():
            raise UsageError(f"{name}: {quoted(text)} is not printable")
    return run
