"""Where facts about a GPU come from: one module a source, named as users write it."""

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from kmeter.discovery import public_modules

if TYPE_CHECKING:
    from kmeter.model.card import Machine
    from kmeter.model.device import Device

_ORDINAL = re.compile(r"[0-9]{1,2}")
"""``0`` is an ordinal; ``4090`` is a card's name."""
_BUS_ID = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.IGNORECASE)


class Source(Protocol):
    """What a source module offers."""

    def open_device(self, name: str) -> "Device":
        """The device of that name; raises UnknownTargetError."""
        ...

    def open_machine(self, name: str) -> "Machine":
        """The one card of that name with everything that is known about it."""
        ...


def source_names() -> list[str]:
    """The sources there are, as users write them before the colon."""
    return public_modules(__path__)


def open_device(target: str) -> "Device":
    """The device that a user names: ``0``, ``h100-sxm``, ``"H100 SXM"``, ``snapshot:FILE``.

    Raises UnknownTargetError with the nearest names, NoGpuError where a card of this machine
    is asked for and there is none.
    """
    kind, name = resolve(target)
    return _source(kind).open_device(name)


def open_machine(target: str | None) -> "Machine":
    """The card that a user names with all that is known about it; every card without a name."""
    if target is None:
        from kmeter.sources.cuda import machine

        return machine()
    kind, name = resolve(target)
    return _source(kind).open_machine(name)


def resolve(target: str) -> tuple[str, str]:
    """Which source a target names, and what it is called there."""
    kind, colon, name = target.partition(":")
    if colon and kind in source_names():
        return kind, name
    if _is_live(target):
        return "cuda", target
    if _is_file(target) and not _is_card(target):
        return "snapshot", target
    return "catalogue", target


def _is_live(target: str) -> bool:
    """Whether a card of this machine is meant: an ordinal, a UUID or a PCI bus id."""
    named = _ORDINAL.fullmatch(target) or _BUS_ID.fullmatch(target)
    return bool(named) or target.startswith(("GPU-", "MIG-"))


def _is_file(target: str) -> bool:
    try:
        return Path(target).is_file()
    except (OSError, ValueError):
        return False


def _is_card(target: str) -> bool:
    """Whether the catalogue knows this very name: a file called 4090 is not the RTX 4090."""
    from kmeter.sources.catalogue import is_known

    return is_known(target)


def _source(name: str) -> Source:
    return cast("Source", import_module(f"{__name__}.{name}"))
