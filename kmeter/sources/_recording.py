"""Recorded devices as files: what a GPU answered, to be opened where it is not."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.model.card import Fact
from kmeter.model.device import Source
from kmeter.sources._device_of_card import CardReading, CudaFacts
from kmeter.sources._readings import FIELDS

FORMAT = "kmeter.device/"
VERSION = 1
LARGEST_BYTES = 8 * 2**20
"""No recording comes near it; a larger file is something else."""

_IDENTITY = "redacted"


class FactPart(msgspec.Struct, omit_defaults=True):
    """A field of NVML: its value or the reason."""

    value: bool | int | float | str | None = None
    reason: str = ""


class CudaPart(msgspec.Struct):
    """What the CUDA driver answered."""

    name: str
    total_memory_bytes: int
    attributes: dict[int, int]
    uuid: str | None = None
    pci_bus_id: str | None = None


class Recording(msgspec.Struct):
    """One GPU in a file."""

    schema: str
    recorded_at: str
    cuda: CudaPart
    nvml: dict[str, FactPart]
    driver_version: str | None = None
    cuda_version: str | None = None
    note: str = ""


def recording_of(
    reading: CardReading, driver_version: str | None, cuda_version: str | None, *, redact: bool
) -> Recording:
    """The reading as a file's content; ``redact`` leaves out what identifies the card."""
    cuda = reading.cuda
    return Recording(
        schema=f"{FORMAT}{VERSION}",
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        driver_version=driver_version,
        cuda_version=cuda_version,
        cuda=CudaPart(
            name=cuda.name,
            total_memory_bytes=cuda.total_memory_bytes,
            attributes=dict(cuda.attributes),
            uuid=_IDENTITY if redact else cuda.uuid,
            pci_bus_id=_IDENTITY if redact else cuda.pci_bus_id,
        ),
        nvml={name: FactPart(fact.value, fact.reason) for name, fact in reading.nvml.items()},
    )


def text_of(recording: Recording) -> str:
    """The recording as JSON, laid out for people."""
    return json.dumps(msgspec.to_builtins(recording), indent=1, allow_nan=False) + "\n"


def read_recording(path: Path) -> Recording:
    """The recording in a file.

    Raises UsageError for what is none: too large, cut off, of a newer kmeter, or another JSON.
    """
    return decode(read_bounded(path, LARGEST_BYTES, "recording of a device"), str(path))


def decode(raw: bytes, name: str) -> Recording:
    """The recording in ``raw``; raises UsageError where there is none."""
    try:
        schema = msgspec.json.decode(raw, type=_Schema).schema
        _check_schema(schema, name)
        recording = msgspec.json.decode(raw, type=Recording)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{name} is no recording of a device: {error}") from None
    return recording


class _Schema(msgspec.Struct):
    schema: str


def _check_schema(schema: str, name: str) -> None:
    kind, _, version = schema.rpartition("/")
    if f"{kind}/" != FORMAT:
        raise UsageError(f"{name} is no recording of a device, but {schema[:40]!r}")
    if version != str(VERSION):
        raise UsageError(f"{name} was recorded by another version of kmeter ({schema[:40]})")


def reading_of(recording: Recording) -> CardReading:
    """The recording as the reading that it was."""
    cuda = recording.cuda
    return CardReading(
        cuda=CudaFacts(
            name=cuda.name,
            uuid=cuda.uuid,
            pci_bus_id=cuda.pci_bus_id,
            total_memory_bytes=cuda.total_memory_bytes,
            attributes=cuda.attributes,
        ),
        nvml=_complete({name: _fact(part) for name, part in recording.nvml.items()}),
    )


def _fact(part: FactPart) -> Fact:
    known = part.value is not None
    return Fact(part.value, Source.NVML if known else None, part.reason)


def _complete(facts: dict[str, Fact]) -> dict[str, Any]:
    """Fields that the recording's kmeter did not know yet are unknown."""
    return {field.name: Fact(reason="not recorded") for field in FIELDS} | facts
