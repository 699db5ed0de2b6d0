"""The tensor pipes by their own instructions: wgmma where the card has it, else mma.sync.

A burst on a card that has cooled for a moment: what the pipe does before power sets the clock.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.compiler import Source
from kmeter.measure.gpu import Kernel
from kmeter.measure.plan import GpuFacts
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError, too_old
from kmeter.measure.probes import _fragments as fragments
from kmeter.measure.probes._data import SEED
from kmeter.measure.probes._fragments import WARPGROUP_COLUMNS, WARPGROUP_ROWS
from kmeter.measure.probes._numbers import (
    BF16,
    E4M3,
    FP16,
    FP64,
    INT8,
    TF32,
    Encoding,
    without_sign,
)
from kmeter.measure.race import Entrant, Winner, passes_lasting, race
from kmeter.model.ceiling import Measure
from kmeter.units import si

BURST_S = 0.03
"""Long against the tenths of a millisecond in which a GPU comes to speed, short against those in
which its power limit acts."""
REST_S = 0.1
LEAD_SHARE = 30
"""How many times shorter than a burst the launch is that goes ahead of it."""
CHECKED_PASSES = 2
STEP_BYTES = 32
"""Of k that one instruction of a warpgroup multiplies, in any data type."""


class Multiply(NamedTuple):
    """A data type of the tensor pipes."""

    name: str
    constant: str
    """The name that wgmma.cu and mma.cu are compiled with."""
    encoding: Encoding
    shape: tuple[int, int, int]
    """m, n, k of its mma.sync."""
    tolerance: float
    """Of a sum, relative to the square root of the number of products; 0: exact."""
    wgmma: str = ""
    """What wgmma compiles to; empty where there is none."""
    since: tuple[int, int] = (8, 0)
    unit: str = ""
    halves_out: bool = False
    """Sums are pairs of fp16."""

    @property
    def is_integer(self) -> bool:
        """Whether sums wrap."""
        return self.encoding is INT8


MULTIPLIES = (
    Multiply("fp64", "FP64_M16N8K16", FP64, (16, 8, 16), 1e-12, since=(9, 0)),
    Multiply("fp64", "FP64_M8N8K4", FP64, (8, 8, 4), 1e-12),
    Multiply("tf32", "TF32", TF32, (16, 8, 8), 1e-2, "HGMMA"),
    Multiply("fp16", "FP16", FP16, (16, 8, 16), 1e-2, "HGMMA"),
    Multiply(
        "fp16-fp16", "FP16_FP16_ACCUMULATE", FP16, (16, 8, 16), 5e-2, "HGMMA",
        halves_out=True,
    ),
    Multiply("bf16", "BF16", BF16, (16, 8, 16), 1e-2, "HGMMA"),
    Multiply("fp8", "FP8", E4M3, (16, 8, 32), 5e-2, "QGMMA", since=(8, 9)),
    Multiply("int8", "INT8", INT8, (16, 8, 32), 0, "IGMMA"),
)  # fmt: skip


def multiplies(name: str, compute_capability: tuple[int, int]) -> list[Multiply]:
    """The instructions of that data type that a card has."""
    return [m for m in MULTIPLIES if m.name == name and m.since <= compute_capability]


def _run(name: str, lab: Lab) -> Measured:
    lab.tell("trying variants")
    best, winner = _raced(lab, list(_trials(name, lab, signed=False)))
    best.check()
    note = f"bursts of {BURST_S * 1e3:g} ms, random operands from 0 on"
    if lab.options.quick:
        return Measured(winner.rates, best.label, note, sm_clock_hz=winner.sm_clock_hz)
    lab.tell("with signs")
    with_signs, signed_winner = _raced(lab, list(_trials(name, lab, signed=True, only=best.label)))
    with_signs.check()
    unit = "OP/s" if name == "int8" else "FLOP/s"
    note += f"; signed {si(signed_winner.rate, unit)}"
    return Measured(winner.rates, best.label, note, sm_clock_hz=winner.sm_clock_hz)


def _raced(lab: Lab, trials: "list[_Trial]") -> "tuple[_Trial, Winner]":
    repeat = lab.options.repeat or (3 if lab.options.quick or len(trials) == 1 else 5)
    options = lab.options._replace(repeat=repeat, most_finalists=2)
    winner = race(lab.gpu, [t.entrant() for t in trials], options, lab.tell, rest_s=REST_S)
    return next(t for t in trials if t.label == winner.entrant.label), winner


def _trials(name: str, lab: Lab, *, signed: bool, only: str = "") -> "Iterator[_Trial]":
    for multiply in multiplies(name, lab.facts.compute_capability):
        if lab.facts.compute_capability == (9, 0) and multiply.wgmma:
            yield from _wgmma_trials(lab, multiply, signed, only)
        else:
            yield from _mma_trials(lab, multiply, signed, only)


def _draw(multiply: Multiply, shape: tuple[int, ...], seed: int, signed: bool) -> Any:
    words = multiply.encoding.draw(np.random.default_rng(seed), shape)
    return words if signed else without_sign(multiply.encoding, words)


class _Trial(NamedTuple):
    """One kernel with operands whose product is known."""

    label: str
    lab: Lab
    kernel: Kernel
    grid: int
    threads: int
    shared: int
    operands: tuple[Any, ...]
    out: Any
    clock: ClockReader
    flop_per_pass: float
    expected: Callable[[Any], bool]
    """Whether one block's output, after CHECKED_PASSES, is the product."""
    instruction: str
    least: int
    """How many of them the compiled code must have."""

    def entrant(self) -> Entrant:
        """The kernel with as many passes as a burst takes; half a pass more adds at the end."""
        passes = passes_lasting(self.lab.gpu, BURST_S, self.launch)
        work = self.flop_per_pass * (passes + 0.5)
        return Entrant(
            self.label,
            lambda: self.launch(passes),
            work,
            self.clock,
            lead=lambda: self.launch(1 + passes // LEAD_SHARE),
        )

    def launch(self, passes: int) -> None:
        arguments = (*self.operands, np.uint32(passes), self.out, self.clock.elapsed)
        self.kernel(self.grid, self.threads, arguments, self.shared)

    def check(self) -> None:
        found = self.kernel.instructions(self.instruction)
        if found < self.least:
            raise ProbeFailedError(f"only {found} {self.instruction} are left of {self.least}")
        self.out.view("u1").fill(0xFF)
        self.launch(CHECKED_PASSES)
        got = self.out.get().reshape(self.grid, -1)
        if (got.view("u1") != got[:1].view("u1")).any():
            raise ProbeFailedError("blocks disagree about the same product")
        if not self.expected(got[0]):
            raise ProbeFailedError(f"the product is wrong ({self.label})")


def _agrees(multiply: Multiply, product: Any, depth: int, got: Any) -> bool:
    """Whether sums are the product: exactly modulo 2^32, or within the tolerance."""
    if multiply.is_integer:
        wanted = (product.astype(np.int64) * (2 * CHECKED_PASSES + 1)).astype(np.uint32)
        return bool((got == wanted).all())
    return bool(np.abs(got - product).max() <= multiply.tolerance * np.sqrt(depth))


# ---- wgmma ----------------------------------------------------------------------------------


class WarpgroupShape(NamedTuple):
    """Warpgroups a block, steps along k, and where A is held."""

    groups: int
    slices: int
    in_registers: bool

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return self.slices * STEP_BYTES * (self.groups * WARPGROUP_ROWS + WARPGROUP_COLUMNS)

    @property
    def constants(self) -> dict[str, int]:
        """The constants of wgmma.cu."""
        return {
            "WARPGROUPS": self.groups,
            "SLICES": self.slices,
            "A_IN_REGISTERS": int(self.in_registers),
        }

    @property
    def label(self) -> str:
        """As the result says it."""
        where = "registers" if self.in_registers else "shared memory"
        return f"wgmma m64n256, {self.groups} warpgroups, {self.slices} steps, A in {where}"


def wgmma_shapes(shared_bytes: int, *, quick: bool) -> Iterator[WarpgroupShape]:
    """The shapes to try, as far as shared memory holds their operands."""
    for slices in (2,) if quick else (2, 8):
        for in_registers in (True, False):
            shape = WarpgroupShape(2, slices, in_registers)
            if shape.shared_bytes <= shared_bytes:
                yield shape


def _wgmma_trials(lab: Lab, multiply: Multiply, signed: bool, only: str) -> "Iterator[_Trial]":
    most = lab.facts.shared_bytes_per_block_opt_in
    shapes = [s for s in wgmma_shapes(most, quick=lab.options.quick) if only in {"", s.label}]
    sources = [Source.of("wgmma", {multiply.constant: 1, **s.constants}) for s in shapes]
    for shape, program in zip(shapes, lab.gpu.programs(sources), strict=True):
        yield _wgmma_trial(lab, multiply, shape, program["wgmma"], signed)


def _wgmma_trial(
    lab: Lab,
    multiply: Multiply,
    shape: WarpgroupShape,
    kernel: Kernel,
    signed: bool,
) -> _Trial:
    rows, columns = shape.groups * WARPGROUP_ROWS, WARPGROUP_COLUMNS
    depth = shape.slices * STEP_BYTES // multiply.encoding.bytes
    a = _draw(multiply, (rows, depth), SEED, signed)
    b = _draw(multiply, (columns, depth), SEED + 1, signed)
    product = multiply.encoding.value(a) @ multiply.encoding.value(b).T
    packed = (
        np.concatenate([fragments.core_matrices(part) for part in np.split(a, shape.groups)]),
        fragments.warpgroup_operand(a),
        fragments.core_matrices(b),
    )
    threads, registers = 128 * shape.groups, 64 if multiply.halves_out else 128
    kernel.allow_shared(shape.shared_bytes)
    word = "u4" if multiply.is_integer or multiply.halves_out else "f4"

    def is_right(block: Any) -> bool:
        got = fragments.warpgroup_sums(
            block.reshape(registers, shape.groups, 128), halves=multiply.halves_out
        )
        return _agrees(multiply, product, depth, got)

    return _Trial(
        label=shape.label,
        lab=lab,
        kernel=kernel,
        grid=lab.facts.sm_count,
        threads=threads,
        shared=shape.shared_bytes,
        operands=tuple(map(lab.gpu.put, packed)),
        out=lab.gpu.empty(lab.facts.sm_count * threads * registers, word),
        clock=ClockReader(lab.gpu),
        flop_per_pass=2.0 * 2 * rows * columns * depth * lab.facts.sm_count,
        expected=is_right,
        instruction=multiply.wgmma,
        least=3 * shape.slices,
    )


# ---- mma.sync -------------------------------------------------------------------------------


class WarpShape(NamedTuple):
    """Fragments of A and of B a warp, threads a block."""

    rows: int
    columns: int
    threads: int

    @property
    def constants(self) -> dict[str, int]:
        """The constants of mma.cu."""
        return {"ROWS": self.rows, "COLUMNS": self.columns, "THREADS": self.threads}

    def label(self, multiply: Multiply) -> str:
        """As the result says it."""
        m, n, k = multiply.shape
        return f"mma.sync m{m}n{n}k{k}, {self.rows} x {self.columns} a warp, {self.threads} threads"


def mma_shapes(multiply: Multiply, *, quick: bool) -> Iterator[WarpShape]:
    """The shapes to try."""
    tiles = ((4, 2), (2, 4)) if multiply.encoding is FP64 else ((2, 4), (4, 4))
    for rows, columns in tiles[:1] if quick else tiles:
        for threads in (256,) if quick else (128, 256):
            yield WarpShape(rows, columns, threads)


def _mma_trials(lab: Lab, multiply: Multiply, signed: bool, only: str) -> "Iterator[_Trial]":
    found = mma_shapes(multiply, quick=lab.options.quick)
    shapes = [s for s in found if only in {"", s.label(multiply)}]
    sources = [Source.of("mma", {multiply.constant: 1, **s.constants}) for s in shapes]
    for shape, program in zip(shapes, lab.gpu.programs(sources), strict=True):
        yield _mma_trial(lab, multiply, shape, program["mma"], signed)


def _mma_trial(
    lab: Lab,
    multiply: Multiply,
    shape: WarpShape,
    kernel: Kernel,
    signed: bool,
) -> _Trial:
    (m, n, k), (rows, columns, threads) = multiply.shape, shape
    a = _draw(multiply, (rows, m, k), SEED, signed)
    b = _draw(multiply, (columns, n, k), SEED + 1, signed)
    left, right = multiply.encoding.value(a), multiply.encoding.value(b)
    product = np.einsum("rmk,cnk->rcmn", left, right)
    sums = m * n // 32
    words = sums // 2 if multiply.halves_out else sums
    word = "f8" if multiply.encoding is FP64 else "f4"
    word = "u4" if multiply.is_integer or multiply.halves_out else word
    warps = threads // 32
    width = 8 if multiply.encoding is FP64 else 4

    def is_right(block: Any) -> bool:
        lanes = block.reshape(rows, columns, words, warps, 32)
        got = fragments.warp_sums(lanes, m, n, halves=multiply.halves_out)
        return all(_agrees(multiply, product, k, got[:, :, warp]) for warp in range(warps))

    blocks_per_sm = 1 if threads > 256 else 2
    grid = lab.facts.sm_count * blocks_per_sm
    packed = [fragments.warp_operand(x, multiply.encoding.bytes, width) for x in (a, b)]
    return _Trial(
        label=shape.label(multiply),
        lab=lab,
        kernel=kernel,
        grid=grid,
        threads=threads,
        shared=0,
        operands=(lab.gpu.put(packed[0]), lab.gpu.put(packed[1])),
        out=lab.gpu.empty(grid * threads * rows * columns * words, word),
        clock=ClockReader(lab.gpu),
        flop_per_pass=2.0 * 2 * m * n * k * rows * columns * warps * grid,
        expected=is_right,
        instruction=_INSTRUCTIONS[multiply.encoding],
        least=3 * rows * columns,
    )


_INSTRUCTIONS = {FP64: "DMMA", TF32: "HMMA", FP16: "HMMA", BF16: "HMMA", E4M3: "QMMA", INT8: "IMMA"}


def _missing(name: str, facts: GpuFacts) -> str:
    since = min(m.since for m in MULTIPLIES if m.name == name)
    if (10, 0) <= facts.compute_capability < (12, 0) and name != "fp64":
        return "by instruction this card needs tcgen05, which kmeter has no kernel for; see matmul"
    return too_old(since, facts)


PROBES = tuple(
    Probe(
        name=f"tensor-{name}",
        level="tensor",
        measure=Measure.OP_PER_S if name == "int8" else Measure.FLOP_PER_S,
        what=f"Matrix products in {name.split('-')[0]} by the card's own instructions, in bursts.",
        run=partial(_run, name),
        limit=unit,
        counts="a multiply-add is 2",
        seconds=2.5,
        in_quick=name in {"fp16", "fp8"},
        unsupported=partial(_missing, name),
    )
    for name, unit in (
        ("fp64", "fp64_tensor"),
        ("tf32", "tf32_tensor"),
        ("fp16", "fp16_tensor"),
        ("fp16-fp16", "fp16_tensor_fp16_accumulate"),
        ("bf16", "bf16_tensor"),
        ("fp8", "fp8_tensor_fp32_accumulate"),
        ("int8", "int8_tensor"),
    )
)
