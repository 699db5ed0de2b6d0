"""One GPU under CuPy: bounded memory, kernels as functions, launches timed by events."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

from kmeter.measure.compiler import Source, compile_all
from kmeter.measure.instructions import count_instructions
from kmeter.measure.plan import GpuFacts

Launch = Callable[[], Any]
"""Enqueues work on the GPU's stream and returns without waiting."""

_MAX_THREADS_PER_BLOCK = 0
"""CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK."""
_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


class Kernel:
    """A kernel that a call launches: ``kernel(grid, block, (arrays and NumPy scalars))``."""

    def __init__(self, function: Any, name: str, cubin: bytes, stream: Any) -> None:
        self._function, self._name, self._cubin, self._stream = function, name, cubin, stream

    def __call__(self, grid: int, block: int, arguments: Sequence[Any], shared: int = 0) -> None:
        """Launch ``grid`` blocks of ``block`` threads with ``shared`` bytes of dynamic memory."""
        self._function((grid,), (block,), tuple(arguments), shared_mem=shared, stream=self._stream)

    def bind(self, grid: int, block: int, arguments: Sequence[Any], shared: int = 0) -> Launch:
        """The launch for later."""
        return lambda: self(grid, block, arguments, shared)

    def allow_shared(self, size: int) -> None:
        """Let the kernel have as much dynamic shared memory."""
        from cupy_backends.cuda.api import driver

        driver.funcSetAttribute(self._function.ptr, _MAX_DYNAMIC_SHARED, size)

    @property
    def most_threads(self) -> int:
        """The largest block that the registers of the kernel allow."""
        from cupy_backends.cuda.api import driver

        return int(driver.funcGetAttribute(_MAX_THREADS_PER_BLOCK, self._function.ptr))

    @property
    def handle(self) -> int:
        """The CUfunction."""
        return int(self._function.ptr)

    def instructions(self, name: str) -> int:
        """How often an instruction stands in the compiled code."""
        return count_instructions(self._cubin, self._name)[name]


class Program:
    """A loaded cubin; ``program["kernel"]`` is a kernel of it."""

    def __init__(self, cubin: bytes, stream: Any) -> None:
        from cupy.cuda.function import Module

        self._cubin, self._stream = cubin, stream
        self._module = Module()
        self._module.load(cubin)

    def __getitem__(self, name: str) -> Kernel:
        return Kernel(self._module.get_function(name), name, self._cubin, self._stream)


class Gpu:
    """The GPU that a run measures; ``facts`` and ``planned_bytes`` bound what it may take."""

    def __init__(self, facts: GpuFacts, planned_bytes: int) -> None:
        """Take the current device of CuPy."""
        import cupy

        self.facts, self.planned_bytes = facts, planned_bytes
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        cupy.cuda.set_allocator(self._allocate)
        self._programs: dict[Source, Program] = {}
        self._most = 0

    # ---- memory -----------------------------------------------------------------------------

    def _allocate(self, size: int) -> Any:
        """Plain memory, given back with its last array: a pool would hide how much is in use."""
        import cupy

        if self._taken() + size > self.planned_bytes:
            raise cupy.cuda.memory.OutOfMemoryError(size, self._taken(), self.planned_bytes)
        pointer = cupy.cuda.MemoryPointer(cupy.cuda.Memory(size), 0)
        self.note_memory()
        return pointer

    def _taken(self) -> int:
        """Bytes that are no longer free since the start, libraries and loaded code included."""
        from cupy.cuda import runtime

        return int(self.facts.free_bytes - runtime.memGetInfo()[0])

    def empty(self, size: int, dtype: str = "u1") -> Any:
        """``size`` elements of device memory, uninitialised."""
        import cupy

        return cupy.empty(size, dtype)

    def zeros(self, size: int, dtype: str) -> Any:
        """``size`` elements, zero: for results, never for data."""
        array = self.empty(size, dtype)
        array.fill(0)
        return array

    def put(self, array: Any) -> Any:
        """A NumPy array on the device."""
        import numpy as np

        copy = self.empty(array.size, array.dtype.str).reshape(array.shape)
        copy.set(np.ascontiguousarray(array), stream=self.stream)
        self.stream.synchronize()
        return copy

    def release(self) -> None:
        """Wait for what was launched, and give back what only a cycle of references holds."""
        self.stream.synchronize()
        gc.collect()

    def note_memory(self) -> None:
        """Remember how much is taken now."""
        self._most = max(self._most, self._taken())

    @property
    def peak_bytes(self) -> int:
        """The most device memory that was taken since the start, by whoever took it."""
        return self._most

    # ---- kernels ----------------------------------------------------------------------------

    def program(self, file: str, **constants: int) -> Program:
        """A kernel file compiled with these constants."""
        return self.programs([Source.of(file, constants)])[0]

    def programs(self, sources: Sequence[Source]) -> list[Program]:
        """Several of them, compiled side by side."""
        missing = [source for source in dict.fromkeys(sources) if source not in self._programs]
        cubins = compile_all(missing, self.facts.compute_capability)
        for source, cubin in zip(missing, cubins, strict=True):
            self._programs[source] = Program(cubin, self.stream)
        return [self._programs[source] for source in sources]

    # ---- time -------------------------------------------------------------------------------

    def seconds(self, launch: Launch, times: int = 1, *, lead: Launch | None = None) -> float:
        """Seconds of one launch, of ``times`` back to back between two events behind ``lead``."""
        import cupy

        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        if lead:
            lead()
        start.record(self.stream)
        for _ in range(times):
            launch()
        end.record(self.stream)
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3 / times

    def synchronize(self) -> None:
        """Wait for everything that was launched; raises what went wrong in it."""
        self.stream.synchronize()
