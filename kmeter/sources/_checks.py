"""The checks of ``kmeter doctor``: driver, libraries, permissions, environment."""

import os
import re
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

from kmeter.errors import NoGpuError
from kmeter.model.check import Check
from kmeter.sources import _libcuda, _nvml
from kmeter.sources._libcuda import Libcuda, load, loaded_from, version_text
from kmeter.sources._nvml import Nvml, decoded

VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
KERNEL_VERSION = Path("/proc/driver/nvidia/version")
DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/nvidia0"), Path("/dev/nvidia-uvm"))
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")


def checks() -> list[Check]:
    """Everything that is worth a look, the needed things first."""
    return [
        *_driver(),
        *_nvml_and_versions(),
        *_permissions(),
        *_visible_devices(),
        *_counters(),
        *_packages(),
    ]


# ---- libcuda --------------------------------------------------------------------------------


def _driver() -> Iterator[Check]:
    try:
        library = load()
    except NoGpuError as error:
        yield Check("libcuda", False, error.message, "Install the NVIDIA driver", is_needed=True)
        return
    yield _where(library)
    try:
        driver = Libcuda(library)
        count = driver.device_count()
    except NoGpuError as error:
        yield Check("driver", False, error.message, error.hint, is_needed=True)
        return
    version = driver.driver_version()
    yield Check("driver", True, f"runs CUDA up to {version_text(version)}", is_needed=True)
    says = f"CUDA sees {count}"
    fix = "" if count else f"See {VISIBLE} and nvidia-smi -L"
    yield Check("GPUs", count > 0, says, fix, is_needed=True)


def _where(library: object) -> Check:
    path = loaded_from(_libcuda.LIBRARY) or "somewhere the system does not tell"
    is_stub = "/stubs/" in path
    fix = "Take the toolkit's stubs folder out of LD_LIBRARY_PATH" if is_stub else ""
    says = f"{path} is the toolkit's stub, not the driver" if is_stub else f"loaded from {path}"
    return Check("libcuda", not is_stub, says, fix, is_needed=True)


# ---- NVML -----------------------------------------------------------------------------------


def _nvml_and_versions() -> Iterator[Check]:
    nvml = Nvml()
    if nvml.unavailable:
        says, _, fix = nvml.unavailable.partition(": ")
        yield Check("NVML", False, says, fix or "See kmeter info, which works without")
        return
    text = str(decoded(nvml.read("nvmlSystemGetDriverVersion").value))
    path = loaded_from(_nvml.LIBRARY)
    yield Check("NVML", True, f"driver {text}" + (f", loaded from {path}" if path else ""))
    yield from _versions(text)


def _versions(library: str) -> Iterator[Check]:
    """Whether the kernel module is of the same version as the library."""
    kernel = kernel_version(_read(KERNEL_VERSION))
    if kernel is None:
        return
    says = f"kernel module {kernel}, library {library}"
    fix = "Restart, or reload the kernel module" if kernel != library else ""
    yield Check("versions", kernel == library, says, fix)


def kernel_version(text: str) -> str | None:
    """The driver's version out of /proc/driver/nvidia/version."""
    found = re.search(r"Kernel Module\D*([0-9]+\.[0-9.]+)", text)
    return found[1] if found else None


# ---- environment ----------------------------------------------------------------------------


def _visible_devices() -> Iterator[Check]:
    visible, order = os.environ.get(VISIBLE), os.environ.get(ORDER)
    if visible is not None:
        is_empty = not visible.strip() or visible.strip() == "-1"
        says = f"{VISIBLE}={visible!r}" + (" hides every GPU" if is_empty else "")
        yield Check(VISIBLE, not is_empty, says, f"unset {VISIBLE}" if is_empty else "")
    if order is not None:
        is_known = order in {"PCI_BUS_ID", "FASTEST_FIRST"}
        fix = "" if is_known else "It is PCI_BUS_ID or FASTEST_FIRST"
        yield Check(ORDER, is_known, f"{ORDER}={order!r}", fix)


def _permissions() -> Iterator[Check]:
    """Whether this user may open the driver's device files."""
    files = [path for path in DEVICE_FILES if path.exists()]
    closed = [str(path) for path in files if not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        fix = "Join the group that owns them (ls -l /dev/nvidia*), or start the container with them"
        yield Check("permissions", False, f"no access to {', '.join(closed)}", fix)
    elif files:
        yield Check("permissions", True, f"{', '.join(map(str, files))} can be opened")


def _counters() -> Iterator[Check]:
    """Whether profilers may read the hardware counters without being root."""
    match = re.search(r"RmProfilingAdminOnly: (\d)", _read(DRIVER_PARAMETERS))
    if match is None:
        return
    is_open = match[1] == "0" or _is_root()
    says = "open to everybody" if match[1] == "0" else "only for root"
    fix = "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then restart"
    yield Check("counters", is_open, says, "" if is_open else fix)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


# ---- packages -------------------------------------------------------------------------------


def _packages() -> Iterator[Check]:
    yield _package("nvidia-ml-py", "pynvml", "pip install nvidia-ml-py")
    if _version("pynvml") is not None:
        says = "the deprecated package pynvml shadows nvidia-ml-py"
        yield Check("pynvml", False, says, "pip uninstall pynvml, then reinstall nvidia-ml-py")
    yield _cupy()


def _package(distribution: str, module: str, fix: str) -> Check:
    version = _version(distribution)
    is_there = version is not None and util.find_spec(module) is not None
    return Check(distribution, is_there, version or "missing", "" if is_there else fix)


def _cupy() -> Check:
    for distribution in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        version = _version(distribution)
        if version is not None:
            return Check("CuPy", True, f"{distribution} {version}{_nvrtc()}")
    fix = "pip install 'kmeter[cuda13]' (cuda12 for drivers before 580)"
    return Check("CuPy", False, "missing: what measures a card will need it", fix)


def _nvrtc() -> str:
    names = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu13")
    found = next((name for name in names if _version(name)), None)
    return f", NVRTC {_version(found)}" if found else ", NVRTC not from a package"


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
