"""What a GPU's surroundings and its memory may have to do with its speed: host, neighbours, ECC errors."""

import os
import socket
from collections.abc import Sequence
from typing import Any

from kmeter.sources._nvml import Nvml
from kmeter.units import printable


def host_name() -> str:
    """The machine's name, or KMETER_HOST where a container has another one than its node."""
    return printable(os.environ.get("KMETER_HOST") or socket.gethostname())


def uncorrected_errors(nvml: Nvml, handle: Any) -> int | None:
    """ECC errors since the driver was loaded that could not be corrected; None where nobody counts."""
    if handle is None:
        return None
    kinds = ("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC")
    constants = (nvml.constant(kind) for kind in kinds)
    counted: int | None = nvml.read("nvmlDeviceGetTotalEccErrors", handle, *constants).value
    return counted


def neighbours(nvml: Nvml, handle: Any) -> Sequence[Any] | None:
    """NVML's handles of the host's other GPUs; None where it does not know this one."""
    own = None if handle is None else nvml.read("nvmlDeviceGetIndex", handle).value
    count = nvml.read("nvmlDeviceGetCount").value
    if own is None or count is None:
        return None
    others = (nvml.read("nvmlDeviceGetHandleByIndex", n) for n in range(count) if n != own)
    return [other.value for other in others if other.value is not None]
