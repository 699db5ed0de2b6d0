"""Numbers in JSON: a value, or null with the reason beside it."""

from typing import Any

from kmeter.model.device import Quantity


def quantity_document(quantity: Quantity) -> dict[str, Any]:
    """``{"value", "source", "clock_hz", "reason"}``; unknown is null with its reason."""
    return {
        "value": quantity.value,
        "source": quantity.source,
        "clock_hz": quantity.clock_hz,
        "reason": quantity.reason or None,
    }


def value_or_reason(name: str, value: float | None, reason: str) -> dict[str, Any]:
    """A value under its name, and beside it why there is none."""
    return {name: value, f"{name}_reason": reason if value is None else None}
