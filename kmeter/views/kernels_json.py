"""Compiled kernels and their changes as JSON, in base units."""

from collections.abc import Sequence
from typing import Any

from kmeter.model.kernel_change import KernelChange
from kmeter.model.kernel_occupancy import KernelOccupancy
from kmeter.views.kernels import Names, changed_text, is_changed


def kernels_document(
    items: Sequence[KernelOccupancy], names: Names, remarks: Sequence[str]
) -> dict[str, Any]:
    """``kmeter.kernels/1``."""
    return {
        "schema": "kmeter.kernels/1",
        "kernels": [_kernel(item, names) for item in items],
        "remarks": list(remarks),
    }


def _kernel(item: KernelOccupancy, names: Names) -> dict[str, Any]:
    kernel, found = item.kernel, item.report.occupancy if item.report else None
    said = kernel._asdict()
    note = said.pop("note")
    return {
        **said,
        "demangled": names.get(kernel.name, kernel.name),
        "note": note or None,
        "block_size": item.block_size,
        "block_size_source": item.block_source or None,
        "blocks_per_sm": found.blocks_per_sm if found else None,
        "active_warps_per_sm": found.active_warps_per_sm if found else None,
        "max_warps_per_sm": found.max_warps_per_sm if found else None,
        "fraction": item.fraction,
        "fraction_reason": item.reason or None,
        "limiters": list(found.limiters) if found else [],
        "can_launch": not item.report.refused if item.report else None,
        "can_launch_reason": (item.report.refused or None) if item.report else item.reason,
    }


def changes_document(
    changes: Sequence[KernelChange],
    names: Names,
    failed: Sequence[tuple[KernelChange, str]],
    remarks: Sequence[str],
) -> dict[str, Any]:
    """``kmeter.kernels-diff/1``; only what changed."""
    return {
        "schema": "kmeter.kernels-diff/1",
        "kernels": len(changes),
        "changes": [_change(change, names) for change in changes if is_changed(change)],
        "failed": [
            {"name": change.kernel.name, "architecture": change.kernel.architecture, "gate": gate}
            for change, gate in failed
        ],
        "remarks": list(remarks),
    }


def _change(change: KernelChange, names: Names) -> dict[str, Any]:
    kernel = change.kernel
    status = "new" if change.before is None else "gone" if change.after is None else "changed"
    return {
        "name": kernel.name,
        "demangled": names.get(kernel.name, kernel.name),
        "architecture": kernel.architecture,
        "status": status,
        "text": changed_text(change),
        "differences": {
            difference.quantity.replace(" ", "_"): {
                "before": difference.before,
                "after": difference.after,
            }
            for difference in change.differences
        },
    }
