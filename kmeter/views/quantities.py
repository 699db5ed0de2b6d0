"""A Quantity as text and as JSON: the value with its source, or a dash and the reason."""

from typing import Any

from kmeter.model.device import Quantity
from kmeter.units import si


def quantity_text(quantity: Quantity, unit: str) -> str:
    """``3.352 TB/s``, or a dash."""
    return si(quantity.value, unit)


def quantity_document(quantity: Quantity) -> dict[str, Any]:
    """``{"value", "source", "clock_hz", "reason"}``; unknown is null with its reason."""
    return {
        "value": quantity.value,
        "source": quantity.source,
        "clock_hz": quantity.clock_hz,
        "reason": quantity.reason or None,
    }
