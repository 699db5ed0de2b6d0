"""A launch report as JSON, in the names that other programs read."""

from typing import Any

from kmeter.model.cliffs import Cliff
from kmeter.model.device import Device
from kmeter.model.launch_report import BoundsAnswer, ClusterAnswer, LaunchReport, why_no_waves
from kmeter.model.occupancy import Occupancy
from kmeter.model.waves import Waves
from kmeter.views.quantities import value_or_reason


def occupancy_document(
    report: LaunchReport, device: Device | None = None, assumed_for: str = ""
) -> dict[str, Any]:
    """``kmeter.occupancy/1``. A resource that limits nothing has null in ``blocks_allowed_by``."""
    launch, found = report.launch, report.occupancy
    return {
        "schema": "kmeter.occupancy/1",
        "target": device.target if device else None,
        "compute_capability": assumed_for or report.architecture.compute_capability,
        "assumed_compute_capability": (
            report.architecture.compute_capability if assumed_for else None
        ),
        "confidence": report.architecture.confidence,
        "block_size": launch.block_size,
        "registers_per_thread": launch.registers_per_thread,
        "static_shared_bytes": launch.static_shared_bytes,
        "dynamic_shared_bytes": launch.dynamic_shared_bytes,
        "carveout_percent": launch.carveout_percent,
        "barriers": launch.barriers,
        "can_launch": not report.refused,
        "can_launch_reason": report.refused or None,
        **_occupancy(found),
        "max_warps_per_sm": found.max_warps_per_sm,
        "blocks_allowed_by": found.blocks_allowed_by,
        "allocated_registers_per_block": found.allocated_registers_per_block,
        "allocated_shared_bytes_per_block": found.allocated_shared_bytes_per_block,
        "best_block_size": report.best_block.block_size,
        "cliffs": [_cliff(cliff) for cliff in report.cliffs],
        "headroom": {
            "registers_per_thread": report.headroom.registers_per_thread,
            "shared_bytes": report.headroom.shared_bytes,
        },
        "launch_bounds": _bounds(report.bounds),
        "waves": _waves(report.waves),
        "waves_reason": _waves_reason(report),
        "cluster": _cluster(report.cluster),
        "sweep": [
            {"block_size": block_size, **_occupancy(at)} for block_size, at in report.sweep.items()
        ],
    }


def _occupancy(found: Occupancy) -> dict[str, Any]:
    return {
        "blocks_per_sm": found.blocks_per_sm,
        "active_warps_per_sm": found.active_warps_per_sm,
        "fraction": found.fraction,
        "limiters": list(found.limiters),
    }


def _cliff(cliff: Cliff) -> dict[str, Any]:
    return {
        "changes": [
            {"resource": change.resource, "before": change.before, "after": change.after}
            for change in cliff.changes
        ],
        **_occupancy(cliff.after),
    }


def _bounds(bounds: BoundsAnswer | None) -> dict[str, Any] | None:
    if bounds is None:
        return None
    return {
        "max_threads_per_block": bounds.max_threads,
        "min_blocks_per_sm": bounds.min_blocks,
        **value_or_reason(
            "max_registers_per_thread", bounds.most_registers, "so many blocks never fit"
        ),
    }


def _waves(found: Waves | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "grid": found.grid,
        "waves": found.waves,
        "blocks_per_wave": found.blocks_per_wave,
        "last_wave_fraction": found.last_wave_fraction,
        "efficiency": found.efficiency,
        "better_grids": list(found.better_grids),
    }


def _waves_reason(report: LaunchReport) -> str | None:
    if report.waves is not None:
        return None
    if report.question.grid is None:
        return "no grid was given"
    return report.refused or why_no_waves(report)


def _cluster(cluster: ClusterAnswer | None) -> dict[str, Any] | None:
    if cluster is None:
        return None
    known = cluster.active_clusters is not None
    return {
        "cluster_size": cluster.cluster_size,
        "portable": cluster.portable,
        **value_or_reason(
            "max_active_clusters",
            cluster.active_clusters,
            cluster.refused or "the SM count is unknown",
        ),
        "bound": None if not known else "exact" if cluster.exact else "upper",
    }
