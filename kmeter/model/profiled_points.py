"""Profiled kernels as points of a roofline: one for each precision, and each memory whose bytes are counted."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.model.profiled_kernel import PRECISIONS, ProfiledKernel
from kmeter.model.roofline import DRAM, KernelPoint, Placed, Roofline
from kmeter.units import quoted

LEVELS = (DRAM, "L2", "L1")


class ProfiledPoints(NamedTuple):
    """What can be placed, and what cannot, with its reason."""

    placed: list[Placed]
    remarks: list[str]


def units_of(kernels: Sequence[ProfiledKernel]) -> tuple[str, ...]:
    """The precisions that anything computes in, the one with the most FLOP first."""
    total = {
        p: sum(kernel.flop.get(p, 0.0) * kernel.launches for kernel in kernels) for p in PRECISIONS
    }
    return tuple(sorted((p for p in PRECISIONS if total[p] > 0), key=lambda p: -total[p]))


def profiled_points(line: Roofline, kernels: Sequence[ProfiledKernel]) -> ProfiledPoints:
    """Every kernel under the roofs of its own precision and memory."""
    placed: list[Placed] = []
    remarks: dict[str, list[str]] = {}
    for kernel in kernels:
        for remark in _remarks(kernel, line):
            remarks.setdefault(remark, []).append(kernel.name)
        for point in _points(kernel):
            try:
                placed.append(line.place(point))
            except UsageError as error:
                remarks.setdefault(f"points by {point.level} are left out: {error}", [])
    return ProfiledPoints(placed, [_with_names(*item) for item in remarks.items()])


def _with_names(remark: str, names: Sequence[str]) -> str:
    """What is said of kernels, and which."""
    if not names:
        return remark
    first = quoted(names[0]) if len(names) == 1 else f"{quoted(names[0])} and {len(names) - 1} more"
    return f"{first}: {remark}"


def _points(kernel: ProfiledKernel) -> Iterator[KernelPoint]:
    seconds = kernel.seconds
    counted = {p: kernel.flop[p] for p in PRECISIONS if kernel.flop.get(p)}
    moved = _bytes_of(kernel)
    if not seconds or not kernel.is_even:
        return
    for unit, flop in counted.items():
        for level, amount in moved.items():
            tags = [unit] * (len(counted) > 1) + [level] * (len(moved) > 1)
            name = f"{kernel.name} ({', '.join(tags)})" if tags else kernel.name
            yield KernelPoint.timed(name, flop, amount, seconds, level=level, unit=unit)


def _bytes_of(kernel: ProfiledKernel) -> dict[str, float]:
    amounts = (kernel.dram_bytes, kernel.l2_bytes, kernel.l1_bytes)
    return {level: amount for level, amount in zip(LEVELS, amounts, strict=True) if amount}


def _remarks(kernel: ProfiledKernel, line: Roofline) -> Iterator[str]:
    """What is worth knowing of it, and why it is no point."""
    if not kernel.is_even:
        yield "it is no point: its launches were counted differently, or on different GPUs"
    elif not any(_points(kernel)):
        yield "it is no point: that takes a time, FLOP and bytes above 0"
    own = kernel.compute_capability
    if own and line.device.compute_capability and own != line.device.compute_capability:
        yield f"it ran on compute capability {own}, and these are the roofs of {line.device.name}"
    yield from kernel.notes
    if kernel.tensor_instructions:
        yield (
            "its tensor cores' work is counted in instructions, whose FLOP differ from GPU to GPU: "
            "it is in no point"
        )
