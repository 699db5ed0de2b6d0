"""What a measuring process tells while it works: one JSON object a line."""

import msgspec

from kmeter.model.ceiling import Ceiling, CeilingRun


class Planned(msgspec.Struct, tag="planned", frozen=True):
    """What will be measured, and about how long each takes."""

    run: CeilingRun
    """Everything but the ceilings."""
    names: list[str]
    seconds: list[float]


class Started(msgspec.Struct, tag="started", frozen=True):
    """A probe begins."""

    name: str


class Note(msgspec.Struct, tag="note", frozen=True):
    """What a probe is doing."""

    name: str
    text: str


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """A probe has ended, well or not."""

    ceiling: Ceiling


class Ended(msgspec.Struct, tag="ended", frozen=True):
    """All is done."""

    peak_bytes: int


class Refused(msgspec.Struct, tag="refused", frozen=True):
    """Nothing can be measured: kmeter's exit code, and the line for the user."""

    code: int
    message: str


Event = Planned | Started | Note | Finished | Ended | Refused

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def line_of(event: Event) -> bytes:
    """The event as a line; NaN and Infinity become null."""
    return _encoder.encode(event) + b"\n"


def event_of(line: bytes) -> Event:
    """The event of a line; raises msgspec.DecodeError for anything else."""
    return _decoder.decode(line)
