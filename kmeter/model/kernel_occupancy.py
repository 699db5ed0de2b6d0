"""Compiled kernels on the SM that they are for: at the block they are launched with, or at the best one."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NamedTuple

from kmeter.errors import KmeterError
from kmeter.model.architecture import architecture
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.launch import Launch
from kmeter.model.launch_report import LaunchQuestion, LaunchReport, launch_report
from kmeter.model.potential import best_block

REQUIRED, GIVEN, BOUNDS, BEST = "required", "given", "launch bounds", "best"
"""Where a block size comes from: the kernel runs no other, the user's word, its most, the sweep's best."""


class KernelOccupancy(NamedTuple):
    """A kernel, and what an SM makes of it."""

    kernel: CompiledKernel
    block_source: str = ""
    report: LaunchReport | None = None
    reason: str = ""
    """Why there is no report."""

    @property
    def block_size(self) -> int | None:
        """Threads per block; None where nothing could be asked."""
        return self.report.launch.block_size if self.report else None

    @property
    def fraction(self) -> float | None:
        """Occupancy; None where it is unknown."""
        return self.report.occupancy.fraction if self.report else None


class LaunchWish(NamedTuple):
    """What the user says of launches, which no compiled kernel knows."""

    block_size: int | None = None
    dynamic_shared_bytes: int | None = None
    carveout_percent: int | None = None
    compute_capability: str | None = None
    """Of the GPU that it will run on; None for the one that each was compiled for."""


def occupancies(kernels: Iterable[CompiledKernel], wish: LaunchWish) -> list[KernelOccupancy]:
    """Each kernel's, in their order; where it cannot be known, the reason."""
    return [kernel_occupancy(kernel, wish) for kernel in kernels]


def kernel_occupancy(kernel: CompiledKernel, wish: LaunchWish) -> KernelOccupancy:
    """One kernel's."""
    architecture_name = wish.compute_capability or kernel.architecture
    reason = _unknown(kernel, architecture_name)
    if reason:
        return KernelOccupancy(kernel, reason=reason)
    assert architecture_name is not None
    block, source = _block(kernel, wish)
    cluster = prod(kernel.cluster) if kernel.cluster else None
    try:
        report = _answer(architecture_name, _launch(kernel, wish, block), cluster, source == BEST)
    except KmeterError as error:
        return KernelOccupancy(kernel, reason=str(error))
    return KernelOccupancy(kernel, source, report)


def _unknown(kernel: CompiledKernel, architecture_name: str | None) -> str:
    if kernel.registers_per_thread is None:
        return kernel.note or "its registers are unknown"
    if architecture_name is None:
        return "its architecture is unknown, --arch gives it"
    if kernel.static_shared_bytes is None:
        return kernel.note or "its shared memory is unknown"
    return ""


def _block(kernel: CompiledKernel, wish: LaunchWish) -> tuple[int, str]:
    if kernel.required_block is not None:
        return prod(kernel.required_block), REQUIRED
    if wish.block_size is not None:
        return wish.block_size, GIVEN
    if kernel.max_threads_per_block is not None:
        return kernel.max_threads_per_block, BOUNDS
    return 1, BEST


def _launch(kernel: CompiledKernel, wish: LaunchWish, block: int) -> Launch:
    dynamic = wish.dynamic_shared_bytes
    return Launch(
        block_size=block,
        registers_per_thread=kernel.registers_per_thread or 0,
        static_shared_bytes=kernel.static_shared_bytes or 0,
        dynamic_shared_bytes=(kernel.dynamic_shared_bytes or 0) if dynamic is None else dynamic,
        carveout_percent=wish.carveout_percent,
        barriers=kernel.barriers or 0,
        max_threads_per_block=kernel.max_threads_per_block or 1024,
    )


@lru_cache(maxsize=4096)
def _answer(name: str, launch: Launch, cluster: int | None, is_swept: bool) -> LaunchReport:
    """Kernels of one library are often alike: each answer is reckoned once."""
    sm = architecture(name)
    if is_swept:
        launch = replace(launch, block_size=best_block(sm, launch).block_size or 1)
    return launch_report(sm, LaunchQuestion(launch, cluster_size=cluster))
