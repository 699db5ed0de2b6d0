"""A comparison as JSON, in the names that other programs read."""

from typing import Any

from kmeter.model.comparison import NO_POWER_LIMIT, NO_PRICE, Comparison, Contender
from kmeter.views.quantities import quantity_document, value_or_reason
from kmeter.views.roofline_json import device_document


def comparison_document(found: Comparison) -> dict[str, Any]:
    """``kmeter.compare/1``."""
    return {
        "schema": "kmeter.compare/1",
        "unit": found.unit,
        "arithmetic_intensities": list(found.intensities),
        "gpus": [_contender_document(found, contender) for contender in found.contenders],
    }


def _contender_document(found: Comparison, contender: Contender) -> dict[str, Any]:
    line = contender.line
    return {
        **device_document(contender.device),
        "dram_bytes_per_s": quantity_document(contender.dram_bytes_per_s),
        "flop_per_s": quantity_document(contender.flop_per_s),
        "ridge_flop_per_byte": line.ridge if line else None,
        "ridge_flop_per_byte_reason": contender.unknown or None,
        **value_or_reason("tdp_w", contender.device.tdp_w, NO_POWER_LIMIT),
        **value_or_reason("cost_per_hour", contender.cost_per_hour, NO_PRICE),
        "at": [_document_at(found, contender, at) for at in range(len(found.intensities))],
    }


def _document_at(found: Comparison, contender: Contender, at: int) -> dict[str, Any]:
    unknown = contender.unknown
    first = found.contenders[0]
    unknown_first = unknown or f"{first.device.name}: {first.unknown}"
    return {
        "arithmetic_intensity": found.intensities[at],
        **value_or_reason("attainable_flop_per_s", contender.attainable[at], unknown),
        **value_or_reason("relative", found.relative(contender, at), unknown_first),
        **value_or_reason("flop_per_s_per_w", contender.per_watt(at), unknown or NO_POWER_LIMIT),
        **value_or_reason("flop_per_cost", contender.per_cost(at), unknown or NO_PRICE),
    }
