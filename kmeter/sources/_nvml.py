"""NVML through pynvml (nvidia-ml-py), where every field is a value or the reason why not.

NVML answers NotSupported field by field, can lose a GPU in the middle of a run and can hang in
the driver, so each call has its own verdict and its own time limit.
"""

import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
CALL_LIMIT_S = 2.0
HANGS_ENDURED = 2
"""After so many calls that did not return, NVML is not asked any more."""

_REASONS = {
    "NVMLError_NotSupported": "not supported",
    "NVMLError_NoPermission": "no permission",
    "NVMLError_GpuIsLost": "GPU lost",
    "NVMLError_FunctionNotFound": "the driver does not know this function",
    "NVMLError_Timeout": "timed out",
    "NVMLError_NotFound": "not found",
    "NVMLError_InvalidArgument": "not supported",
    "NVMLError_IrqIssue": "interrupts do not arrive",
    "NVMLError_ResetRequired": "the GPU needs a reset",
    "NVMLError_InUse": "in use",
    "NVMLError_NotReady": "not ready",
}

NO_NVML = "no NVML"
GPU_LOST = _REASONS["NVMLError_GpuIsLost"]

_START_WAYS_OUT = {
    "NVMLError_LibraryNotFound": "libnvidia-ml.so.1 is missing: install the driver's compute "
    "utilities (libnvidia-compute), or run the container with the utility capability",
    "NVMLError_LibRmVersionMismatch": "the driver in the kernel and libnvidia-ml differ in "
    "version: restart, or reload the kernel module",
    "NVMLError_DriverNotLoaded": "the kernel module is not loaded: try sudo modprobe nvidia",
    "NVMLError_NoPermission": "no permission on /dev/nvidiactl",
}


class Reading(NamedTuple):
    """What one call gave: a value, or None and the reason."""

    value: Any = None
    reason: str = ""


class Nvml:
    """NVML, or the reason why there is none; a call never raises and never hangs."""

    def __init__(self, call_limit_s: float = CALL_LIMIT_S) -> None:
        self._limit_s = call_limit_s
        self._hangs = 0
        self._worker = _Worker()
        self._module, self.unavailable = self._start()

    def _start(self) -> tuple[Any, str]:
        try:
            import pynvml
        except ImportError:
            return None, "pynvml is missing: pip install nvidia-ml-py"
        started = self._timed(pynvml.nvmlInit)
        return (None, started.reason) if started.reason else (pynvml, "")

    def read(self, function: str, *arguments: Any) -> Reading:
        """Call ``function`` of NVML; a value or a reason."""
        if self._module is None:
            return Reading(reason=NO_NVML)
        call = getattr(self._module, function, None)
        if call is None:
            return Reading(reason="this pynvml does not know the function")
        return self._timed(lambda: call(*arguments))

    def constant(self, name: str) -> int:
        """A number of nvml.h by its name."""
        return int(getattr(self._module, name))

    def _timed(self, call: Callable[[], Any]) -> Reading:
        if self._hangs > HANGS_ENDURED:
            return Reading(reason="timed out")
        try:
            return self._worker.run(call, self._limit_s)
        except TimeoutError:
            self._hangs += 1
            self._worker = _Worker()
            return Reading(reason="timed out")


def reason_of(error: Exception) -> str:
    """Why NVML has no value, in the words that every view shows."""
    name = type(error).__name__
    if name in _START_WAYS_OUT and name not in _REASONS:
        return _START_WAYS_OUT[name]
    return _REASONS.get(name) or str(error) or name


def decoded(text: str | bytes | None) -> str | None:
    """A text of NVML's: bytes or str, as the version of pynvml has it."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


class _Worker:
    """One daemon thread that makes the calls; left behind with a call that does not return."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self._readings: SimpleQueue[Reading] = SimpleQueue()
        threading.Thread(target=self._serve, name="nvml", daemon=True).start()

    def run(self, call: Callable[[], Any], limit_s: float) -> Reading:
        self._calls.put(call)
        try:
            return self._readings.get(timeout=limit_s)
        except Empty:
            raise TimeoutError from None

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            try:
                self._readings.put(Reading(call()))
            except Exception as error:
                self._readings.put(Reading(reason=reason_of(error)))
