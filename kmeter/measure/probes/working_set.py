"""Read bandwidth over the size of the working set: the steps are the caches; cache.cu."""

from typing import Any

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.plan import MIB, passes_for, sweep_sizes
from kmeter.measure.probes import Lab, Measured, Probe, ProbeSkippedError
from kmeter.measure.probes._data import Data
from kmeter.measure.probes.l2 import (
    QUAD,
    QUADS_OF_LINE,
    Reading,
    Shape,
    check_sum,
    constants,
    slice_bytes,
)
from kmeter.measure.race import Entrant
from kmeter.model.ceiling import Measure, Point

TOGETHER_BYTES = 4 * MIB
"""Up to here every SM reads all of the set, above each has a part of its own."""
KERNEL_S = 0.001
GUESS_BYTES_PER_S = 5e12
LAUNCHES = 3


def shape_for(size: int) -> Shape:
    """Small steps while the set is small, so that it need not be a multiple of much."""
    return Shape(64, 4, 16) if size <= TOGETHER_BYTES else Shape(512, 2, 2)


def _run(lab: Lab) -> Measured:
    sizes = sweep_sizes(lab.facts, quick=lab.options.quick)
    if not sizes:
        raise ProbeSkippedError("not enough memory is free")
    data = Data(lab.gpu)
    words, total, clock = data.words(2 * sizes[-1]), lab.gpu.zeros(1, "u4"), ClockReader(lab.gpu)
    points: list[Point] = []
    for size in sizes:
        lab.tell(f"{size // 1024} KiB")
        shape = shape_for(size)
        make = _together if size <= TOGETHER_BYTES else _split
        entrant, held = make(lab, shape, words, size, total, clock)
        if points and held.nbytes <= points[-1].x:
            continue
        reading = Reading(held, total, data.sum_of_words(held.size))
        entrant.launch()
        seconds = min(lab.gpu.seconds(entrant.launch) for _ in range(LAUNCHES))
        check_sum(entrant, reading)
        points.append(Point(float(held.nbytes), entrant.work / seconds))
    return Measured(samples=(), points=tuple(points), how=NOTE)


def _together(
    lab: Lab, shape: Shape, words: Any, size: int, total: Any, clock: ClockReader
) -> tuple[Entrant, Any]:
    grid, quads = shape.blocks_per_sm * lab.facts.sm_count, size // QUAD
    passes = passes_for(size * grid, GUESS_BYTES_PER_S, KERNEL_S)
    arguments = (
        words, np.uint64(0), np.uint32(quads), np.uint32(quads // grid // QUADS_OF_LINE * QUADS_OF_LINE),
        np.uint32(passes), total, clock.elapsed,
    )  # fmt: skip
    kernel = lab.gpu.program("cache", **constants(shape))["cached_read"]
    launch = kernel.bind(grid, shape.threads, arguments)
    return Entrant(f"{size} bytes", launch, float(size) * grid * passes), words[: size // 4]


def _split(
    lab: Lab, shape: Shape, words: Any, size: int, total: Any, clock: ClockReader
) -> tuple[Entrant, Any]:
    grid = shape.blocks_per_sm * lab.facts.sm_count
    part = slice_bytes(size, shape, lab.facts.sm_count)
    passes = passes_for(part * grid, GUESS_BYTES_PER_S, KERNEL_S)
    arguments = (
        words, np.uint64(part // QUAD), np.uint32(part // QUAD), np.uint32(0), np.uint32(passes),
        total, clock.elapsed,
    )  # fmt: skip
    kernel = lab.gpu.program("cache", **constants(shape))["l2_read"]
    launch = kernel.bind(grid, shape.threads, arguments)
    return Entrant(f"{size} bytes", launch, float(part) * grid * passes), words[: part * grid // 4]


NOTE = "up to 4 MiB every SM reads all of it through L1, above each reads a part of its own past L1"

PROBES = (
    Probe(
        name="working-set",
        level="sweep",
        measure=Measure.BYTES_PER_S,
        what="Read bandwidth over the size of what is read: each step down is a cache left behind.",
        run=_run,
        counts="read",
        seconds=3.0,
        in_quick=False,
    ),
)
