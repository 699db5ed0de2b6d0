"""L1 and shared memory: an SM reads a few KiB that it holds, again and again; cache.cu."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.compiler import Source
from kmeter.measure.plan import passes_for
from kmeter.measure.probes import Lab, Measured, Probe
from kmeter.measure.probes._data import Data
from kmeter.measure.probes.l2 import KERNEL_S, Reading, Shape, check_sum, constants
from kmeter.measure.race import Entrant, race
from kmeter.model.ceiling import Measure

L1_BYTES = 16 * 1024
"""Less than the smallest L1 of any card."""
STATIC_SHARED_BYTES = 48 * 1024
"""What a block may have of shared memory without asking."""
BYTES_PER_CLOCK = 128
"""Of an SM: to plan passes with; the result does not depend on it."""


def shapes(most_bytes: int, *, quick: bool) -> Iterator[Shape]:
    """Shapes whose blocks read at most ``most_bytes``, with enough warps to hide the latency."""
    for threads in (256, 512) if quick else (128, 256, 512, 1024):
        for unroll in (4, 8) if quick else (2, 4, 8, 16):
            for blocks in (1, 2, 4, 8):
                shape = Shape(threads, unroll, blocks)
                if 512 <= threads * blocks <= 2048 and shape.step_bytes <= most_bytes:
                    yield shape


def _run(kernel: str, most_bytes: int, per_block: bool, lab: Lab) -> Measured:
    """The best rate of ``kernel``; ``per_block`` where each block holds data of its own."""
    data, gpu = Data(lab.gpu), lab.gpu
    chosen = [
        shape
        for shape in shapes(most_bytes, quick=lab.options.quick)
        if not per_block or shape.step_bytes * shape.blocks_per_sm <= most_bytes
    ]
    programs = gpu.programs([Source.of("cache", constants(shape)) for shape in chosen])
    words, total = data.words(most_bytes), gpu.zeros(1, "u4")
    rate = BYTES_PER_CLOCK * lab.facts.sm_count * (lab.facts.sm_clock_hz or 1e9)
    entrants, readings = [], {}
    for shape, program in zip(chosen, programs, strict=True):
        grid = shape.blocks_per_sm * lab.facts.sm_count
        passes = passes_for(shape.step_bytes * grid, rate, KERNEL_S)
        clock = ClockReader(gpu)
        arguments = (words, np.uint32(passes), np.uint32(0), total, clock.elapsed)
        launch = program[kernel].bind(grid, shape.threads, arguments)
        work = float(shape.step_bytes) * grid * passes
        entrants.append(Entrant(shape.label, launch, work, clock))
        held = words[: shape.step_bytes // 4]
        readings[shape.label] = Reading(held, total, data.sum_of_words(held.size))
    lab.tell("trying variants")
    winner = race(gpu, entrants, lab.options, lab.tell)
    reading = readings[winner.entrant.label]
    check_sum(winner.entrant, reading)
    return Measured(
        winner.rates, winner.entrant.label, "", int(reading.words.nbytes), winner.sm_clock_hz
    )


PROBES = (
    Probe(
        name="l1-read",
        level="L1",
        measure=Measure.BYTES_PER_S,
        what="Reads a few KiB that each SM's L1 holds.",
        run=partial(_run, "l1_read", L1_BYTES, False),
        limit="l1",
        counts="read",
        seconds=0.6,
    ),
    Probe(
        name="shared-read",
        level="shared memory",
        measure=Measure.BYTES_PER_S,
        what="Reads shared memory, 16 bytes a thread, without bank conflicts.",
        run=partial(_run, "shared_read", STATIC_SHARED_BYTES, True),
        limit="shared",
        counts="read",
        seconds=0.6,
    ),
)
