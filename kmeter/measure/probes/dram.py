"""DRAM bandwidth: BabelStream's kernels, and plain reading and writing; dram.cu."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kmeter.measure.compiler import Source
from kmeter.measure.gpu import Kernel
from kmeter.measure.plan import MIB, STAGGER, ArrayPlan, GpuFacts, plan_arrays
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError, ProbeSkippedError
from kmeter.measure.probes._data import SEED, Data
from kmeter.measure.race import Entrant, race, ranked
from kmeter.model.ceiling import Measure

X, Y = np.float32(0.4), np.float32(0.7)
"""The scalars of scale and triad: no powers of two, so that products are rounded."""
MEMSET_WORD = 0x9E3779B9
WIDE_SINCE = (12, 9)
"""The compiler that knows 32-byte loads and stores."""
CHUNKS = (256 * 1024, MIB, 4 * MIB)
"""Bytes of neighbours that a block may go through, where it has a chunk."""
BLOCKS = (128, 256, 512, 1024)
SCOUT_BLOCKS = (512,)
BEST_VARIANTS = 4
HINTS = ("", ", streaming", ", past L1")
"""What HINT of dram.cu is called."""
DOT_TOLERANCE = 1e-5
"""Of the sum of magnitudes: what summing in fp32 inside a tile may lose."""


class Operands(NamedTuple):
    """Arrays of one probe: a and b random, c the output, and where sums go."""

    a: Any
    b: Any
    c: Any
    words: Any
    """One u32 that dram_read adds to."""
    products: Any
    """One double that dram_dot adds to."""
    data: Data


class Operation(NamedTuple):
    """One kernel of dram.cu."""

    name: str
    operands: str
    """The arrays that a launch touches; each counts once."""
    counts: str
    what: str
    arguments: Callable[[Operands, np.uint64], tuple[Any, ...]]
    wrong: Callable[[Operands], float]
    """How much of what one launch left is wrong."""
    floats: bool = True
    kernels: tuple[str, ...] = ()
    """Kernels of dram.cu that do it, where there is more than the one of its name."""
    by_library: Callable[[Lab, Operands], Entrant] | None = None
    """The driver's own way of doing the same, as one more variant."""


def _memcpy(lab: Lab, o: Operands) -> Entrant:
    from cupy.cuda import runtime

    to, source, size = o.c.data.ptr, o.a.data.ptr, o.a.nbytes
    kind, stream = runtime.memcpyDeviceToDevice, lab.gpu.stream.ptr
    launch = partial(runtime.memcpyAsync, to, source, size, kind, stream)
    return Entrant("cudaMemcpyAsync", launch, 2 * size)


def _wrong_sum(o: Operands) -> float:
    return float(int(o.words.get()[0]) != o.data.sum_of_words(o.a.size))


def _wrong_dot(o: Operands) -> float:
    error = abs(float(o.products.get()[0]) - o.data.sum_of_products(o.a.size))
    return float(error > DOT_TOLERANCE * o.a.size)


OPERATIONS = (
    Operation(
        "read", "a", "read", "Reads an array much larger than L2",
        lambda o, n: (o.a, n, o.words), _wrong_sum, floats=False,
        kernels=("dram_read", "dram_read_halves"),
    ),
    Operation(
        "write", "c", "write", "Writes an array much larger than L2",
        lambda o, n: (o.c, n, np.uint32(SEED)), lambda o: o.data.wrong_written(o.c), floats=False,
    ),
    Operation(
        "copy", "ac", "read + write", "c = a",
        lambda o, n: (o.a, o.c, n), lambda o: o.data.wrong_words(o.c), floats=False,
        by_library=_memcpy,
    ),
    Operation(
        "scale", "ac", "read + write", "c = x a",
        lambda o, n: (o.a, o.c, n, X), lambda o: o.data.wrong_floats(o.c, float(X), 0),
    ),
    Operation(
        "add", "abc", "2 reads + write", "c = a + b",
        lambda o, n: (o.a, o.b, o.c, n), lambda o: o.data.wrong_floats(o.c, 1, 1),
    ),
    Operation(
        "triad", "abc", "2 reads + write", "c = a + y b",
        lambda o, n: (o.a, o.b, o.c, n, Y), lambda o: o.data.wrong_floats(o.c, 1, float(Y)),
    ),
    Operation(
        "dot", "ab", "2 reads", "Adds up a b",
        lambda o, n: (o.a, o.b, n, o.products), _wrong_dot,
    ),
)  # fmt: skip


def _run(operation: Operation, lab: Lab) -> Measured:
    plan = plan_arrays(lab.facts, len(operation.operands), lab.options.array_bytes)
    if plan is None:
        raise ProbeSkippedError("not enough memory is free")
    operands = _operands(lab, plan, operation)
    lab.tell("trying variants")
    winner = race(lab.gpu, _entrants(lab, operation, operands), lab.options, lab.tell)
    _check(operation, operands, winner.entrant)
    return Measured(
        samples=winner.rates,
        how=winner.entrant.label,
        note=plan.note,
        working_set_bytes=plan.total_bytes,
    )


def _operands(lab: Lab, plan: ArrayPlan, operation: Operation) -> Operands:
    data = Data(lab.gpu)
    fill = data.fill_floats if operation.floats else data.fill_words
    whole = lab.gpu.empty(plan.held_bytes)
    arrays: dict[str, Any] = dict.fromkeys("abc")
    for place, name in enumerate(operation.operands):
        start = place * (plan.array_bytes + STAGGER)
        part = whole[start : start + plan.array_bytes]
        arrays[name] = part.view("f4" if operation.floats else "u4")
        fill(arrays[name], SEED + "abc".index(name))
    sums = lab.gpu.zeros(1, "u4"), lab.gpu.zeros(1, "f8")
    return Operands(arrays["a"], arrays["b"], arrays["c"], *sums, data)


def _entrants(lab: Lab, operation: Operation, operands: Operands) -> list[Entrant]:
    """Every block and grid of the compiled variants that are fastest with a few of them."""
    chosen = list(variants(lab.facts, quick=lab.options.quick))
    programs = lab.gpu.programs([Source.of("dram", variant) for variant in chosen])
    scouts: dict[str, tuple[_Variant, Entrant]] = {}
    for constants, program in zip(chosen, programs, strict=True):
        for name in operation.kernels or (f"dram_{operation.name}",):
            variant = _Variant(lab, operation, operands, constants, program[name], name)
            scouts |= {e.label: (variant, e) for e in variant.entrants(SCOUT_BLOCKS, scouting=True)}
    order = ranked(lab.gpu, [entrant for _, entrant in scouts.values()])
    best = list(dict.fromkeys(scouts[entrant.label][0] for entrant in order))
    entrants = [
        entrant
        for variant in best[: 1 if lab.options.quick else BEST_VARIANTS]
        for entrant in variant.entrants(BLOCKS, scouting=lab.options.quick)
    ]
    return entrants + ([operation.by_library(lab, operands)] if operation.by_library else [])


class _Variant:
    """A compiled kernel with its operands, to be launched in several shapes."""

    def __init__(
        self,
        lab: Lab,
        operation: Operation,
        operands: Operands,
        constants: dict[str, int],
        kernel: Kernel,
        name: str,
    ) -> None:
        self._lab, self._operation, self._operands = lab, operation, operands
        self._constants, self._kernel, self._name = constants, kernel, name

    def entrants(self, blocks: tuple[int, ...], *, scouting: bool) -> Iterator[Entrant]:
        """A launch for each block size and grid that the kernel's registers allow."""
        operands, constants = self._operands, self._constants
        array = next(a for a in (operands.a, operands.c) if a is not None)
        arguments = self._operation.arguments(operands, np.uint64(array.size))
        halves = self._name.endswith("_halves")
        vector = 4 * constants["WORDS"]
        most_threads = self._kernel.most_threads
        for block in blocks:
            if block > most_threads:
                continue
            tile = vector * constants["UNROLL"] * block * (2 if halves else 1)
            tiles = array.nbytes // tile
            chunked = bool(constants["CHUNKED"])
            for grid, words in grids(
                self._lab.facts.sm_count, tiles, tile, scouting=scouting, chunked=chunked
            ):
                yield Entrant(
                    f"{vector} B x {constants['UNROLL']}, {block} threads, {words}"
                    f"{HINTS[constants['HINT']]}{', both halves at once' if halves else ''}",
                    self._kernel.bind(grid, block, arguments),
                    float(len(self._operation.operands) * array.nbytes),
                )


def _check(operation: Operation, operands: Operands, entrant: Entrant) -> None:
    if operands.c is not None:
        operands.data.poison(operands.c)
    operands.words.fill(0)
    operands.products.fill(0)
    entrant.launch()
    wrong = operation.wrong(operands)
    if wrong:
        raise ProbeFailedError(f"{operation.name}: {wrong:.0f} wrong results ({entrant.label})")


# ---- what is tried --------------------------------------------------------------------------


def variants(facts: GpuFacts, *, quick: bool) -> Iterator[dict[str, int]]:
    """Constants of dram.cu to try: vector width, loads in flight, hint for L2, chunks."""
    has_wide = facts.compute_capability >= (10, 0) and facts.compiler >= WIDE_SINCE
    unrolls = (1, 4, 16) if quick else (1, 2, 4, 8, 16)
    hints = (0,) if quick else (0, 1) if facts.compute_capability < (8, 0) else (0, 1, 2)
    for words, unroll, hint, chunked in product(
        (4, 8) if has_wide else (4,), unrolls, hints, (0, 1)
    ):
        yield {"UNROLL": unroll, "WORDS": words, "HINT": hint, "CHUNKED": chunked}


def grids(
    sm_count: int, tiles: int, tile_bytes: int, *, scouting: bool, chunked: bool
) -> Iterator[tuple[int, str]]:
    """Grids to try: a few blocks an SM that go on and on, one block a tile, or one a chunk."""
    for per_sm in (4,) if scouting else (1, 2, 4, 8, 16):
        if per_sm * sm_count < tiles:
            yield per_sm * sm_count, f"{per_sm} blocks per SM{', a chunk each' if chunked else ''}"
    if not chunked:
        yield tiles, "a block a tile"
        return
    for chunk in CHUNKS[1:2] if scouting else CHUNKS:
        if tile_bytes <= chunk < tiles * tile_bytes:
            yield tiles * tile_bytes // chunk, f"chunks of {chunk // 1024} KiB"


PROBES = tuple(
    Probe(
        name=f"dram-{operation.name}",
        level="DRAM",
        measure=Measure.BYTES_PER_S,
        what=f"{operation.what}.",
        run=partial(_run, operation),
        limit="dram",
        counts=operation.counts,
        seconds=2.0,
        in_quick=operation.name in {"read", "write", "copy", "triad"},
    )
    for operation in OPERATIONS
)
