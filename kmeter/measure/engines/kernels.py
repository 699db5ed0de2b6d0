"""The engines' own kernels on the GPU, and a gate that holds a stream back."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from typing import Any

from kmeter.measure.cuda_context import CudaContext, Handle

PREFIX = "kmeter_"
"""Of every kernel's name, so that none is taken for a user's."""
HOLD_S = 0.2
"""A gate that nobody opens for so long opens itself: the work behind it waits for the GPU."""


class EngineKernels:
    """The kernels of kernels.ptx, loaded into a context."""

    def __init__(self, context: CudaContext) -> None:
        self.context = context
        ptx = files(__package__).joinpath("kernels.ptx").read_bytes()
        self._module = context.load_module(ptx + b"\0")
        self._functions: dict[str, Handle] = {}
        self._load_all()

    def _load_all(self) -> None:
        """Run each once: a driver that loads lazily waits for the GPU at a kernel's first launch."""
        nothing = ctypes.c_uint64(0)
        self.launch("nothing", stream=0)
        self.launch("read_all", nothing, nothing, nothing, stream=0)
        self.context.synchronize()

    def launch(
        self,
        name: str,
        *arguments: Any,
        stream: Handle,
        grid: int = 1,
        block: int = 1,
    ) -> None:
        """Give a kernel to a stream, by its name without the prefix."""
        if name not in self._functions:
            self._functions[name] = self.context.function(self._module, PREFIX + name)
        self.context.launch(self._functions[name], grid, block, arguments, stream)


@lru_cache(maxsize=1)
def engine_kernels(context: CudaContext) -> EngineKernels:
    """The kernels in this context, loaded once; raises CudaError."""
    return EngineKernels(context)


class Gate:
    """Holds a stream back while the host launches work into it, so that no launch is in the time."""

    def __init__(self, kernels: EngineKernels) -> None:
        self._kernels, self._context = kernels, kernels.context
        self._host, self._device = self._context.allocate_mapped(8)
        self._released = ctypes.c_uint.from_address(self._host)
        self._gave_up = ctypes.c_uint.from_address(self._host + 4)
        self._released.value = self._gave_up.value = 0
        self._ticket = 0
        self._close_until(0, stream=0)  # loads the kernel; the gate is open already
        self._context.synchronize()

    def _close_until(self, ticket: int, stream: Handle) -> None:
        self._kernels.launch(
            "hold", ctypes.c_uint64(self._device), ctypes.c_uint(ticket),
            ctypes.c_uint64(round(HOLD_S * 1e9)), ctypes.c_uint64(self._device + 4),
            stream=stream,
        )  # fmt: skip

    @property
    def opened_itself(self) -> bool:
        """Whether work behind the gate waited for the GPU: it cannot be held back."""
        return bool(self._gave_up.value)

    @contextmanager
    def held(self, stream: Handle) -> Iterator[None]:
        """What the block launches into the stream begins when the block ends."""
        if self.opened_itself:
            yield
            return
        self._ticket += 1
        self._close_until(self._ticket, stream)
        try:
            yield
        finally:
            self._released.value = self._ticket

    def close(self) -> None:
        """Open it for good."""
        self._released.value = 0xFFFFFFFF
        self._context.synchronize()
        self._context.free_mapped(self._host)
