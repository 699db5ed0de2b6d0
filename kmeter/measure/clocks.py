"""Locked clocks: the SM clock held at one value, and given back on every way out."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from kmeter.errors import UsageError
from kmeter.sources._nvml import Nvml

MHZ = 1e6


@contextmanager
def locked_clocks(nvml: Nvml, handle: Any, sm_clock_hz: float) -> Iterator[None]:
    """Hold the SM clock while the block runs; SIGTERM and SIGHUP end it like Ctrl-C does.

    Raises UsageError where NVML does not let this user lock clocks.
    """
    mhz = round(sm_clock_hz / MHZ)
    locked = nvml.read("nvmlDeviceSetGpuLockedClocks", handle, mhz, mhz)
    if locked.reason:
        raise UsageError(
            f"the clocks cannot be locked: {locked.reason}", "Run as root, or without --lock-clocks"
        )
    handlers = {number: signal.signal(number, _interrupt) for number in _ENDING}
    try:
        yield
    finally:
        given_back = nvml.read("nvmlDeviceResetGpuLockedClocks", handle)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if given_back.reason:
            raise UsageError(
                f"the clocks are still locked: {given_back.reason}", "Run nvidia-smi -rgc"
            )


_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
