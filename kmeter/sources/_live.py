"""The GPUs of this machine while they work, through NVML: what changes, read again and again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kmeter.model.card import Fact, Identity
from kmeter.model.live import LiveGpu, Moment, Process
from kmeter.sources._gpm import Gpm
from kmeter.sources._nvml import Nvml
from kmeter.sources._readings import read_field
from kmeter.sources.cuda import identities, identity_named
from kmeter.units import printable

FIXED = ("sm_clock_max_hz", "memory_clock_max_hz", "power_limit_w", "memory_total_bytes")
"""Read once: some take NVML two milliseconds."""
CHANGING = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "throttle_reasons_mask",
    "utilisation", "memory_used_bytes",
)  # fmt: skip
SLOW = ("pcie_generation", "pcie_width")
"""What hardly changes is read with every tenth reading."""
_SLOWER = 10


class LiveCards:
    """GPUs that are watched; a field that cannot be read says why, and the others go on."""

    def __init__(self, targets: Sequence[str] = ()) -> None:
        """All GPUs, or those of these names: CUDA ordinal, UUID or its beginning, bus id.

        Raises NoGpuError without any, UnknownTargetError for a name that fits none.
        """
        self._nvml = Nvml()
        found = identities()
        chosen = [identity_named(found, target) for target in targets] or list(found)
        self._watched = [_Watched(self._nvml, identity) for identity in dict.fromkeys(chosen)]

    def read(self) -> Moment:
        """One reading of each; counters are of the time since the one before."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Moment(at, tuple(w.read() for w in self._watched), self._nvml.unavailable)

    def close(self) -> None:
        """Give back what NVML holds for it."""
        for watched in self._watched:
            watched.close()


class _Watched:
    def __init__(self, nvml: Nvml, identity: Identity) -> None:
        self._nvml, self._identity = nvml, identity
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
            unknown = dict.fromkeys((*FIXED, *CHANGING, *SLOW), Fact(reason=self._reason))
            return LiveGpu(self._identity, unknown)
        if self._count % _SLOWER == 0:
            self._slow = self._asked(SLOW)
        self._count += 1
        facts = self._fixed | self._asked(CHANGING) | self._slow | self._gpm.read()
        return LiveGpu(self._identity, facts, self._processes())

    def _asked(self, names: Sequence[str]) -> dict[str, Fact]:
        return {name: read_field(self._nvml, self._handle, name) for name in names}

    def _processes(self) -> tuple[Process, ...]:
        running = self._nvml.read("nvmlDeviceGetComputeRunningProcesses", self._handle)
        return tuple(_process(item) for item in running.value or ())

    def close(self) -> None:
        if self._gpm is not None:
            self._gpm.close()


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
