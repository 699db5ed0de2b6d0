"""The catalogue as JSON: base units, null with its reason where a value is unknown."""

from collections.abc import Iterable, Sequence
from typing import Any

from kmeter.model.device import PrintedFigure
from kmeter.views.gpu_card import Card
from kmeter.views.peaks import peaks_document

_NOT_GIVEN = "the catalogue does not give it"


def gpus_document(cards: Sequence[Card]) -> dict[str, Any]:
    """``kmeter.gpus/1``: the cards, and the documents that their figures cite."""
    return {
        "schema": "kmeter.gpus/1",
        "gpus": [_card(card) for card in cards],
        "sources": _citations(cards),
    }


def _card(card: Card) -> dict[str, Any]:
    device = card.device
    return {
        "id": card.id,
        "name": device.name,
        "aliases": list(card.aliases),
        "product": card.product,
        "compute_capability": device.compute_capability,
        "sm_count": device.sm_count,
        **_known_or_why("sm_clock_hz", device.sm_clock_hz),
        **_known_or_why(
            "tensor_clock_hz", device.tensor_clock_hz, "tensor figures assume the SM clock"
        ),
        "memory_type": device.memory_type,
        **_known_or_why("memory_printed_gb", device.memory_gb),
        **_known_or_why("memory_bus_bits", device.memory_bus_bits),
        **_known_or_why("memory_bits_per_s_per_pin", device.memory_bits_per_s_per_pin),
        **_known_or_why("l2_bytes", device.l2_bytes),
        **_known_or_why("tdp_w", device.tdp_w),
        "halved_fp32_accumulate": device.halved_fp32_accumulate,
        "physical_sources": list(card.physical_sources),
        "peaks": peaks_document(card.peaks),
        "printed": [_figure(figure) for figure in device.printed],
        "notes": list(device.notes),
    }


def _known_or_why(name: str, value: float | None, reason: str = _NOT_GIVEN) -> dict[str, Any]:
    return {name: value} if value is not None else {name: None, f"{name}_reason": reason}


def _figure(figure: PrintedFigure) -> dict[str, Any]:
    return {
        "unit": figure.unit,
        "printed": figure.printed,
        "value": figure.value,
        "sources": list(figure.sources),
        "exception": figure.exception or None,
    }


def _citations(cards: Iterable[Card]) -> dict[str, str]:
    return {key: card.citations[key] for card in cards for key in card.cited}
