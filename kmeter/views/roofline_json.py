"""A roofline as JSON and as CSV, in the names that other programs read."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from kmeter.model.device import Device
from kmeter.model.roofline import Bound, Placed, Roof, Roofline
from kmeter.views.quantities import value_or_reason


def roofline_document(
    line: Roofline,
    placed: Sequence[Placed],
    measured: Roofline | None = None,
    remarks: Sequence[str] = (),
) -> dict[str, Any]:
    """``kmeter.roofline/1``; ``ceilings`` are the roofs as measured on this card."""
    return {
        "schema": "kmeter.roofline/1",
        "device": device_document(line.device),
        "roofs": [roof_document(roof) for roof in (*line.roofs, *line.unknown)],
        "ridge_flop_per_byte": line.ridge,
        "ceilings": [roof_document(roof) for roof in measured.roofs] if measured else [],
        "points": [point_document(item) | _of_ceiling(item, measured) for item in placed],
        "remarks": list(remarks),
    }


def _of_ceiling(placed: Placed, measured: Roofline | None) -> dict[str, Any]:
    fraction = measured.place(placed.point).fraction_of_roof if measured else None
    reason = "not timed" if measured else "no ceilings of this card are saved: kmeter ceiling"
    return value_or_reason("fraction_of_ceiling", fraction, reason)


def device_document(device: Device) -> dict[str, Any]:
    """The device that a result belongs to."""
    return {
        "target": device.target,
        "name": device.name,
        "compute_capability": device.compute_capability or None,
        "source": device.source,
    }


def roof_document(roof: Roof) -> dict[str, Any]:
    """A roof with its rate, the source of it, and the clock that it assumes."""
    rate = "bytes_per_s" if roof.bound is Bound.MEMORY else "flop_per_s"
    return {
        "name": roof.name,
        "bound": roof.bound,
        rate: roof.rate.value,
        f"{rate}_reason": roof.rate.reason or None,
        "source": roof.rate.source,
        "clock_hz": roof.rate.clock_hz,
    }


def point_document(placed: Placed) -> dict[str, Any]:
    """A point; what a point that was not timed did not reach is null."""
    return {
        "name": placed.point.name,
        "arithmetic_intensity": placed.point.arithmetic_intensity,
        "attainable_flop_per_s": placed.attainable_flop_per_s,
        "level": placed.point.level,
        "bound": placed.bound,
        "roof": placed.roof.name,
        **value_or_reason("flop_per_s", placed.point.flop_per_s, "not timed"),
        **value_or_reason("bytes_per_s", placed.point.bytes_per_s, "not timed"),
        **value_or_reason("fraction_of_roof", placed.fraction_of_roof, "not timed"),
        "above_roof": placed.above_roof,
    }


CSV_COLUMNS = (
    "name", "arithmetic_intensity", "attainable_flop_per_s", "bound", "roof", "flop_per_s",
    "bytes_per_s", "fraction_of_roof", "above_roof",
)  # fmt: skip


def points_csv(placed: Iterable[Placed]) -> str:
    """One row a point, under the names of the JSON document; reasons are left to that."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(point_document(item) for item in placed)
    return out.getvalue()
