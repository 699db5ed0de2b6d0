"""The KiB of shared memory that CUDA keeps for itself in every block from 9.0 on, as tools count it."""

import re

from kmeter.model.compiled_kernel import CompiledKernel

RESERVED_BYTES = 1024
LARGEST = 2**31 - 1
"""Of any number that a compiler says of a kernel; what is larger is none."""
_NAME = re.compile(r"(?:[a-z]+_)?([0-9]{1,3})\.?([0-9])?[a-z]?", re.IGNORECASE)


def generation(architecture: str | None) -> int | None:
    """``sm_90a`` and ``9.0`` are 90; None for what names no architecture."""
    match = _NAME.fullmatch(architecture or "")
    return int(match[1] + (match[2] or "")) if match else None


def without_reserve(shared_bytes: int | None) -> int | None:
    """What a kernel declared, of a size that has the reserve in it where there is any."""
    if shared_bytes is None or shared_bytes < RESERVED_BYTES:
        return shared_bytes
    return shared_bytes - RESERVED_BYTES


def number(digits: str | None) -> int | None:
    """A number of a text, None for one that nothing can have."""
    if digits is None or len(digits) > 10:
        return None
    value = int(digits)
    return value if value <= LARGEST else None


def with_unknown_reserve(kernel: CompiledKernel, where: str, way_out: str = "") -> CompiledKernel:
    """A kernel whose shared memory may have the reserve in it, or not."""
    size = kernel.static_shared_bytes
    if size is None or size < RESERVED_BYTES:
        return kernel
    note = f"{size} bytes of shared memory, of which {RESERVED_BYTES} are CUDA's own {where}"
    return kernel._replace(static_shared_bytes=None, note=f"{note}{way_out}")
