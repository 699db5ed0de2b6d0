"""Where facts about a GPU come from: one module a source, named as users write it."""

from importlib import import_module
from typing import Protocol, cast

from kmeter.discovery import public_modules
from kmeter.errors import NoGpuError
from kmeter.model.device import Device

_ORDINAL_DIGITS = 2


class Source(Protocol):
    """What a source module offers."""

    def open_device(self, name: str) -> Device:
        """The device of that name; raises UnknownTargetError."""
        ...


def source_names() -> list[str]:
    """The sources there are, as users write them before the colon."""
    return public_modules(__path__)


def open_device(target: str) -> Device:
    """The device that a user names: ``catalogue:h100-sxm``, ``h100-sxm``, ``"H100 SXM"``.

    Raises UnknownTargetError with the nearest names, NoGpuError where a card of this machine
    is asked for.
    """
    kind, colon, name = target.partition(":")
    if colon and kind in source_names():
        return _source(kind).open_device(name)
    if _is_live(target):
        raise NoGpuError(
            f"this version reads no card of this machine, so {target!r} has no device",
            "Name a card of the catalogue, for example -d h100-sxm; kmeter gpus lists them",
        )
    return _source("catalogue").open_device(target)


def _is_live(target: str) -> bool:
    """Whether a card of this machine is meant: ``0`` is an ordinal, ``4090`` is a card's name."""
    is_ordinal = target.isdecimal() and len(target) <= _ORDINAL_DIGITS
    return is_ordinal or target.startswith(("cuda:", "GPU-", "MIG-"))


def _source(name: str) -> Source:
    return cast("Source", import_module(f"{__name__}.{name}"))
