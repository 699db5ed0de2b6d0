"""Peaks as JSON."""

from typing import Any

from kmeter.model.peaks import Peaks
from kmeter.views.quantities import quantity_document


def peaks_document(found: Peaks) -> dict[str, Any]:
    """``dram_bytes_per_s`` and ``flop_per_s`` by unit."""
    return {
        "dram_bytes_per_s": quantity_document(found.dram_bytes_per_s),
        "flop_per_s": {unit: quantity_document(q) for unit, q in found.flop_per_s.items()},
    }
