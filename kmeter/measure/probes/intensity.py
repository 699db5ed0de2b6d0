"""The roof as it is: kernels of every arithmetic intensity from 1/16 to 256; intensity.cu."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kmeter.measure.compiler import Source
from kmeter.measure.gpu import Kernel
from kmeter.measure.plan import plan_arrays
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError, ProbeSkippedError
from kmeter.measure.probes._data import Data
from kmeter.measure.race import Entrant, race
from kmeter.model.ceiling import Measure, Point

VECTOR_BYTES = 16
CHECKED_BYTES = 2**20
A, B = np.float32(0.75), np.float32(0.25)
"""Powers of two: the host's check rounds as the GPU does."""


def flops(*, quick: bool) -> Iterator[int]:
    """FLOP for each 16 bytes: one to 4096, which is 1/16 to 256 FLOP/byte."""
    return (2**n for n in range(0, 13, 2 if quick else 1))


def _run(lab: Lab) -> Measured:
    plan = plan_arrays(lab.facts, 1, lab.options.array_bytes)
    if plan is None:
        raise ProbeSkippedError("not enough memory is free")
    size = min(plan.array_bytes, 2**31)
    array = Data(lab.gpu).floats(size)
    points = []
    for flop in flops(quick=lab.options.quick):
        lab.tell(f"{flop / VECTOR_BYTES:g} FLOP/byte")
        points.append(_point(lab, array, flop))
    return Measured(samples=(), points=tuple(points), note=plan.note, working_set_bytes=size)


def _point(lab: Lab, array: Any, flop: int) -> Point:
    chosen = list(_shapes(quick=lab.options.quick))
    sources = [
        Source.of("intensity", {"FLOP": flop, "THREADS": threads, "UNROLL": unroll})
        for threads, unroll, _ in chosen
    ]
    programs = lab.gpu.programs(sources)
    entrants = []
    outs = {}
    for (threads, unroll, blocks), program in zip(chosen, programs, strict=True):
        grid = blocks * lab.facts.sm_count
        out = lab.gpu.empty(grid * threads, "f4")
        kernel = program["intensity"]
        label = f"{threads} x {unroll} x {blocks}"
        arguments = (array, np.uint64(array.size), A, B, out)
        work = float(flop) * array.nbytes / VECTOR_BYTES
        entrants.append(Entrant(label, kernel.bind(grid, threads, arguments), work))
        outs[label] = (kernel, grid, threads, unroll, out)
    options = lab.options._replace(repeat=3)
    winner = race(lab.gpu, entrants, options)
    _check(lab, array, flop, *outs[winner.entrant.label])
    return Point(flop / VECTOR_BYTES, winner.rate)


def _shapes(*, quick: bool) -> Iterator[tuple[int, int, int]]:
    """Threads, vectors in flight, blocks an SM."""
    yield 256, 4, 4
    yield 256, 2, 8
    if not quick:
        yield 512, 4, 2


def _check(
    lab: Lab,
    array: Any,
    flop: int,
    kernel: Kernel,
    grid: int,
    threads: int,
    unroll: int,
    out: Any,
) -> None:
    part = array[: CHECKED_BYTES // 4]
    out.fill(np.nan)
    kernel(grid, threads, (part, np.uint64(part.size), A, B, out))
    got = float(out.get().astype(np.float64).sum())
    values = part.get().reshape(-1, 4).astype(np.float64)
    expected = float(expected_sum(values, flop))
    scale = float(np.abs(values).sum()) + len(values)
    if not abs(got - expected) <= 1e-4 * scale:
        raise ProbeFailedError(f"the sum at {flop / VECTOR_BYTES:g} FLOP/byte is wrong")


def expected_sum(values: Any, flop: int) -> float:
    """What intensity.cu adds up, from rows of four doubles."""
    if flop < 8:
        return float(values[:, :flop].sum())
    x = values
    for _ in range(flop // 8 - 1):
        x = x * float(A) + float(B)
    return float((x * float(A)).sum())


PROBES = (
    Probe(
        name="roofline",
        level="sweep",
        measure=Measure.FLOP_PER_S,
        what="FLOP/s over arithmetic intensity, fp32: the roof as real kernels find it.",
        run=_run,
        counts="fp32",
        seconds=5.0,
        in_quick=False,
    ),
)
