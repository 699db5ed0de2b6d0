"""Cards as JSON, in the names that other programs read."""

from typing import Any

from kmeter.model.card import Card, Fact, Machine
from kmeter.model.peaks import peaks
from kmeter.views.peaks import peaks_document


def machine_document(machine: Machine) -> dict[str, Any]:
    """``kmeter.info/1``."""
    return {
        "schema": "kmeter.info/1",
        **_fact("driver_version", machine.driver_version),
        **_fact("cuda_version", machine.cuda_version),
        **_fact("nvml_version", machine.nvml_version),
        "recorded_at": machine.recorded_at or None,
        "devices": [card_document(card) for card in machine.cards],
    }


def card_document(card: Card) -> dict[str, Any]:
    """One card: identity, peaks, and everything that was read, as it came."""
    device = card.device
    total = card.fact("total_memory_bytes")
    return {
        "target": device.target,
        "ordinal": card.ordinal,
        "name": device.name,
        "uuid": card.uuid,
        "pci_bus_id": card.pci_bus_id,
        "lost": bool(card.lost),
        "lost_reason": card.lost or None,
        "compute_capability": device.compute_capability or None,
        "total_memory_bytes": total.value,
        "total_memory_bytes_reason": total.reason or None,
        "memory_is_unified": card.fact("memory_is_unified").value,
        "sm_count": device.sm_count,
        "sm_clock_hz": device.sm_clock_hz,
        "l2_bytes": device.l2_bytes,
        "peaks": peaks_document(peaks(device)),
        "attributes": {attribute.name: attribute.value for attribute in card.attributes},
        "nvml": {name: _nvml(fact) for name, fact in card.facts.items()},
    }


def _fact(name: str, fact: Fact) -> dict[str, Any]:
    return {name: fact.value, f"{name}_reason": fact.reason or None}


def _nvml(fact: Fact) -> dict[str, Any]:
    return {"value": fact.value, "source": fact.source, "reason": fact.reason or None}
