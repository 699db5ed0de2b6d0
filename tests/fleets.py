"""Fleets of GPUs that nobody has, for what is said and drawn about them."""

import random

from kmeter.model.ceiling import Conditions, Measure, Status
from kmeter.model.fleet import Figure, Report

BYTES, FLOP, SECONDS = Measure.BYTES_PER_S, Measure.FLOP_PER_S, Measure.SECONDS
USUAL = {"dram-read": (BYTES, 4e12), "matmul-fp16": (FLOP, 800e12), "l2-latency": (SECONDS, 250e-9)}


def figure(name: str, value: float | None, status: Status = Status.OK, reason: str = "") -> Figure:
    measure = USUAL[name][0] if name in USUAL else BYTES
    return Figure(name, measure, status, reason=reason, value=value)


def report(place: int, *figures: Figure, host: str | None = None) -> Report:
    """A GPU of a host of eight."""
    return Report(
        "NVIDIA H200",
        f"GPU-{place:04}",
        "2026-12-01T10:00:00Z",
        figures,
        host=host or f"node{place // 8:02}",
        pci_bus_id=f"0000:{place % 8:02x}:00.0",
        power_limit_w=700.0,
        origin=f"{place}.json",
    )


def level_fleet(*shares: float) -> list[Report]:
    """A GPU a share of what is usual, in every test."""
    return [report(place, *_figures(share)) for place, share in enumerate(shares)]


def noisy_fleet(count: int, slow: dict[int, float], tests: int = 3) -> list[Report]:
    """1 % of noise; some GPUs are slower by a share, the very slow ones at a lower SM clock."""
    noise = random.Random(7)
    return [
        report(
            place,
            *(
                Figure(
                    f"test-{test:02}",
                    BYTES,
                    Status.OK,
                    value=4e12 * noise.gauss(1, 0.01) * slow.get(place, 1.0),
                    conditions=Conditions(sm_clock_hz=1.98e9 * min(1.0, slow.get(place, 1) + 0.1)),
                )
                for test in range(tests)
            ),
        )
        for place in range(count)
    ]


def _figures(share: float) -> list[Figure]:
    return [
        figure(name, value * share if measure.more_is_better else value / share)
        for name, (measure, value) in USUAL.items()
    ]
