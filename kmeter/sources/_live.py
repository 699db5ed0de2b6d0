"""The GPUs of this machine while they work, through NVML: what changes, read again and again."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kmeter.model.card import Fact, Identity
from kmeter.model.device import Device
from kmeter.model.live import LiveGpu, Moment, Process
from kmeter.sources._gpm import Gpm
from kmeter.sources._nvml import GPU_LOST, Nvml, decoded
from kmeter.sources._readings import read_named
from kmeter.sources.cuda import devices_by_identity, identity_named
from kmeter.units import printable

FIXED = ("sm_clock_max_hz", "memory_clock_max_hz", "power_limit_w", "memory_total_bytes")
"""Read once: some take NVML two milliseconds."""
CHANGING = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "throttle_reasons_mask",
    "utilisation", "memory_utilisation", "memory_used_bytes",
)  # fmt: skip
SLOW = ("pcie_generation", "pcie_width", "memory_reserved_bytes", "energy_j")
"""What hardly changes, or takes NVML milliseconds, is read with every tenth reading."""
_SLOWER = 10


class LiveCards:
    """GPUs that are watched; a field that cannot be read says why, and the others go on."""

    def __init__(self, targets: Sequence[str] = ()) -> None:
        """All GPUs, or those of these names: CUDA ordinal, UUID or its beginning, bus id.

        Raises NoGpuError without any, UnknownTargetError for a name that fits none.
        """
        self._nvml = Nvml()
        self._driver_version = decoded(self._nvml.read("nvmlSystemGetDriverVersion").value) or ""
        devices = devices_by_identity()
        found = tuple(devices)
        chosen = [identity_named(found, target) for target in targets] or found
        self._watched = [_Watched(self._nvml, who, devices[who]) for who in dict.fromkeys(chosen)]

    def read(self) -> Moment:
        """One reading of each; counters are of the time since the one before."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        gpus = tuple(watched.read() for watched in self._watched)
        return Moment(at, gpus, self._nvml.unavailable, self._driver_version)

    def close(self) -> None:
        """Give back what NVML holds for it."""
        for watched in self._watched:
            watched.close()


class _Watched:
    def __init__(self, nvml: Nvml, identity: Identity, device: Device | None) -> None:
        self._nvml, self._identity, self._device = nvml, identity, device
        reading = nvml.read("nvmlDeviceGetHandleByIndex", identity.nvml_index or 0)
        self._handle = reading.value if identity.nvml_index is not None else None
        self._reason = reading.reason or "NVML does not know it"
        self._fixed: dict[str, Fact] = {}
        self._slow: dict[str, Fact] = {}
        self._count = 0
        self._gpm: Gpm | None = None
        if self._handle is not None:
            self._fixed = self._asked(FIXED)
            self._gpm = Gpm(nvml, self._handle)

    def read(self) -> LiveGpu:
        if self._handle is None or self._gpm is None:
            return self._silent((*FIXED, *CHANGING, *SLOW), self._reason)
        if self._count % _SLOWER == 0:
            self._slow = self._asked(SLOW)
        self._count += 1
        changing, counters = self._asked(CHANGING), self._gpm.read()
        facts = self._fixed | changing | self._slow | counters
        silence = _silence((*changing.values(), *counters.values()))
        if silence:
            return self._silent(facts, silence)
        return LiveGpu(self._identity, facts, self._processes(), self._device)

    def _silent(self, names: Iterable[str], reason: str) -> LiveGpu:
        """Nothing is known, nor what was read earlier believed any more."""
        unknown = dict.fromkeys(names, Fact(reason=reason))
        return LiveGpu(self._identity, unknown, device=self._device)

    def _asked(self, names: Sequence[str]) -> dict[str, Fact]:
        return read_named(self._nvml, self._handle, names)

    def _processes(self) -> tuple[Process, ...]:
        running = self._nvml.read("nvmlDeviceGetComputeRunningProcesses", self._handle)
        return tuple(_process(item) for item in running.value or ())

    def close(self) -> None:
        if self._gpm is not None:
            self._gpm.close()


def _silence(facts: Sequence[Fact]) -> str:
    """Why a GPU that was asked all this answers no more; empty while it does."""
    reasons = [fact.reason for fact in facts if fact.value is None]
    if GPU_LOST in reasons:
        return GPU_LOST
    return reasons[0] if len(reasons) == len(facts) else ""


def _process(item: Any) -> Process:
    return Process(int(item.pid), item.usedGpuMemory, _command_of(int(item.pid)))


def _command_of(pid: int) -> str:
    """The name that the system has for it; nothing where it does not tell.

    A process chooses its name: what would steer a terminal is left out.
    """
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
    return printable(name)
