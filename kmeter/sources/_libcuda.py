"""The CUDA driver API through ctypes: it loads, calls and checks, and has no opinions.

No context is created: everything here may be asked of a driver that was only initialised.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any

from kmeter.errors import NoGpuError

SUCCESS, INVALID_VALUE, NO_DEVICE = 0, 1, 100
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

ATTRIBUTES_ASKED = range(1, 301)
"""Well past the newest attribute that cuda.h names (161 in CUDA 13.5)."""
_GIVE_UP_AFTER = 64
"""Unknown ids in a row after which the rest is not asked any more."""

_WAY_OUT = {
    NO_DEVICE: "No GPU is visible: see CUDA_VISIBLE_DEVICES and nvidia-smi -L",
    34: "This is the stub of the CUDA toolkit; install the driver, or take the stub's folder out "
    "of LD_LIBRARY_PATH",
    46: "Another process holds the GPU; end it, or change its compute mode",
    101: "There is no GPU of that number: kmeter devices lists them",
    802: "The fabric manager is not ready: start nvidia-fabricmanager",
    803: "Driver and libcuda do not match: restart after the driver's update, or mount the host's "
    "libcuda into the container",
    804: "This forward-compatible libcuda does not support the card: remove the cuda-compat package",
    999: "The kernel module does not answer: try sudo modprobe nvidia_uvm, then see dmesg",
}


_WITHOUT_A_GPU = "Without a GPU, name a card: -d h100-sxm"


class DriverCallError(NoGpuError):
    """A call that the driver refused, by the driver's own name for it."""

    def __init__(self, function: str, code: int, name: str) -> None:
        super().__init__(f"{function} failed: {name}", _way_out(code))
        self.code = code


def _way_out(code: int) -> str:
    return f"{_WAY_OUT[code]}. {_WITHOUT_A_GPU}" if code in _WAY_OUT else _WITHOUT_A_GPU


class Libcuda:
    """An initialised driver. ``lib`` seats another library, which tests do."""

    def __init__(self, lib: Any = None) -> None:
        self._lib = lib if lib is not None else load()
        self._call("cuInit", 0)

    def _call(self, function: str, *arguments: object) -> None:
        code = self._try(function, *arguments)
        if code != SUCCESS:
            raise DriverCallError(function, code, self.error_name(code))

    def _try(self, function: str, *arguments: object) -> int:
        return int(getattr(self._lib, function)(*arguments))

    def error_name(self, code: int) -> str:
        """``CUDA_ERROR_NO_DEVICE``, or the number where the driver has no name for it."""
        name = ctypes.c_char_p()
        if self._try("cuGetErrorName", code, ctypes.byref(name)) != SUCCESS or not name.value:
            return f"error {code}"
        return name.value.decode("ascii", "replace")

    def driver_version(self) -> int:
        """The newest CUDA that the driver runs, as 13000 for 13.0."""
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def device_count(self) -> int:
        """GPUs visible to this process."""
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def device(self, ordinal: int) -> int:
        """The driver's handle of the GPU with this ordinal."""
        handle = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(handle), ordinal)
        return handle.value

    def name(self, device: int) -> str:
        """The product name."""
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, len(text), device)
        return text.value.decode("utf-8", "replace")

    def total_memory_bytes(self, device: int) -> int:
        """Memory of the GPU, bytes; an integrated GPU says the host's."""
        total = ctypes.c_size_t()
        self._call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        return total.value

    def uuid(self, device: int) -> str | None:
        """``GPU-…``, or of a MIG slice ``MIG-…``; None where the driver is too old to say."""
        raw = (ctypes.c_ubyte * 16)()
        for function in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"):
            if not hasattr(self._lib, function):
                continue
            if self._try(function, ctypes.byref(raw), device) == SUCCESS:
                return uuid_text(bytes(raw))
        return None

    def pci_bus_id(self, device: int) -> str | None:
        """``0000:65:00.0``, lower case; None where there is no PCI device."""
        text = ctypes.create_string_buffer(32)
        if self._try("cuDeviceGetPCIBusId", text, len(text), device) != SUCCESS:
            return None
        return text.value.decode("ascii", "replace").lower()

    def attributes(self, device: int) -> dict[int, int]:
        """Every attribute that answers, by id; also the ids that no header names yet."""
        return dict(self._attributes(device))

    def _attributes(self, device: int) -> Iterator[tuple[int, int]]:
        value = ctypes.c_int()
        unknown = 0
        for attribute in ATTRIBUTES_ASKED:
            code = self._try("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            if code == SUCCESS:
                unknown = 0
                yield attribute, value.value
                continue
            unknown += 1
            if unknown == _GIVE_UP_AFTER:
                return


def version_text(version: int) -> str:
    """``13000`` → ``13.0``."""
    return f"{version // 1000}.{version % 1000 // 10}"


def uuid_text(raw: bytes) -> str:
    """The 16 bytes of a UUID as ``GPU-xxxxxxxx-xxxx-…``."""
    digits = raw.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "GPU-" + "-".join(parts)


def load() -> ctypes.CDLL:
    """The driver's library, from where the system's loader finds it.

    Raises NoGpuError where there is none.
    """
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        raise NoGpuError(
            f"{LIBRARY} is not on this machine: no NVIDIA driver is installed",
            _WITHOUT_A_GPU,
        ) from None


def loaded_from(name: str = LIBRARY) -> str | None:
    """The file that a loaded library came from; None where the system does not tell."""
    maps = "/proc/self/maps"
    if not os.path.exists(maps):  # noqa: PTH110 - pathlib would be the only use of it here
        return None
    stem = name.split(".so", maxsplit=1)[0]
    with open(maps, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
        for line in lines:
            path = line.rsplit(maxsplit=1)[-1]
            if os.path.basename(path).startswith(stem):  # noqa: PTH119
                return path
    return None
