"""What Nsight Compute calls its metrics: on each of its pages, on old GPUs and on new ones.

Where several names say the same, the first that has a value is taken.
"""

from collections.abc import Iterable
from functools import cache

LETTERS = {"fp64": "d", "fp32": "f", "fp16": "h"}
TIMES = (
    "gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "gpu__time_duration.min",
    "gpu__time_duration_measured_user.sum", "gpu__time_duration_measured_wallclock.sum",
    "gpu__time_active.sum", "gpu__time_active.avg", "gpu__time_active.max",
)  # fmt: skip
CLOCKS = tuple(
    f"{unit}__cycles_elapsed.{of}" for unit in ("smsp", "sm", "gpc") for of in ("avg", "max", "sum")
)
DRAM = ("dram__bytes.sum", "gpu__dram_bytes.sum")
DRAM_READ = ("dram__bytes_read.sum", "dram__bytes_op_read.sum", "gpu__dram_bytes_read.sum")
DRAM_WRITE = ("dram__bytes_write.sum", "dram__bytes_op_write.sum", "gpu__dram_bytes_write.sum")
SECTORS_READ = ("dram__sectors_read.sum", "dram__sectors_op_read.sum")
SECTORS_WRITE = ("dram__sectors_write.sum", "dram__sectors_op_write.sum")
DRAM_RATE = "dram__bytes.sum.per_second"
DRAM_RATES = ("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second")
L2 = ("lts__t_bytes.sum",)
L1 = ("l1tex__t_bytes.sum",)
CORE_CLOCK = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
TENSOR = tuple(f"{unit}__inst_executed_pipe_tensor.sum" for unit in ("sm", "smsp"))
TENSOR_OPERATIONS = {
    operation: tuple(
        f"{unit}__inst_executed_pipe_tensor_{part}_{operation}.sum"
        for unit in ("sm", "smsp") for part in ("op", "subpipe")
    )
    for operation in ("hmma", "imma", "dmma", "bmma", "gmma")
}  # fmt: skip
REGISTERS = "launch__registers_per_thread"
SHAPES = {part: tuple(f"launch__{part}_dim_{axis}" for axis in "xyz") for part in ("block", "grid")}

DETAILS = {
    "Duration": "gpu__time_duration.sum",
    "Memory Throughput": DRAM_RATE,
    "Registers Per Thread": REGISTERS,
    "Block Size": "launch__block_size",
    "Grid Size": "launch__grid_size",
}
"""What the details page calls them. It has another Memory Throughput, a share in %."""


@cache
def thread_instructions(letter: str, operation: str, suffix: str = "sum") -> tuple[str, ...]:
    """Of one kind (``d`` ``add``), counted by either of two units of an SM."""
    name = f"__sass_thread_inst_executed_op_{letter}{operation}_pred_on.{suffix}"
    return f"smsp{name}", f"sm{name}"


@cache
def per_cycle(letter: str, operation: str) -> tuple[str, ...]:
    """The same, on average in a cycle."""
    return thread_instructions(letter, operation, "sum.per_cycle_elapsed")


@cache
def doubled_per_cycle(letter: str) -> str:
    """FLOP of multiply-adds a cycle, as the roofline section has them."""
    return f"derived__smsp__sass_thread_inst_executed_op_{letter}fma_pred_on_x2"


def _wanted() -> Iterable[str]:
    yield from (*TIMES, *CLOCKS, *(f"{name}.per_second" for name in CLOCKS), *CORE_CLOCK)
    yield from (
        *DRAM,
        *DRAM_READ,
        *DRAM_WRITE,
        *SECTORS_READ,
        *SECTORS_WRITE,
        DRAM_RATE,
        *DRAM_RATES,
    )
    yield from (*L2, *L1, *TENSOR, *(n for names in TENSOR_OPERATIONS.values() for n in names))
    yield from (REGISTERS, *SHAPES["block"], *SHAPES["grid"])
    yield from ("launch__block_size", "launch__grid_size")
    for letter in LETTERS.values():
        for operation in ("add", "mul", "fma"):
            yield from thread_instructions(letter, operation)
            yield from per_cycle(letter, operation)
        yield doubled_per_cycle(letter)


WANTED = frozenset(_wanted())
"""Every metric that is read; all others are passed over."""
