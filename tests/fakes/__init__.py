"""A CUDA driver and an NVML as real shared libraries, built from C by the tests.

Each answers what a text file says, so that ctypes and pynvml load and call something real.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARIES = {"libcuda.so.1": "libcuda.c", "libnvidia-ml.so.1": "libnvml.c"}

NVML_DEFAULTS = {
    "nvmlDeviceGetBrand": "14",
    "nvmlDeviceGetClockInfo:1": "345",
    "nvmlDeviceGetClockInfo:2": "1593",
    "nvmlDeviceGetMaxClockInfo:1": "1410",
    "nvmlDeviceGetMaxClockInfo:2": "1593",
    "nvmlDeviceGetMemoryBusWidth": "5120",
    "nvmlDeviceGetPowerUsage": "62000",
    "nvmlDeviceGetEnforcedPowerLimit": "400000",
    "nvmlDeviceGetTemperature:0": "31",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "1",
    "nvmlDeviceGetPerformanceState": "0",
    "nvmlDeviceGetCurrPcieLinkGeneration": "4",
    "nvmlDeviceGetCurrPcieLinkWidth": "16",
    "nvmlDeviceGetMaxPcieLinkGeneration": "4",
    "nvmlDeviceGetMaxPcieLinkWidth": "16",
    "nvmlDeviceGetEccMode": "1 1",
    "nvmlDeviceGetMigMode": "0 0",
    "nvmlDeviceGetPersistenceMode": "1",
    "nvmlDeviceGetMemoryInfo": "85899345920 434110464",
    "nvmlDeviceGetMemoryInfo_v2": "433061888",
    "nvmlDeviceGetUtilizationRates": "0 0",
    "nvmlDeviceGetComputeRunningProcesses": "0",
    "nvmlDeviceGetNvLinkState:0": "1",
    "nvmlDeviceGetNvLinkState:1": "1",
    "nvmlDeviceGetNvLinkState:2": "error 2",
}
"""What NVML says of an idle A100; NVML_CLOCK_SM is 1, NVML_CLOCK_MEM 2."""

A100_ATTRIBUTES = {
    1: 1024, 10: 32, 13: 1410000, 16: 108, 18: 0, 36: 1593000, 37: 5120, 38: 41943040, 39: 2048,
    75: 8, 76: 0, 81: 167936, 82: 65536, 97: 166912, 106: 32, 111: 1024,
}  # fmt: skip

ERROR_NAMES = {
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    999: "CUDA_ERROR_UNKNOWN",
}


@dataclass
class FakeGpu:
    """One GPU as both libraries have it."""

    name: str = "NVIDIA A100-SXM4-80GB"
    number: int = 1
    """Makes its UUID and bus id."""
    memory: int = 85_899_345_920
    attributes: Mapping[int, int] = field(default_factory=lambda: dict(A100_ATTRIBUTES))
    nvml: Mapping[str, str] = field(default_factory=dict)
    """NVML's answers that differ from an idle A100's; ``error 3`` is NotSupported."""
    cuda_error: int = 0
    lost_after: int = -1
    """NVML calls after which the GPU is lost; 0 from the start."""
    uuid_prefix: str = "GPU-"
    parent: int = -1
    """Of a MIG slice: NVML's index of its GPU."""

    @property
    def uuid_hex(self) -> str:
        return f"{self.number:032x}"

    @property
    def uuid(self) -> str:
        h = self.uuid_hex
        return f"{self.uuid_prefix}{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"

    @property
    def bus_id(self) -> str:
        return f"0000:{self.number:02x}:00.0"

    def cuda_lines(self) -> list[str]:
        attributes = [f"attribute {key} {value}" for key, value in self.attributes.items()]
        lines = [f"device {self.name}", f"uuid {self.uuid_hex}", f"bus {self.bus_id}"]
        return [*lines, f"memory {self.memory}", f"lost {self.cuda_error}", *attributes]

    def nvml_lines(self) -> list[str]:
        answers = NVML_DEFAULTS | dict(self.nvml)
        lines = [f"device {self.name}", f"uuid {self.uuid}", f"bus {self.bus_id}"]
        lines += [f"lost_after {self.lost_after}", f"parent {self.parent}"]
        return [*lines, *(f"{key} {value}" for key, value in answers.items())]


def build(folder: Path) -> None:
    """Compile both libraries into ``folder``."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) to build the drivers with")
    for library, source in LIBRARIES.items():
        out, code = str(folder / library), str(HERE / source)
        command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", out, code]
        subprocess.run(command, check=True)


def environment(
    folder: Path,
    libraries: Path,
    gpus: list[FakeGpu],
    *,
    in_nvml: list[FakeGpu] | None = None,
    cuda_lines: tuple[str, ...] = (),
    nvml_lines: tuple[str, ...] = (),
) -> dict[str, str]:
    """Environment variables under which a process finds the fakes, and these GPUs in them.

    NVML's GPUs stand in their own order where ``in_nvml`` gives one.
    """
    errors = [f"error {code} {name}" for code, name in ERROR_NAMES.items()]
    cuda, nvml = folder / "cuda.txt", folder / "nvml.txt"
    told = [line for gpu in gpus for line in gpu.cuda_lines()]
    cuda.write_text("\n".join([*errors, *cuda_lines, *told]) + "\n")
    listed = gpus if in_nvml is None else in_nvml
    answers = [line for gpu in listed for line in gpu.nvml_lines()]
    nvml.write_text("\n".join([*nvml_lines, *answers]) + "\n")
    return {
        "LD_LIBRARY_PATH": os.pathsep.join([str(libraries)]),
        "KMETER_FAKE_CUDA": str(cuda),
        "KMETER_FAKE_NVML": str(nvml),
        "KMETER_FAKE_CONTEXT": str(folder / "context-was-created"),
    }
