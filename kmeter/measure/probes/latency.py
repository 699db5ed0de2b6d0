"""Latencies by chasing pointers: each load says where the next one lies; latency.cu."""

from collections.abc import Iterator
from functools import partial
from math import gcd
from statistics import median
from typing import Any

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.gpu import Launch
from kmeter.measure.plan import MIB, GpuFacts
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError, ProbeSkippedError
from kmeter.model.ceiling import Measure

LINE = 128
SHARED_PLACES, SHARED_STEP = 1024, 33
HOPS, LAUNCHES = 49160, 25
"""Loads of a launch, in eights. All together they are no multiple of a ring, so that no chain ends
where it began: one that does nothing would pass the check."""


def _l1_bytes(facts: GpuFacts) -> int:
    return 8 * 1024


def _l2_bytes(facts: GpuFacts) -> int:
    return min(MIB, facts.l2_bytes // 4)


def _dram_bytes(facts: GpuFacts) -> int:
    return min(max(512 * MIB, 8 * facts.l2_bytes), facts.free_bytes // 4)


def _run_global(kernel: str, size_of: Any, lab: Lab) -> Measured:
    size, clock = size_of(lab.facts), ClockReader(lab.gpu)
    if size < 16 * LINE:
        raise ProbeSkippedError("not enough memory is free")
    places = size // LINE
    a, c = full_period(places)
    program = lab.gpu.program("latency")
    ring, last = lab.gpu.empty(size // 8, "u8"), lab.gpu.zeros(1, "u8")
    program["make_ring"](
        4 * lab.facts.sm_count,
        256,
        (ring, np.uint32(places), np.uint32(LINE // 8), np.uint32(a), np.uint32(c)),
    )
    # A cached ring is walked once before; of memory, only as much as warms up address translation.
    is_cached = size <= lab.facts.l2_bytes
    warm = places if is_cached else 0
    last.fill(ring.data.ptr)

    def chase() -> None:
        """Go on where the last one ended, so that memory is never walked twice."""
        arguments = (last, np.uint32(HOPS), np.uint32(warm), clock.elapsed)
        program[kernel](1, 1, arguments)

    samples = tuple(_samples(lab, chase, clock))
    reached = (int(last.get()[0]) - ring.data.ptr) // LINE
    if reached != walk(places, a, c, (HOPS + warm) * LAUNCHES):
        raise ProbeFailedError("the chain of loads ended at the wrong place")
    return _measured(samples, clock, size)


def _run_shared(lab: Lab) -> Measured:
    clock, last = ClockReader(lab.gpu), lab.gpu.zeros(1, "u8")
    arguments = (
        np.uint32(SHARED_PLACES), np.uint32(SHARED_STEP), np.uint32(HOPS), last, clock.elapsed,
    )  # fmt: skip
    launch = lab.gpu.program("latency")["chase_shared"].bind(1, 1, arguments)
    samples = tuple(_samples(lab, launch, clock))
    if int(last.get()[0]) != HOPS * SHARED_STEP % SHARED_PLACES:
        raise ProbeFailedError("the chain of loads ended at the wrong place")
    return _measured(samples, clock, 4 * SHARED_PLACES)


def _samples(lab: Lab, launch: Launch, clock: ClockReader) -> Iterator[float]:
    """Cycles of one hop, launch by launch; the first warms up."""
    so_far = 0
    for turn in range(LAUNCHES):
        launch()
        lab.gpu.synchronize()
        if turn:
            yield (clock.cycles - so_far) / HOPS
        so_far = clock.cycles


def _measured(cycles: tuple[float, ...], clock: ClockReader, size: int) -> Measured:
    hz = clock.hz
    if hz is None:
        raise ProbeFailedError("the chase was too short for the GPU's timer")
    return Measured(
        samples=tuple(c / hz for c in cycles),
        how="one thread, dependent loads",
        working_set_bytes=size,
        sm_clock_hz=hz,
        cycles=median(cycles),
    )


# ---- the ring -------------------------------------------------------------------------------


def full_period(places: int) -> tuple[int, int]:
    """``a, c`` for which i -> (a i + c) mod places visits every place before it repeats.

    Hull and Dobell: c prime to ``places``, a - 1 divisible by its prime factors, and by 4 if it is.
    ``places`` is a multiple of 4; the steps jump about, so that nothing can guess the next.
    """
    factor = 4
    for prime in _primes(places):
        factor *= prime if factor % prime else 1
    jump = places * 5 // 8 // factor or 1
    c = next(c for c in range(places * 3 // 7 | 1, 2 * places, 2) if gcd(c, places) == 1)
    return (factor * jump + 1) % places, c % places


def _primes(number: int) -> Iterator[int]:
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            yield divisor
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    if number > 1:
        yield number


def walk(places: int, a: int, c: int, hops: int) -> int:
    """Where ``hops`` steps from place 0 lead."""
    at = 0
    for _ in range(hops):
        at = (a * at + c) % places
    return at


def _latency(name: str, level: str, what: str, run: Any) -> Probe:
    return Probe(
        name=f"latency-{name}", level=level, measure=Measure.SECONDS, what=what, run=run,
        counts="a load that waits for the one before", seconds=0.5,
    )  # fmt: skip


PROBES = (
    _latency("shared", "shared memory", "How long a load from shared memory takes.", _run_shared),
    _latency(
        "l1", "L1", "How long a load from L1 takes.", partial(_run_global, "chase_l1", _l1_bytes)
    ),
    _latency(
        "l2", "L2", "How long a load from L2 takes.", partial(_run_global, "chase_l2", _l2_bytes)
    ),
    _latency(
        "dram",
        "DRAM",
        "How long a load from DRAM takes, at addresses that nothing foresees.",
        partial(_run_global, "chase_l2", _dram_bytes),
    ),
)
