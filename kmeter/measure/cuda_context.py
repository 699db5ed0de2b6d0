"""The driver API on a context: streams, events, memory, kernels and graphs, through ctypes.

The context is the device's primary one, which CUDA's runtime and every framework on it share. No
toolkit and no framework is needed. Each method is one call of the driver, checked.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from kmeter.errors import ExitCode, KmeterError
from kmeter.sources._libcuda import SUCCESS, Libcuda, load

OUT_OF_MEMORY = 2
_STICKY = frozenset({
    214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999,
})  # fmt: skip
"""CUresult values after which a context can do nothing more: an illegal address, a failed
assertion, a hang's end, an uncorrectable ECC error, a destroyed context."""

IN_WORDS = {
    2: "out of memory",
    214: "uncorrectable ECC error",
    700: "illegal memory access",
    702: "launch timed out",
    710: "device-side assertion failed",
    714: "hardware stack error",
    715: "illegal instruction",
    716: "misaligned address",
    717: "invalid address space",
    718: "invalid program counter",
    719: "unspecified launch failure",
    900: "the call is not allowed while a stream is captured",
    901: "the capture was invalidated",
}

RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: other calls may go on while a stream is captured."""
_PERSISTING_L2_LIMIT = 6
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE."""
_NON_BLOCKING = 1
_MAPPED = 2

Handle = int


class CudaError(KmeterError):
    """A call that the driver refused."""

    exit_code = ExitCode.GATE_FAILED

    def __init__(self, function: str, code: int, name: str) -> None:
        super().__init__(f"{IN_WORDS.get(code, name)} ({function}: {name})")
        self.code = code

    @property
    def is_sticky(self) -> bool:
        """Whether the context is lost."""
        return self.code in _STICKY


class CudaContext:
    """The primary context of one device, current in the thread that made it."""

    def __init__(self, ordinal: int, lib: Any = None) -> None:
        """Raises NoGpuError without a driver or a GPU of that number."""
        self._lib = lib if lib is not None else load()
        driver = Libcuda(self._lib)
        self._name_of = driver.error_name
        self.device = driver.device(ordinal)
        handle = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), self.device)
        self._handle = handle
        self.make_current()

    def _call(self, function: str, *arguments: object) -> None:
        code = self._code(function, *arguments)
        if code != SUCCESS:
            raise CudaError(function, code, self._name_of(code))

    def _code(self, function: str, *arguments: object) -> int:
        return int(getattr(self._lib, function)(*arguments))

    def _made(self, function: str, *arguments: object) -> Handle:
        """The handle that a call gives through its first argument."""
        handle = ctypes.c_void_p()
        self._call(function, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def make_current(self) -> None:
        """A framework may have made another context current."""
        self._call("cuCtxSetCurrent", self._handle)

    def synchronize(self) -> None:
        """Wait for everything on the device; raises CudaError for what went wrong in it."""
        self._call("cuCtxSynchronize")

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute."""
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def persisting_l2_bytes(self) -> int:
        """How much of L2 lines may be marked to stay in; 0 where nothing was set aside."""
        limit = ctypes.c_size_t()
        if self._code("cuCtxGetLimit", ctypes.byref(limit), _PERSISTING_L2_LIMIT) != SUCCESS:
            return 0
        return limit.value

    def reset_persisting_l2(self) -> bool:
        """Make lines that were marked to stay in L2 ordinary ones; False where it has none."""
        if not hasattr(self._lib, "cuCtxResetPersistingL2Cache"):
            return False
        return self._code("cuCtxResetPersistingL2Cache") == SUCCESS

    # ---- memory ---------------------------------------------------------------------------

    def free_share(self) -> float:
        """How much of the device's memory nobody holds, a fraction."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value / total.value if total.value else 0.0

    def allocate(self, size_bytes: int) -> Handle:
        """Device memory, to be freed with ``free``."""
        return self._made("cuMemAlloc_v2", ctypes.c_size_t(size_bytes))

    def free(self, pointer: Handle) -> None:
        self._call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def allocate_mapped(self, size_bytes: int) -> tuple[Handle, Handle]:
        """Host memory that the device sees: its address here, and there."""
        host = self._made("cuMemHostAlloc", ctypes.c_size_t(size_bytes), _MAPPED)
        device = self._made("cuMemHostGetDevicePointer_v2", ctypes.c_void_p(host), 0)
        return host, device

    def free_mapped(self, host: Handle) -> None:
        self._call("cuMemFreeHost", ctypes.c_void_p(host))

    def fill(self, pointer: Handle, value: int, size_bytes: int, stream: Handle) -> None:
        """Set every byte, in the order of the stream."""
        self._call(
            "cuMemsetD8Async", ctypes.c_uint64(pointer), ctypes.c_ubyte(value),
            ctypes.c_size_t(size_bytes), ctypes.c_void_p(stream),
        )  # fmt: skip

    def copy_to_host(self, target: Any, source: Handle, size_bytes: int) -> None:
        """Device to host; returns when it is done. ``target`` is a ctypes buffer or pointer."""
        self._call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(source), ctypes.c_size_t(size_bytes))

    def copy_on_device(self, target: Handle, source: Handle, size_bytes: int) -> None:
        """Device to device, ended before this returns."""
        self._call(
            "cuMemcpyDtoD_v2", ctypes.c_uint64(target), ctypes.c_uint64(source),
            ctypes.c_size_t(size_bytes),
        )  # fmt: skip
        self.synchronize()

    # ---- streams and events ---------------------------------------------------------------

    def new_stream(self) -> Handle:
        """One that does not wait for the legacy default stream."""
        return self._made("cuStreamCreate", _NON_BLOCKING)

    def destroy_stream(self, stream: Handle) -> None:
        self._call("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def wait_for_stream(self, stream: Handle) -> None:
        """Wait for what was given to one stream."""
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def new_event(self) -> Handle:
        """One that keeps its time."""
        return self._made("cuEventCreate", 0)

    def destroy_event(self, event: Handle) -> None:
        self._call("cuEventDestroy_v2", ctypes.c_void_p(event))

    def record(self, event: Handle, stream: Handle) -> None:
        """Note the time when the stream comes to this place."""
        self._call("cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait_for_event(self, event: Handle) -> None:
        self._call("cuEventSynchronize", ctypes.c_void_p(event))

    def seconds_between(self, start: Handle, end: Handle) -> float:
        """Both events have passed; the driver's resolution is about half a microsecond or finer."""
        milliseconds = ctypes.c_float()
        function = "cuEventElapsedTime"
        if hasattr(self._lib, "cuEventElapsedTime_v2"):
            function = "cuEventElapsedTime_v2"
        self._call(
            function, ctypes.byref(milliseconds), ctypes.c_void_p(start), ctypes.c_void_p(end)
        )
        return milliseconds.value * 1e-3

    # ---- kernels --------------------------------------------------------------------------

    def load_module(self, ptx: bytes) -> Handle:
        """A module of PTX text, compiled by the driver for this device."""
        return self._made("cuModuleLoadData", ctypes.c_char_p(ptx))

    def function(self, module: Handle, name: str) -> Handle:
        """A kernel of a module."""
        return self._made("cuModuleGetFunction", ctypes.c_void_p(module), name.encode())

    def launch(
        self, function: Handle, grid: int, block: int, arguments: Sequence[Any], stream: Handle
    ) -> None:
        """A one-dimensional grid; ``arguments`` are ctypes values."""
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        self._call(
            "cuLaunchKernel", ctypes.c_void_p(function), grid, 1, 1, block, 1, 1, 0,
            ctypes.c_void_p(stream), pointers, None,
        )  # fmt: skip

    # ---- graphs ---------------------------------------------------------------------------

    def capture(self, stream: Handle, work: Callable[[], object]) -> Handle:
        """The graph of what ``work`` gives to the stream; nothing of it runs.

        The capture ends whatever ``work`` does; what it raises is raised on.
        """
        self._call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), RELAXED)
        graph = ctypes.c_void_p()
        try:
            work()
        except BaseException:
            self._code("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
            raise
        self._call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        return graph.value or 0

    def node_count(self, graph: Handle) -> int:
        """How many kernels, copies and fills a graph has."""
        count = ctypes.c_size_t()
        self._call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
        return count.value

    def instantiate(self, graph: Handle) -> Handle:
        """A graph that can be launched."""
        return self._made("cuGraphInstantiateWithFlags", ctypes.c_void_p(graph), ctypes.c_uint64(0))

    def launch_graph(self, executable: Handle, stream: Handle) -> None:
        self._call("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))

    def destroy_graph(self, graph: Handle) -> None:
        self._call("cuGraphDestroy", ctypes.c_void_p(graph))

    def destroy_executable(self, executable: Handle) -> None:
        self._call("cuGraphExecDestroy", ctypes.c_void_p(executable))
