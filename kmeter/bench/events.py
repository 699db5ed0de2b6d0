"""What a benchmarking process tells while it works: one JSON object a line."""

from typing import Any

import msgspec

from kmeter.model.benchmark import Environment, Row


class CaseInfo(msgspec.Struct, frozen=True):
    """A row to be, as ``--list`` shows it."""

    label: str
    name: str
    parameters: dict[str, str]
    has_reference: bool
    counts_bytes: bool
    counts_flop: bool
    dtype: str | None
    timer: str
    tags: tuple[str, ...]


class Loaded(msgspec.Struct, tag="loaded", frozen=True):
    """The file was run; these rows will come."""

    environment: Environment
    cases: list[CaseInfo]


class Started(msgspec.Struct, tag="started", frozen=True):
    """A row begins."""

    label: str


class Note(msgspec.Struct, tag="note", frozen=True):
    """What is being done, and the median with its precision as far as they are known."""

    label: str
    text: str
    samples: int = 0
    median_s: float | None = None
    precision: float | None = None
    spread_s: tuple[float, ...] = ()
    """Samples by their length, evenly chosen, as many as tell how they spread."""


class Lap(msgspec.Struct, tag="lap", frozen=True):
    """A mark for the parent's clock: the timed calls begin, or that many have been made."""

    label: str
    calls: int
    seconds: float = 0.0
    """How long they took by the process's own clock, waiting for them included."""
    around_s: float = 0.0
    """The median of samples that were taken right before; 0 where none were."""


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """A row is ready. ``is_last`` says that this process can run no other."""

    label: str
    row: Row
    is_last: bool = False
    wants_fresh_process: bool = False
    """The row failed for lack of memory that an earlier one may have kept."""


class Ended(msgspec.Struct, tag="ended", frozen=True):
    """All is done; the frameworks are known only now."""

    environment: Environment


class Refused(msgspec.Struct, tag="refused", frozen=True):
    """Nothing can be run: kmeter's exit code, and the line for the user."""

    code: int
    message: str


Event = Loaded | Started | Note | Lap | Finished | Ended | Refused

_encoder = msgspec.json.Encoder(enc_hook=str)
_decoder = msgspec.json.Decoder(Event)


def line_of(event: Event) -> bytes:
    """The event as a line; NaN and Infinity become null, what JSON has no type for its text."""
    return _encoder.encode(event) + b"\n"


def event_of(line: bytes) -> Event:
    """The event of a line; raises msgspec.DecodeError for anything else."""
    found: Any = _decoder.decode(line)
    return found  # type: ignore[no-any-return]
