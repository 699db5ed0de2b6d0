"""The card while something runs: clocks, power, temperature and throttle reasons, sampled by NVML."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kmeter.model.card import Fact
from kmeter.model.ceiling import Conditions
from kmeter.sources._nvml import Nvml
from kmeter.sources._readings import read_field, read_named

INTERVAL_S = 0.02
SAMPLED = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "throttle_reasons_mask",
)  # fmt: skip

IDLE = 0x1
"""The one throttle reason that says nothing: the GPU had nothing to do between two launches."""


SLOWED = 0x8 | 0x20 | 0x40 | 0x80
"""Throttle reasons that come from outside of the kernel: heat, and hardware's brakes."""
_NOTABLE = 0.95
"""A share of the row's usual clock below which it was slowed down."""
BUSY = 0.1
"""A GPU that computed for this share of the last moments or more is at work."""
_monotonic = time.monotonic
"""Taken when kmeter is loaded: what a benchmark's file replaces does not reach it."""


class Glimpse(NamedTuple):
    """The card at one moment; None is unknown."""

    at_s: float
    """By the monotonic clock."""
    sm_clock_hz: float | None
    throttle_reasons_mask: int | None


class Sampler:
    """Reads a card in a thread of its own from ``start`` to ``stop``."""

    def __init__(self, nvml: Nvml, handle: Any, neighbours: Sequence[Any] | None = None) -> None:
        """``handle`` is NVML's, or None where it does not know the card.

        ``neighbours`` are handles of the other GPUs of the host, None where nobody looks at them.
        """
        self._nvml, self._handle, self._neighbours = nvml, handle, neighbours
        self._readings: list[dict[str, Fact]] = []
        self._times: list[float] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin anew."""
        self._readings, self._times = [], []
        if self._handle is None:
            return
        self._ended.clear()
        self._thread = threading.Thread(target=self._sample, name="telemetry", daemon=True)
        self._thread.start()

    def stop(self) -> Conditions:
        """What was seen since ``start``."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return replace(conditions_of(self._readings), busy_neighbours=self._busy_neighbours())

    def _busy_neighbours(self) -> int | None:
        """How many of the host's other GPUs are at work now; None where nobody knows."""
        if self._neighbours is None:
            return None
        shares = [read_field(self._nvml, n, "utilisation").value for n in self._neighbours]
        return None if None in shares else sum(share >= BUSY for share in shares)

    def glimpses(self) -> list[Glimpse]:
        """What was seen so far, moment by moment."""
        return [
            Glimpse(at, r["sm_clock_hz"].value, r["throttle_reasons_mask"].value)
            for at, r in zip(self._times, self._readings, strict=False)
        ]

    def energy_j(self) -> float | None:
        """Joules since the driver was loaded; None where the card does not count them."""
        if self._handle is None:
            return None
        reading = self._nvml.read("nvmlDeviceGetTotalEnergyConsumption", self._handle)
        return None if reading.value is None else reading.value * 1e-3

    def _sample(self) -> None:
        while not self._ended.is_set():
            reading = read_named(self._nvml, self._handle, SAMPLED)
            self._times.append(_monotonic())
            self._readings.append(reading)
            self._ended.wait(INTERVAL_S)


def slowed(glimpses: list[Glimpse]) -> list[Glimpse]:
    """The moments at which the card was held below the clock that it usually had."""
    usual = _middle([g.sm_clock_hz for g in glimpses if g.sm_clock_hz is not None])
    return [
        g
        for g in glimpses
        if (g.throttle_reasons_mask or 0) & SLOWED
        or (usual and g.sm_clock_hz is not None and g.sm_clock_hz < _NOTABLE * usual)
    ]


def conditions_of(readings: list[dict[str, Fact]]) -> Conditions:
    """Samples as one: clocks by their median, power and temperature by their most."""
    clock, memory = _known(readings, "sm_clock_hz"), _known(readings, "memory_clock_hz")
    masks = [int(mask) & ~IDLE for mask in _known(readings, "throttle_reasons_mask")]
    seen = 0
    for mask in masks:
        seen |= mask
    return Conditions(
        sm_clock_hz=_middle(clock),
        sm_clock_source="NVML" if clock else "",
        memory_clock_hz=_middle(memory),
        power_w=max(_known(readings, "power_w"), default=None),
        temperature_c=max(_known(readings, "temperature_c"), default=None),
        throttle_reasons_mask=seen if masks else None,
        samples=len(readings),
    )


def _known(readings: list[dict[str, Fact]], name: str) -> list[float]:
    return [r[name].value for r in readings if r[name].value is not None]


def _middle(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
