"""Matrix products by the vendor's library: cuBLAS through CuPy, cuBLASLt through nvmath-python."""

from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from kmeter.measure.plan import MIB, MOST_OF_FREE, GpuFacts
from kmeter.measure.probes import (
    Lab,
    Measured,
    Probe,
    ProbeFailedError,
    ProbeSkippedError,
    ProbeUnsupportedError,
    too_old,
)
from kmeter.measure.probes._data import SEED
from kmeter.measure.probes._numbers import BF16, E4M3, FP16, FP32, FP64, INT8, TF32, Encoding
from kmeter.measure.race import Entrant, race
from kmeter.model.ceiling import Measure

SIZES = (8192, 16384)
QUICK_SIZES = (8192,)
SMALL = (1024, 2048, 4096)
"""What is left for a card with little memory."""
CHECKED = 64
"""Entries of the product that the host computes again."""
WORKSPACE_BYTES = 64 * MIB
REST_S = 0.05
"""Before each sample, as before those of the instructions: power sets the clock of what goes on."""

# cudaDataType and cublasComputeType_t of CUDA's headers.
R_32F, R_64F, R_16F, R_8I, R_32I, R_16BF, R_8F_E4M3 = 0, 1, 2, 3, 10, 14, 28
COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32I, COMPUTE_TF32 = 64, 68, 70, 72, 77
TRANSPOSED, PLAIN = 1, 0


class Product(NamedTuple):
    """A data type that a library multiplies."""

    name: str
    encoding: Encoding
    operand: int
    """cudaDataType of A and B."""
    result: int
    """cudaDataType of C."""
    compute: int
    scale: int
    """cudaDataType of alpha and beta."""
    unit: str
    tolerance: float
    """Of an entry, relative to the square root of n."""
    since: tuple[int, int] = (0, 0)
    through_lt: bool = False


PRODUCTS = (
    Product("fp64", FP64, R_64F, R_64F, COMPUTE_64F, R_64F, "fp64_tensor|fp64", 1e-12),
    Product("fp32", FP32, R_32F, R_32F, COMPUTE_32F, R_32F, "fp32", 1e-4),
    Product("tf32", TF32, R_32F, R_32F, COMPUTE_TF32, R_32F, "tf32_tensor", 1e-2, (8, 0)),
    Product("fp16", FP16, R_16F, R_16F, COMPUTE_32F, R_32F, "fp16_tensor", 1e-2, (7, 0)),
    Product("bf16", BF16, R_16BF, R_16BF, COMPUTE_32F, R_32F, "bf16_tensor", 2e-2, (8, 0)),
    Product(
        "fp8",
        E4M3,
        R_8F_E4M3,
        R_16BF,
        COMPUTE_32F,
        R_32F,
        "fp8_tensor_fp32_accumulate",
        5e-2,
        (8, 9),
        True,
    ),
    Product("int8", INT8, R_8I, R_32I, COMPUTE_32I, R_32I, "int8_tensor", 0, (7, 5), True),
)
_RESULTS = {
    R_64F: ("f8", FP64), R_32F: ("f4", FP32), R_16F: ("f2", FP16), R_16BF: ("u2", BF16),
    R_32I: ("i4", FP64),
}  # fmt: skip
_SCALES = {R_64F: np.float64, R_32F: np.float32, R_32I: np.int32}


def sizes(facts: GpuFacts, product: Product, asked: int | None, *, quick: bool) -> list[int]:
    """Matrix sizes to try whose three matrices fit what is free."""
    width = 2 * product.encoding.bytes + np.dtype(_RESULTS[product.result][0]).itemsize
    is_slow = product.compute in {COMPUTE_32F, COMPUTE_64F} and product.encoding.bytes >= 4
    wanted = (asked,) if asked else QUICK_SIZES if quick or is_slow else SIZES
    room = facts.free_bytes * MOST_OF_FREE
    return [n for n in wanted if n * n * width <= room] or [
        n for n in SMALL if n * n * width <= room
    ][-1:]


class Matrices(NamedTuple):
    """C = A^T B of one size, column-major as the libraries have it."""

    n: int
    a: Any
    b: Any
    c: Any
    block: Any
    """The random square that A and B repeat."""


BLOCK = 1024
"""Random numbers are drawn for a square of this size and repeated: drawing is slow, and the
libraries' tiles are far smaller."""


def _matrices(lab: Lab, product: Product, n: int) -> Matrices:
    import cupy

    random = np.random.default_rng(SEED)
    side = min(n, BLOCK)
    block = product.encoding.draw(random, (2, side, side))
    on_gpu = lab.gpu.put(block)
    copies = -(-n // side)
    a, b = (cupy.ascontiguousarray(cupy.tile(part, (copies, copies))[:n, :n]) for part in on_gpu)
    c = lab.gpu.empty(n * n, _RESULTS[product.result][0]).reshape(n, n)
    return Matrices(n, a, b, c, block)


def _run(product: Product, lab: Lab) -> Measured:
    fitting = sizes(lab.facts, product, lab.options.matmul_n, quick=lab.options.quick)
    if not fitting:
        raise ProbeSkippedError("not enough memory is free")
    best: tuple[tuple[float, ...], str] | None = None
    options = lab.options._replace(
        repeat=lab.options.repeat or (3 if lab.options.quick else 7), most_finalists=2
    )
    multiply = _through_lt if product.through_lt else _through_cublas
    for n in fitting:
        lab.tell(f"n = {n}")
        matrices = _matrices(lab, product, n)
        launches = multiply(lab, product, matrices)
        entrants = [Entrant(how, launch, 2.0 * n**3) for how, launch in launches]
        winner = race(lab.gpu, entrants, options, lab.tell, rest_s=REST_S)
        _check(product, matrices, winner.entrant)
        if best is None or winner.rate > median(best[0]):
            best = winner.rates, f"{winner.entrant.label}, n = {n}"
        del matrices, entrants, launches, winner
        lab.gpu.release()
    assert best is not None
    return Measured(best[0], best[1], in_bursts=True)


def _check(product: Product, m: Matrices, entrant: Entrant) -> None:
    m.c.view("u1").fill(0xFF)
    entrant.launch()
    rows, columns = np.random.default_rng(SEED + 1).integers(0, m.n, (2, CHECKED))
    value = product.encoding.value
    expected = np.einsum("ek,ek->e", value(m.a[rows].get()), value(m.b[columns].get()))
    got = _RESULTS[product.result][1].value(m.c[columns, rows].get())
    if not np.abs(got - expected).max() <= product.tolerance * np.sqrt(m.n):
        raise ProbeFailedError(f"the product is wrong ({entrant.label}, n = {m.n})")


def _through_cublas(lab: Lab, product: Product, m: Matrices) -> list[tuple[str, Any]]:
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    handle, n = device.get_cublas_handle(), m.n
    one, zero = (np.array(v, _SCALES[product.scale]) for v in (1, 0))

    def launch() -> None:
        cublas.gemmEx(
            handle, TRANSPOSED, PLAIN, n, n, n, one.ctypes.data, m.a.data.ptr, product.operand, n,
            m.b.data.ptr, product.operand, n, zero.ctypes.data, m.c.data.ptr, product.result, n,
            product.compute, -1,
        )  # fmt: skip

    return [("cuBLAS", launch)]


def _through_lt(lab: Lab, product: Product, m: Matrices) -> list[tuple[str, Any]]:
    """The algorithms that cuBLASLt proposes."""
    if find_spec("nvmath") is None:
        raise ProbeUnsupportedError("needs nvmath-python: pip install 'kmeter[nvmath]'")
    from kmeter.measure.probes._cublaslt import proposals

    operands = m.a.data.ptr, m.b.data.ptr, m.c.data.ptr
    workspace = lab.gpu.empty(WORKSPACE_BYTES)
    return proposals(product, m.n, operands, workspace, lab.gpu.stream.ptr)


PROBES = tuple(
    Probe(
        name=f"matmul-{product.name}",
        level="matmul",
        measure=Measure.OP_PER_S if product.name == "int8" else Measure.FLOP_PER_S,
        what=f"Matrix products in {product.name} by the vendor's library, in bursts.",
        run=partial(_run, product),
        limit=product.unit,
        counts="a multiply-add is 2",
        seconds=2.5,
        in_quick=False,
        unsupported=partial(too_old, product.since),
    )
    for product in PRODUCTS
)
