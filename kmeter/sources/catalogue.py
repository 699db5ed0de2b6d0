"""The catalogue: NVIDIA cards by name, from ``catalogue.toml`` beside this file.

A name finds a card; its SM count and clocks, not its name, decide every peak.
"""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kmeter.model.architecture import known_architecture
from kmeter.model.card import Card, Fact, Machine
from kmeter.model.device import Device, PrintedFigure, Quantity, Source
from kmeter.sources._card_names import CardNames

_MIB = 2**20


_ENTRY = "\n[gpu."


def _text() -> str:
    return Path(__file__).with_suffix(".toml").read_text("utf-8")


@cache
def _document() -> Mapping[str, Any]:
    return tomllib.loads(_text())


@cache
def _names() -> CardNames:
    return CardNames.of(entries())


def entries() -> Mapping[str, Mapping[str, Any]]:
    """Every entry as it stands in the file, by id."""
    entries: Mapping[str, Mapping[str, Any]] = _document()["gpu"]
    return entries


def citations() -> Mapping[str, str]:
    """The documents that the entries name as their sources, by key."""
    citations: Mapping[str, str] = _document()["sources"]
    return citations


def open_device(name: str) -> Device:
    """The card called ``name``: an id, an alias, or words that fit exactly one card.

    Raises UnknownTargetError, with the candidates or the nearest, where none or several fit.
    """
    return device_of(_names().find(name))


def twin(name: str) -> Device | None:
    """The card that a driver calls by exactly this name, without reading the whole file."""
    quoted_names = {f'"{name}"', f'"{name.removeprefix("NVIDIA ")}"'}
    for block in _text().split(_ENTRY)[1:]:
        head, _, _ = block.partition("sheet = [")
        if any(quoted_name in head for quoted_name in quoted_names):
            ((gpu_id, entry),) = tomllib.loads(f"[gpu.{block}")["gpu"].items()
            return _device(gpu_id, entry)
    return None


def open_machine(name: str) -> Machine:
    """The card called ``name``, of which nobody read anything."""
    card = Card(open_device(name), ordinal=None, uuid=None, pci_bus_id=None, attributes=())
    unread = Fact(reason="a card of the catalogue")
    return Machine((card,), driver_version=unread, cuda_version=unread, nvml_version=unread)


def is_known(name: str) -> bool:
    """Whether this is the id, an alias or the full name of a card."""
    return bool(_names().exact(name))


def select(patterns: Iterable[str]) -> list[str]:
    """Ids of the cards that any pattern names, in the order asked for; all without a pattern.

    A pattern is a name, words of a name, a product line, a generation or a compute capability.
    Raises UnknownTargetError for a pattern that names none.
    """
    found = [gpu_id for pattern in patterns for gpu_id in _selected_by(pattern)]
    return list(dict.fromkeys(found)) or list(entries())


def _selected_by(pattern: str) -> list[str]:
    text = pattern.removeprefix("catalogue:")
    found = _names().exact(text) or _names().matching(text) or _of_kind(text.lower())
    if not found:
        raise _names().unknown(pattern)
    return found


def _of_kind(text: str) -> list[str]:
    return [gpu_id for gpu_id, entry in entries().items() if text in _kinds(entry)]


def _kinds(entry: Mapping[str, Any]) -> tuple[str, ...]:
    sm = known_architecture(entry["compute_capability"])
    return (entry["product"], entry["compute_capability"], sm.generation.lower() if sm else "")


def device_of(gpu_id: str) -> Device:
    """The entry as a Device, in base units."""
    return _device(gpu_id, entries()[gpu_id])


def _device(gpu_id: str, entry: Mapping[str, Any]) -> Device:
    printed = tuple(_figure(figure) for figure in entry["sheet"])
    return Device(
        target=f"catalogue:{gpu_id}",
        source=Source.CATALOGUE,
        name=f"NVIDIA {entry['name']}",
        compute_capability=entry["compute_capability"],
        architecture=known_architecture(entry["compute_capability"]),
        sm_count=entry["sm_count"],
        sm_clock_hz=_scaled(entry, "boost_clock_mhz", 1e6),
        tensor_clock_hz=_scaled(entry, "tensor_clock_mhz", 1e6),
        memory_bus_bits=entry.get("memory_bus_bits"),
        memory_bits_per_s_per_pin=_scaled(entry, "memory_gbit_s_per_pin", 1e9),
        dram=_printed_bandwidth(printed),
        memory_type=entry["memory_type"],
        memory_gb=entry["memory_gb"],
        l2_bytes=round(entry["l2_mib"] * _MIB) if "l2_mib" in entry else None,
        tdp_w=entry.get("tdp_w"),
        halved_fp32_accumulate=entry.get("halved_fp32_accumulate", False),
        has_tensor_cores=not entry.get("no_tensor_cores", False),
        printed_rates_only=frozenset(entry.get("printed_rates_only", ())),
        notes=tuple(entry[key] for key in ("clock_note", "note") if key in entry),
        printed=printed,
    )


def _scaled(entry: Mapping[str, Any], key: str, scale: float) -> float | None:
    return entry[key] * scale if key in entry else None


def _figure(figure: Mapping[str, Any]) -> PrintedFigure:
    return PrintedFigure(
        unit=figure["unit"],
        printed=figure["printed"],
        value=float(figure["value"]),
        sources=tuple(figure["source"]),
        exception=figure.get("exception", ""),
    )


def _printed_bandwidth(printed: Iterable[PrintedFigure]) -> Quantity:
    for figure in printed:
        if figure.unit == "dram":
            return Quantity(figure.value, Source.CATALOGUE)
    return Quantity.unknown("the catalogue has neither a memory clock nor a printed bandwidth")
