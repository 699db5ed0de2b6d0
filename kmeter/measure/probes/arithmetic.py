"""Arithmetic on the vector pipes: independent chains of one instruction; arithmetic.cu."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kmeter.measure.clock import ClockReader
from kmeter.measure.compiler import Source
from kmeter.measure.gpu import Kernel
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError, too_old
from kmeter.measure.probes._data import SEED
from kmeter.measure.race import Entrant, passes_lasting, race
from kmeter.model.ceiling import Measure

KERNEL_S = 0.005
CHECKED_PASSES = 2


class Chain(NamedTuple):
    """An instruction of arithmetic.cu, and what it does to numbers."""

    name: str
    constant: str
    """The name that arithmetic.cu is compiled with."""
    instruction: str
    """What it must be compiled to."""
    operations: int
    """FLOP or OP of one thread's instruction."""
    what: str
    random: Callable[[Any, int], Any]
    """That many starting values, from NumPy's generator."""
    a: Any
    step: Callable[[Any, Any], Any]
    """The same on the host: x, a -> the next x, x a + a, as arrays of the same type."""
    tolerance: float
    since: tuple[int, int] = (7, 0)
    """The first compute capability that has it."""
    measure: Measure = Measure.FLOP_PER_S


def _halves(values: Any) -> Any:
    return values.astype(np.float16)


def _bfloats(values: Any) -> Any:
    """Doubles rounded to bfloat16, as doubles."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 256), exponent - 8)


def _half_pairs(random: Any, count: int) -> Any:
    return _halves(random.uniform(-1, 1, 2 * count)).view(np.uint32)


def _step_halves(x: Any, a: Any) -> Any:
    wide = [np.atleast_1d(v).view(np.float16).astype(np.float64) for v in (x, a)]
    return _halves(wide[0] * wide[1][0] + wide[1][0]).view(np.uint32)


def _bfloat_words(values: Any) -> Any:
    return (_bfloats(values).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _from_bfloat_words(words: Any) -> Any:
    halves = np.atleast_1d(words).view(np.uint16).astype(np.uint32) << 16
    return halves.view(np.float32).astype(np.float64)


def _bfloat_pairs(random: Any, count: int) -> Any:
    return _bfloat_words(random.uniform(-1, 1, 2 * count)).view(np.uint32)


def _step_bfloats(x: Any, a: Any) -> Any:
    wide = [_from_bfloat_words(v) for v in (x, a)]
    return _bfloat_words(wide[0] * wide[1][0] + wide[1][0]).view(np.uint32)


def _step_floats(x: Any, a: Any) -> Any:
    return (x.astype(np.float64) * np.float64(a) + np.float64(a)).astype(x.dtype)


def _step_integers(x: Any, a: Any) -> Any:
    return (x.astype(np.uint64) * np.uint64(a) + np.uint64(a)).astype(np.uint32)


def _step_dp4a(x: Any, a: Any) -> Any:
    left = x.view(np.int8).reshape(-1, 4).astype(np.int64)
    right = np.atleast_1d(a).view(np.int8).astype(np.int64)
    return (left @ right + np.int64(a)).astype(np.int32)


def _pair(value: float, words: Callable[[Any], Any]) -> Any:
    return words(np.array([value, value])).view(np.uint32)[0]


CHAINS = (
    Chain(
        "fp64", "FP64", "DFMA", 2, "Double-precision multiply-adds",
        lambda r, n: r.uniform(-1, 1, n), np.float64(-0.99987654321),
        _step_floats, 1e-12,
    ),
    Chain(
        "fp32", "FP32", "FFMA", 2, "Single-precision multiply-adds",
        lambda r, n: r.uniform(-1, 1, n).astype(np.float32), np.float32(-0.99987654), _step_floats, 1e-5,
    ),
    Chain(
        "fp16", "FP16X2", "HFMA2", 4, "Half-precision multiply-adds, two at once",
        _half_pairs, _pair(-0.998, _halves), _step_halves, 0,
    ),
    Chain(
        "bf16", "BF16X2", "HFMA2", 4, "bfloat16 multiply-adds, two at once",
        _bfloat_pairs, _pair(-0.99, _bfloat_words), _step_bfloats, 0,
        since=(8, 0),
    ),
    Chain(
        "int32", "INT32", "IMAD", 2, "Integer multiply-adds",
        lambda r, n: r.integers(0, 2**32, n, np.uint32), np.uint32(0x9E3779B1), _step_integers, 0, measure=Measure.OP_PER_S,
    ),
    Chain(
        "int8-dot", "DP4A", "IDP", 8, "Four-way dot products of bytes (dp4a)",
        lambda r, n: r.integers(-(2**31), 2**31, n, np.int64).astype(np.int32),
        np.int32(-0x35A2C14F), _step_dp4a, 0, measure=Measure.OP_PER_S,
    ),
    Chain(
        "ex2", "EX2", "MUFU", 1, "Powers of two on the special-function unit",
        lambda r, n: r.uniform(0, 1, n).astype(np.float32), np.float32(0),
        lambda x, a: np.exp2(-x.astype(np.float64)).astype(np.float32), 1e-5,
        measure=Measure.OP_PER_S,
    ),
)  # fmt: skip


class Shape(NamedTuple):
    """Independent chains a thread, threads a block, blocks an SM."""

    chains: int
    threads: int
    blocks_per_sm: int
    body: int = 512
    """Instructions of the loop's body: many, since the loop's own take a share."""

    @property
    def label(self) -> str:
        """As the result says it."""
        return f"{self.chains} chains, {self.threads} threads, {self.blocks_per_sm} blocks per SM"

    @property
    def unroll(self) -> int:
        """Steps of each chain a pass."""
        return self.body // self.chains


def shapes(*, quick: bool) -> Iterator[Shape]:
    """The shapes to try: enough chains for the latency of any unit."""
    for chains in (8,) if quick else (4, 8, 16):
        for threads in (256, 512) if quick else (256, 512, 1024):
            for blocks in (1, 2, 4):
                if threads * blocks <= 1024 * (1 if quick else 2):
                    yield Shape(chains, threads, blocks)


def _run(chain: Chain, lab: Lab) -> Measured:
    chosen = list(shapes(quick=lab.options.quick))
    sources = [
        Source.of(
            "arithmetic",
            {chain.constant: 1, "CHAINS": s.chains, "THREADS": s.threads, "UNROLL": s.unroll},
        )
        for s in chosen
    ]
    kernels = [program["arithmetic"] for program in lab.gpu.programs(sources)]
    trials = [_Trial(lab, chain, *pair) for pair in zip(chosen, kernels, strict=True)]
    lab.tell("trying variants")
    by_label = {trial.shape.label: trial for trial in trials}
    winner = race(lab.gpu, [trial.entrant() for trial in trials], lab.options, lab.tell)
    by_label[winner.entrant.label].check()
    return Measured(winner.rates, winner.entrant.label, sm_clock_hz=winner.sm_clock_hz)


class _Trial:
    """One shape with its operands, to be timed and to be checked."""

    def __init__(self, lab: Lab, chain: Chain, shape: Shape, kernel: Kernel) -> None:
        self._lab, self._chain, self.shape, self._kernel = lab, chain, shape, kernel
        self._clock = ClockReader(lab.gpu)
        per_block = shape.chains * shape.threads
        self._start = chain.random(np.random.default_rng(SEED), per_block)
        self._grid = shape.blocks_per_sm * lab.facts.sm_count
        self._on_gpu = lab.gpu.put(self._start)
        self._out = lab.gpu.empty(per_block * self._grid, self._start.dtype.str)

    def entrant(self) -> Entrant:
        passes = passes_lasting(self._lab.gpu, KERNEL_S, self._launch)
        per_pass = self._out.size * self.shape.unroll * self._chain.operations
        return Entrant(
            self.shape.label, lambda: self._launch(passes), float(per_pass) * passes, self._clock
        )

    def _launch(self, passes: int) -> None:
        arguments = (
            self._on_gpu, self._chain.a, np.uint32(passes), self._out,
            self._clock.elapsed,
        )  # fmt: skip
        self._kernel(self._grid, self.shape.threads, arguments)

    def check(self) -> None:
        """Raise ProbeFailedError where code is missing or a chain ends at a wrong value."""
        chain, found = self._chain, self._kernel.instructions(self._chain.instruction)
        if found < self.shape.body:
            raise ProbeFailedError(
                f"only {found} {chain.instruction} are left of {self.shape.body}"
            )
        self._out.view("u1").fill(0xFF)
        self._launch(CHECKED_PASSES)
        got = self._out.get().reshape(self._grid, -1)
        if (got.view("u1") != got[:1].view("u1")).any():
            raise ProbeFailedError("blocks disagree about the same chains")
        expected = self._start
        for _ in range(CHECKED_PASSES * self.shape.unroll):
            expected = chain.step(expected, chain.a)
        if not np.allclose(got[0], expected, rtol=chain.tolerance, atol=chain.tolerance):
            raise ProbeFailedError("the chains ended at wrong values")


PROBES = tuple(
    Probe(
        name=f"arithmetic-{chain.name}",
        level="arithmetic",
        measure=chain.measure,
        what=f"{chain.what}, in independent chains.",
        run=partial(_run, chain),
        limit=chain.name.replace("-", "_"),
        counts=f"{chain.operations} an instruction and thread",
        seconds=1.0,
        in_quick=chain.name in {"fp64", "fp32", "fp16"},
        unsupported=partial(too_old, chain.since),
    )
    for chain in CHAINS
)
