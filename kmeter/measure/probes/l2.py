"""L2 bandwidth: blocks read and write over and over what L2 holds, past their L1; cache.cu."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.compiler import Source
from kmeter.measure.gpu import Program
from kmeter.measure.plan import GpuFacts, large_l2_set, passes_for, small_l2_set
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError
from kmeter.measure.probes._data import SEED, Data
from kmeter.measure.race import Entrant, race
from kmeter.model.ceiling import Measure

SizeOf = Callable[[GpuFacts], int]

QUAD = 16
QUADS_OF_LINE = 8
KERNEL_S = 0.002
"""What one launch takes at least: long against its start."""
GUESS = 48.0
"""Bytes per SM and clock to plan passes with; the result does not depend on it."""

SIZE_TOLERANCE = 0.15
"""How far the parts of all blocks together may be from the working set that is meant."""


class Shape(NamedTuple):
    """How L2 is read: block size, loads in flight a thread, blocks an SM."""

    threads: int
    unroll: int
    blocks_per_sm: int

    @property
    def step_bytes(self) -> int:
        """What a block reads between two turns of its loop."""
        return self.threads * self.unroll * QUAD

    @property
    def label(self) -> str:
        """As the result says it."""
        return f"16 B x {self.unroll}, {self.threads} threads, {self.blocks_per_sm} blocks per SM"


def shapes(*, quick: bool) -> Iterator[Shape]:
    """The shapes to try."""
    for threads in (128, 1024) if quick else (64, 128, 256, 512, 1024):
        for unroll in (4,) if quick else (1, 2, 4, 8, 16):
            for blocks in (1, 8) if quick else (1, 2, 4, 8):
                if threads * blocks <= 2048:
                    yield Shape(threads, unroll, blocks)


class Reading(NamedTuple):
    """What is read, and what it takes to check its sum."""

    words: Any
    """Every word as often as the others: the whole working set."""
    sum: Any
    expected: int
    """The sum of the words, modulo 2^32."""


def constants(shape: Shape) -> dict[str, int]:
    """The constants of cache.cu for a shape."""
    return {"THREADS": shape.threads, "UNROLL": shape.unroll}


def slice_bytes(size: int, shape: Shape, sm_count: int) -> int:
    """What each block gets of a working set that they share out: whole steps, at least one."""
    per_block = size / (sm_count * shape.blocks_per_sm)
    return max(1, round(per_block / shape.step_bytes)) * shape.step_bytes


def fits(size: int, shape: Shape, sm_count: int) -> bool:
    """Whether slices of whole steps come near enough to the working set that is meant."""
    total = slice_bytes(size, shape, sm_count) * sm_count * shape.blocks_per_sm
    return abs(total - size) <= SIZE_TOLERANCE * size


def _race(
    lab: Lab, chosen: list[Shape], make: Callable[[Shape, Program], list[tuple[Entrant, Reading]]]
) -> Measured:
    lab.tell("trying variants")
    programs = lab.gpu.programs([Source.of("cache", constants(shape)) for shape in chosen])
    pairs = [
        pair
        for shape, program in zip(chosen, programs, strict=True)
        for pair in make(shape, program)
    ]
    readings = {entrant.label: reading for entrant, reading in pairs}
    winner = race(lab.gpu, [entrant for entrant, _ in pairs], lab.options, lab.tell)
    reading = readings[winner.entrant.label]
    check_sum(winner.entrant, reading)
    size = int(reading.words.nbytes)
    return Measured(winner.rates, winner.entrant.label, "", size, winner.sm_clock_hz)


def _run_own(size_of: SizeOf, lab: Lab) -> Measured:
    """Each block reads a part of its own: no line is asked for twice."""
    size, sms = size_of(lab.facts), lab.facts.sm_count
    data = Data(lab.gpu)
    words, total = data.words(2 * size), lab.gpu.zeros(1, "u4")

    def entrants(shape: Shape, program: Program) -> list[tuple[Entrant, Reading]]:
        part, grid = slice_bytes(size, shape, sms), shape.blocks_per_sm * sms
        held, clock = words[: part * grid // 4], ClockReader(lab.gpu)
        passes = passes_for(part * grid, planned_rate(lab), KERNEL_S)
        quads = part // QUAD
        arguments = (
            held, np.uint64(quads), np.uint32(quads), np.uint32(0), np.uint32(passes), total,
            clock.elapsed,
        )  # fmt: skip
        launch = program["l2_read"].bind(grid, shape.threads, arguments)
        reading = Reading(held, total, data.sum_of_words(held.size))
        return [(Entrant(shape.label, launch, float(part) * grid * passes, clock), reading)]

    chosen = [s for s in shapes(quick=lab.options.quick) if fits(size, s, sms)]
    return _race(lab, chosen, entrants)


def _run_all(size_of: SizeOf, spread: bool, lab: Lab) -> Measured:
    """Every block reads all of it, from a place of its own on, or all from the same."""
    size = size_of(lab.facts)
    data = Data(lab.gpu)
    words, total = data.words(size), lab.gpu.zeros(1, "u4")
    reading = Reading(words, total, data.sum_of_words(words.size))

    def entrants(shape: Shape, program: Program) -> list[tuple[Entrant, Reading]]:
        grid, quads, clock = (
            shape.blocks_per_sm * lab.facts.sm_count,
            size // QUAD,
            ClockReader(lab.gpu),
        )
        passes = passes_for(size * grid, planned_rate(lab), KERNEL_S)
        home = quads // grid // QUADS_OF_LINE * QUADS_OF_LINE if spread else 0
        arguments = (
            words, np.uint64(0), np.uint32(quads), np.uint32(home), np.uint32(passes), total,
            clock.elapsed,
        )  # fmt: skip
        launch = program["l2_read"].bind(grid, shape.threads, arguments)
        return [(Entrant(shape.label, launch, float(size) * grid * passes, clock), reading)]

    chosen = [s for s in shapes(quick=lab.options.quick) if size % s.step_bytes == 0]
    return _race(lab, chosen, entrants)


def planned_rate(lab: Lab) -> float:
    """Bytes per second to plan passes with."""
    return GUESS * lab.facts.sm_count * (lab.facts.sm_clock_hz or 1e9)


def check_sum(entrant: Entrant, reading: Reading) -> None:
    """Launch once more and compare the sum of what was read; raises ProbeFailedError."""
    reading.sum.fill(0)
    entrant.launch()
    times = round(entrant.work / reading.words.nbytes)
    if int(reading.sum.get()[0]) != reading.expected * times % 2**32:
        raise ProbeFailedError(f"the sum of what was read is wrong ({entrant.label})")


def _run_write(lab: Lab) -> Measured:
    """Each block writes a part of its own, of a small set, of a large one, or of one between."""
    small, large = small_l2_set(lab.facts), large_l2_set(lab.facts)
    sms, data = lab.facts.sm_count, Data(lab.gpu)
    words = lab.gpu.empty(3 * large // 4, "u4")
    entrants, written = [], {}
    lab.tell("trying variants")
    for size in dict.fromkeys((small, 4 * small, large, 3 * large // 2)):
        chosen = [s for s in shapes(quick=lab.options.quick) if fits(size, s, sms)]
        programs = lab.gpu.programs([Source.of("cache", constants(shape)) for shape in chosen])
        for shape, program in zip(chosen, programs, strict=True):
            part, grid = slice_bytes(size, shape, sms), shape.blocks_per_sm * sms
            passes = passes_for(part * grid, planned_rate(lab) / 2, KERNEL_S)
            clock = ClockReader(lab.gpu)
            arguments = (
                words, np.uint32(part // QUAD), np.uint32(passes), np.uint32(SEED), clock.elapsed,
            )  # fmt: skip
            label = f"{shape.label}, {size // 2**20} MiB"
            launch = program["l2_write"].bind(grid, shape.threads, arguments)
            entrants.append(Entrant(label, launch, float(part) * grid * passes, clock))
            written[label] = words[: part * grid // 4]
    winner = race(lab.gpu, entrants, lab.options, lab.tell)
    own = written[winner.entrant.label]
    data.poison(own)
    winner.entrant.launch()
    wrong = data.wrong_written(own)
    if wrong:
        raise ProbeFailedError(f"{wrong} words were not written ({winner.entrant.label})")
    return Measured(winner.rates, winner.entrant.label, "", int(own.nbytes), winner.sm_clock_hz)


def _read(name: str, what: str, run: Callable[[Lab], Measured], *, in_quick: bool = False) -> Probe:
    return Probe(
        name=name, level="L2", measure=Measure.BYTES_PER_S, what=what, run=run, counts="read",
        seconds=1.0, in_quick=in_quick,
    )  # fmt: skip


PROBES = (
    _read(
        "l2-read",
        "Every SM reads all of a small set in L2, past L1, each from a place of its own on.",
        partial(_run_all, small_l2_set, True),
        in_quick=True,
    ),
    _read(
        "l2-read-large",
        "The same of a quarter of L2.",
        partial(_run_all, large_l2_set, True),
    ),
    _read(
        "l2-read-own",
        "Each SM reads a part of its own of a quarter of L2, past L1: no line is asked for twice.",
        partial(_run_own, large_l2_set),
    ),
    _read(
        "l2-read-in-step",
        "Every SM reads the same lines at the same time: requests that meet are answered together.",
        partial(_run_all, small_l2_set, False),
    ),
    Probe(
        name="l2-write",
        level="L2",
        measure=Measure.BYTES_PER_S,
        what="Each SM writes a part of its own over and over.",
        run=_run_write,
        counts="write",
        seconds=1.0,
        in_quick=False,
    ),
)
