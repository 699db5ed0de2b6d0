"""Host memory for what comes from a GPU: page-locked, and given out again when nobody looks at it.

A copy into ordinary memory goes through the driver's own buffers and touches each page for the first
time: 8 MiB take an H200 4 ms that way.
"""

import ctypes
import weakref
from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import CudaContext, Handle

LEAST_BYTES = 2**16
"""Below it ordinary memory is as fast."""
MOST_BYTES = 2**28
"""Of page-locked memory in all: the system can use no page of it for anything else."""


class HostMemory:
    """Page-locked stretches of one context."""

    def __init__(self, context: CudaContext, most_bytes: int = MOST_BYTES) -> None:
        self._context, self._most_bytes = context, most_bytes
        self._taken_bytes = 0
        self._idle: list[tuple[int, Handle]] = []
        """Sizes and addresses of those that nobody looks at."""

    def array(self, size_bytes: int) -> NDArray[numpy.uint8]:
        """Bytes of any content, page-locked where they are worth it and can be had."""
        if LEAST_BYTES <= size_bytes <= self._most_bytes:
            found = self._fitting(size_bytes) or self._fresh(size_bytes)
            if found is not None:
                return self._lent(*found, size_bytes)
        return numpy.empty(size_bytes, numpy.uint8)

    def _fitting(self, size_bytes: int) -> tuple[int, Handle] | None:
        """The smallest idle one that is large enough and at most twice as large."""
        fitting = [item for item in self._idle if size_bytes <= item[0] <= 2 * size_bytes]
        if not fitting:
            return None
        self._idle.remove(min(fitting))
        return min(fitting)

    def _fresh(self, size_bytes: int) -> tuple[int, Handle] | None:
        if self._taken_bytes + size_bytes > self._most_bytes:
            self._free_idle()
        if self._taken_bytes + size_bytes > self._most_bytes:
            return None
        try:
            address, _ = self._context.allocate_mapped(size_bytes)
        except KmeterError:
            return None
        self._taken_bytes += size_bytes
        return size_bytes, address

    def _free_idle(self) -> None:
        while self._idle:
            size_bytes, address = self._idle.pop()
            self._context.free_mapped(address)
            self._taken_bytes -= size_bytes

    def _lent(self, held_bytes: int, address: Handle, size_bytes: int) -> NDArray[numpy.uint8]:
        """An array over it; the stretch is idle again when the last view of that array is gone."""
        memory: Any = (ctypes.c_uint8 * size_bytes).from_address(address)
        weakref.finalize(memory, self._idle.append, (held_bytes, address)).atexit = False
        return numpy.frombuffer(memory, numpy.uint8)


@lru_cache(maxsize=1)
def host_memory(context: CudaContext) -> HostMemory:
    """The context's."""
    return HostMemory(context)
