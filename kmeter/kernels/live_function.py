"""A kernel that lives in this process: what CuPy, Numba or Triton tell of what they compiled.

No framework is imported: only what the function offers is asked.
"""

from collections.abc import Iterator
from typing import Any

from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.launch import WARP_SIZE

_MOST = 2**31


def compiled_kernels(function: Any) -> list[CompiledKernel]:
    """Every kernel that was compiled for a CuPy RawKernel, a Numba dispatcher or a Triton function.

    Empty for any other callable, and before its first call. Raises nothing: what a framework cannot
    tell is unknown.
    """
    for ask in (_of_cupy, _of_triton, _of_numba):
        try:
            found = list(ask(function))
        except Exception:  # another version of the framework, which tells it otherwise
            continue
        if found:
            return found
    return []


def _of_cupy(kernel: Any) -> Iterator[CompiledKernel]:
    """``cupy.RawKernel``, whose attributes are the driver's of the function."""
    if not hasattr(type(kernel), "num_regs") or not hasattr(type(kernel), "shared_size_bytes"):
        return
    yield CompiledKernel(
        name=str(kernel.name),
        registers_per_thread=_count(kernel.num_regs),
        static_shared_bytes=_count(kernel.shared_size_bytes),
        stack_bytes=_count(kernel.local_size_bytes),
        max_threads_per_block=_count(kernel.max_threads_per_block),
        said_by="CuPy",
    )


def _of_triton(function: Any) -> Iterator[CompiledKernel]:
    """``triton.jit``'s function: a kernel for each specialization that was called."""
    caches = getattr(function, "device_caches", None)
    if caches is None:
        return
    for entry in caches.values():
        compiled = entry[0] if isinstance(entry, tuple) else entry
        for kernel in compiled.values():
            said = kernel.metadata
            yield CompiledKernel(
                name=str(said.name),
                architecture=f"sm_{said.target.arch}",
                registers_per_thread=_count(getattr(kernel, "n_regs", None)),
                static_shared_bytes=0,
                dynamic_shared_bytes=_count(said.shared),
                spill_store_bytes=None,
                required_block=(int(said.num_warps) * WARP_SIZE, 1, 1),
                said_by="Triton",
            )


def _of_numba(dispatcher: Any) -> Iterator[CompiledKernel]:
    """``numba.cuda.jit``'s dispatcher: a kernel for each signature that was called."""
    if not hasattr(dispatcher, "get_regs_per_thread"):
        return
    name = str(getattr(dispatcher, "__name__", "kernel"))
    for signature, registers in dispatcher.get_regs_per_thread().items():
        yield CompiledKernel(
            name=name,
            registers_per_thread=_count(registers),
            static_shared_bytes=_count(dispatcher.get_shared_mem_per_block(signature)),
            stack_bytes=_count(dispatcher.get_local_mem_per_thread(signature)),
            max_threads_per_block=_count(dispatcher.get_max_threads_per_block(signature)),
            said_by="Numba",
        )


def _count(value: Any) -> int | None:
    """A count as a framework gives it; None for what is none."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < _MOST else None
