"""A kernel as it was launched: what the GPU's own records, or its framework, say of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from kmeter.model.compiled_kernel import CompiledKernel, Dimensions
from kmeter.model.kernel_occupancy import LaunchWish, kernel_occupancy


@dataclass(frozen=True)
class LaunchedKernel:
    """One kernel of a timed call. None is unknown."""

    name: str
    """Mangled."""
    registers_per_thread: int | None = None
    static_shared_bytes: int | None = None
    """As declared, without the share that is reserved on 9.0 and later."""
    dynamic_shared_bytes: int | None = None
    block: Dimensions | None = None
    grid: Dimensions | None = None
    occupancy: float | None = None
    """Theoretical, of the SMs of the card that ran it."""
    limiters: tuple[str, ...] = ()


def judged(
    kernels: Iterable[LaunchedKernel], compute_capability: str | None
) -> tuple[LaunchedKernel, ...]:
    """The same with their occupancy, as far as it can be known."""
    return tuple(_judged(kernel, compute_capability) for kernel in kernels)


def _judged(kernel: LaunchedKernel, compute_capability: str | None) -> LaunchedKernel:
    if compute_capability is None or kernel.block is None:
        return kernel
    compiled = CompiledKernel(
        kernel.name,
        architecture=compute_capability,
        registers_per_thread=kernel.registers_per_thread,
        static_shared_bytes=kernel.static_shared_bytes,
        dynamic_shared_bytes=kernel.dynamic_shared_bytes,
    )
    report = kernel_occupancy(compiled, LaunchWish(block_size=prod(kernel.block))).report
    if report is None or report.refused:
        return kernel
    found = report.occupancy
    return replace(kernel, occupancy=found.fraction, limiters=tuple(found.limiters))
