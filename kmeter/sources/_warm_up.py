"""Waking the driver and NVML in threads, while the rest of a command is still being imported.

cuInit alone takes from 0.05 s to 0.2 s, in which Python can import everything else.
"""

import ctypes
from threading import Thread

from kmeter.sources import _libcuda, _nvml

_FIRST_CALLS = {
    _libcuda.LIBRARY: ("cuInit", (0,)),
    _nvml.LIBRARY: ("nvmlInit_v2", ()),
}


def warm_up() -> None:
    """Start both; whoever needs one calls it again, waits for it, and sees its errors."""
    for library, (function, arguments) in _FIRST_CALLS.items():
        Thread(target=_call, args=(library, function, arguments), daemon=True).start()


def _call(library: str, function: str, arguments: tuple[int, ...]) -> None:
    try:
        getattr(ctypes.CDLL(library), function)(*arguments)
    except (OSError, AttributeError):
        return
