"""Recorded devices: a file that ``kmeter info --save`` wrote, or one that comes with kmeter."""

from importlib.resources import files
from pathlib import Path

from kmeter.errors import UnknownTargetError
from kmeter.model.card import Fact, Machine
from kmeter.model.device import Device, Source
from kmeter.sources._device_of_card import card_of
from kmeter.sources._recording import Recording, decode, read_recording, reading_of


def open_device(name: str) -> Device:
    """The device in a file, or an embedded one by its name.

    Raises UsageError for a file that is no recording, UnknownTargetError without one.
    """
    return open_machine(name).cards[0].device


def open_machine(name: str) -> Machine:
    """The recorded card, with the versions of what told about it."""
    recording = _find(name)
    reading = reading_of(recording)
    return Machine(
        cards=(card_of(reading, f"snapshot:{name}", None, Source.RECORDING),),
        driver_version=_recorded(recording.driver_version),
        cuda_version=_recorded(recording.cuda_version),
        nvml_version=Fact(reason="not recorded"),
        recorded_at=recording.recorded_at,
    )


def embedded_names() -> list[str]:
    """The recordings that come with kmeter."""
    names = (item.name for item in files(__package__).joinpath("recordings").iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def _find(name: str) -> Recording:
    if Path(name).is_file():
        return read_recording(Path(name))
    if name in embedded_names():
        embedded = files(__package__).joinpath("recordings", f"{name}.json")
        return decode(embedded.read_bytes(), name)
    raise UnknownTargetError(
        f"there is no recording {name!r}",
        f"It is a file of kmeter info --save, or one of {', '.join(embedded_names())}",
    )


def _recorded(text: str | None) -> Fact:
    return Fact(text, Source.RECORDING) if text else Fact(reason="not recorded")
