"""Whether two stretches of a GPU's memory are equal, told by the GPU: nothing of them is copied."""

import ctypes
from functools import lru_cache

from kmeter.measure.cuda_context import CudaContext, Handle
from kmeter.measure.engines.kernels import engine_kernels

_GRID, _BLOCK = 1024, 256


class _Flag:
    """A word that the GPU writes and the host reads."""

    def __init__(self, context: CudaContext) -> None:
        host, self.on_device = context.allocate_mapped(ctypes.sizeof(ctypes.c_uint))
        self.word = ctypes.c_uint.from_address(host)


@lru_cache(maxsize=1)
def _flag(context: CudaContext) -> _Flag:
    return _Flag(context)


def same_on_device(context: CudaContext, one: Handle, other: Handle, size_bytes: int) -> bool:
    """Whether both addresses hold the same bytes, after everything given to the GPU so far.

    Raises CudaError.
    """
    flag = _flag(context)
    context.synchronize()
    flag.word.value = 0
    engine_kernels(context).launch(
        "compare", ctypes.c_uint64(one), ctypes.c_uint64(other), ctypes.c_uint64(size_bytes),
        ctypes.c_uint64(flag.on_device), stream=0, grid=_GRID, block=_BLOCK,
    )  # fmt: skip
    context.synchronize()
    return not flag.word.value
