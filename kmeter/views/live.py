"""GPUs at one moment: clocks, power, heat and memory, how busy each unit is, and who works on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.card import Fact
from kmeter.model.live import LiveGpu, Moment
from kmeter.units import UNKNOWN, celsius, percent, shortened, si, size
from kmeter.views.quantities import value_or_reason
from kmeter.views.tables import Cell, Column, WideOrStacked

_STATE = (
    Column("GPU"),
    Column("name", right=False),
    Column("SM clock"),
    Column("of max", optional=True),
    Column("power"),
    Column("of limit", optional=True),
    Column("temp."),
    Column("busy"),
    Column("memory"),
    Column("of", optional=True),
    Column("held back by", right=False),
)
_UNITS = {
    "SM": "sm_active",
    "occup.": "sm_occupancy",
    "tensor": "tensor_active",
    "fp64": "fp64_active",
    "fp32": "fp32_active",
    "fp16": "fp16_active",
    "int": "integer_active",
    "DRAM": "dram_active",
}
_LINKS = {
    "PCIe out": "pcie_sent_bytes_per_s",
    "PCIe in": "pcie_received_bytes_per_s",
    "NVLink out": "nvlink_sent_bytes_per_s",
    "NVLink in": "nvlink_received_bytes_per_s",
}
_IDLE = "idle"
_LONGEST_NAME = 32
"""Of a GPU in the table; the longest of NVIDIA's has 31 letters."""


@dataclass(frozen=True)
class LiveView:
    """The moment as tables."""

    moment: Moment
    activity: bool = True
    """Whether a table of busy units follows."""
    processes: bool = True

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        gpus = self.moment.gpus
        yield WideOrStacked(_STATE, [_state(gpu) for gpu in gpus])
        if self.activity:
            yield ""
            yield from _activity(gpus)
        if self.processes:
            yield ProcessesView(self.moment)
        reasons = sorted(set(_reasons(self.moment)))
        if reasons:
            yield ""
            yield from (f"  {reason}" for reason in reasons)


@dataclass(frozen=True)
class ProcessesView:
    """Who works on the GPUs; nothing where nobody does."""

    moment: Moment

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        rows = [row for gpu in self.moment.gpus for row in _processes(gpu)]
        if rows:
            yield ""
            yield WideOrStacked(_PROCESSES, rows)


def index_text(gpu: LiveGpu) -> str:
    """CUDA's number; NVML's in brackets for a GPU that CUDA does not see."""
    identity = gpu.identity
    if identity.ordinal is not None:
        return str(identity.ordinal)
    return UNKNOWN if identity.nvml_index is None else f"({identity.nvml_index})"


def _state(gpu: LiveGpu) -> tuple[Cell, ...]:
    value = {name: fact.value for name, fact in gpu.facts.items()}
    return (
        index_text(gpu),
        shortened(gpu.identity.name or UNKNOWN, _LONGEST_NAME),
        si(value.get("sm_clock_hz"), "Hz"),
        percent(gpu.share("sm_clock_hz", "sm_clock_max_hz")),
        si(value.get("power_w"), "W", 3),
        percent(gpu.share("power_w", "power_limit_w")),
        celsius(value.get("temperature_c")),
        percent(value.get("utilisation")),
        size(value.get("memory_used_bytes")),
        size(value.get("memory_total_bytes")),
        _held_back(gpu),
    )


def _held_back(gpu: LiveGpu) -> Cell:
    if gpu.fact("throttle_reasons_mask").value is None:
        return UNKNOWN
    words = gpu.throttled_by
    text = ", ".join(words) or "nothing"
    return Text(text, style="yellow" if set(words) - {_IDLE} else "")


def _activity(gpus: Sequence[LiveGpu]) -> Iterator[RenderableType]:
    """How busy each unit was; links that nobody has are left out."""
    links = {
        heading: name
        for heading, name in _LINKS.items()
        if any(gpu.fact(name).value is not None for gpu in gpus)
    }
    if not any(gpu.fact(name).value is not None for gpu in gpus for name in _UNITS.values()):
        reasons = {gpu.fact("sm_active").reason for gpu in gpus}
        yield f"no activity of single units: {', '.join(sorted(reasons - {''})) or 'not read'}"
        return
    columns = [Column("GPU"), *map(Column, _UNITS), *map(Column, links)]
    rows = [
        (
            index_text(gpu),
            *(percent(gpu.fact(name).value) for name in _UNITS.values()),
            *(si(gpu.fact(name).value, "B/s", 3) for name in links.values()),
        )
        for gpu in gpus
    ]
    yield WideOrStacked(columns, rows)


_PROCESSES = (Column("GPU"), Column("PID"), Column("memory"), Column("process", right=False))


def _processes(gpu: LiveGpu) -> Iterator[tuple[Cell, ...]]:
    for process in gpu.processes:
        yield (
            index_text(gpu),
            str(process.pid),
            size(process.memory_bytes),
            process.command or UNKNOWN,
        )


def _reasons(moment: Moment) -> Iterator[str]:
    """Why something is a dash, where it is not that the card has no such counter."""
    if moment.reason:
        yield moment.reason
    for gpu in moment.gpus:
        if gpu.identity.lost:
            yield f"GPU {index_text(gpu)}: {gpu.identity.lost}"
        for name in ("sm_clock_hz", "power_w", "memory_used_bytes", "utilisation"):
            reason = gpu.fact(name).reason
            if reason:
                yield f"GPU {index_text(gpu)}: {name.rsplit('_', 1)[0].replace('_', ' ')} {reason}"


def live_document(moment: Moment) -> dict[str, Any]:
    """``kmeter.top/1``: shares are fractions, rates bytes per second."""
    document: dict[str, Any] = {"schema": "kmeter.top/1", "at": moment.at}
    if moment.reason:
        document["reason"] = moment.reason
    return document | {"gpus": [_gpu_document(gpu) for gpu in moment.gpus]}


def _gpu_document(gpu: LiveGpu) -> dict[str, Any]:
    identity = gpu.identity
    document: dict[str, Any] = {
        "ordinal": identity.ordinal,
        "nvml_index": identity.nvml_index,
        "uuid": identity.uuid,
        "pci_bus_id": identity.pci_bus_id,
        "name": identity.name,
        "lost_reason": identity.lost or None,
    }
    for name, fact in gpu.facts.items():
        document |= _fact_document(name, fact)
    document["throttled_by"] = list(gpu.throttled_by)
    document["processes"] = [process._asdict() for process in gpu.processes]
    return document


def _fact_document(name: str, fact: Fact) -> dict[str, Any]:
    return value_or_reason(name, fact.value, fact.reason)
