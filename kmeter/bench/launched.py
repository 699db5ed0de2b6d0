"""Which kernels a timed call launched: by CUPTI's records, else by what its framework tells of a kernel."""

from collections.abc import Callable
from typing import Any

from kmeter.bench.clockwork import Clockwork
from kmeter.kernels.live_function import compiled_kernels
from kmeter.measure.engines.cupti import CuptiEngine
from kmeter.model.card import Card
from kmeter.model.launched_kernel import LaunchedKernel, judged


def kernels_of(
    clockwork: Clockwork, function: Callable[..., Any], card: Card | None
) -> tuple[LaunchedKernel, ...]:
    """What one call of the function launched, with occupancy on the card; nothing where nobody tells."""
    compute_capability = card.device.compute_capability if card else None
    engines = [e for e in (clockwork.engine, clockwork.second) if isinstance(e, CuptiEngine)]
    found = next((engine.launched for engine in engines if engine.launched), ())
    return judged(found or _by_framework(function), compute_capability)


def _by_framework(function: Callable[..., Any]) -> tuple[LaunchedKernel, ...]:
    return tuple(
        LaunchedKernel(
            kernel.name,
            kernel.registers_per_thread,
            kernel.static_shared_bytes,
            kernel.dynamic_shared_bytes,
            kernel.required_block,
        )
        for kernel in compiled_kernels(function)
    )
