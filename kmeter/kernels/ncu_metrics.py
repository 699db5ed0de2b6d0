"""What a launch did, from the metrics that Nsight Compute has of it.

Counts come first, then what a rate gives: it is rounded, and a note says so.
"""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from kmeter.kernels.ncu_names import (
    CLOCKS,
    CORE_CLOCK,
    DRAM,
    DRAM_RATE,
    DRAM_RATES,
    DRAM_READ,
    DRAM_WRITE,
    L1,
    L2,
    LETTERS,
    REGISTERS,
    SECTORS_READ,
    SECTORS_WRITE,
    SHAPES,
    TENSOR,
    TENSOR_OPERATIONS,
    TIMES,
    doubled_per_cycle,
    per_cycle,
    thread_instructions,
)
from kmeter.kernels.profiler_reading import Amounts
from kmeter.kernels.profiler_units import Kind
from kmeter.model.compiled_kernel import Dimensions
from kmeter.model.profiled_kernel import PRECISIONS, ProfiledKernel, ProfiledLaunch

_SECTOR_BYTES = 32
_PACKED = "fp16 FLOP at least: of a packed instruction (half2) Nsight counts one"
"""Measured on an H200 with ncu 2025.3.1: 1000 HFMA2 of a thread count 1000, as 1000 scalar ones do."""


class LaunchId(NamedTuple):
    """What a row says of a launch besides its metrics."""

    name: str
    launches: int = 1
    block: Dimensions | None = None
    grid: Dimensions | None = None
    compute_capability: str | None = None


def launch_of(known: LaunchId, amounts: Amounts) -> ProfiledLaunch:
    """A launch from its metrics; raises UsageError for one that is no such amount."""
    notes: list[str] = []
    seconds = _seconds(amounts, notes)
    least, most = amounts.extremes(Kind.TIME, *TIMES)
    dram_bytes = _dram_bytes(amounts, seconds, notes)
    flop = _flop(amounts, seconds, notes)
    if known.launches > 1 and notes:
        notes.append("derived from averages over several launches")
    block = known.block or _shape(amounts, "block")
    grid = known.grid or _shape(amounts, "grid")
    return ProfiledLaunch(
        name=known.name,
        launches=known.launches,
        seconds=seconds,
        seconds_min=least,
        seconds_max=most,
        dram_bytes=dram_bytes,
        dram_read_bytes=_dram_part(amounts, DRAM_READ, SECTORS_READ),
        dram_write_bytes=_dram_part(amounts, DRAM_WRITE, SECTORS_WRITE),
        l2_bytes=amounts.get(Kind.BYTES, *L2),
        l1_bytes=amounts.get(Kind.BYTES, *L1),
        flop=flop,
        tensor_instructions=_tensor_instructions(amounts, notes),
        registers_per_thread=amounts.whole(REGISTERS),
        block=block,
        grid=grid,
        threads_per_block=prod(block) if block else amounts.whole("launch__block_size"),
        blocks=prod(grid) if grid else amounts.whole("launch__grid_size"),
        notes=tuple(notes),
        compute_capability=known.compute_capability,
    )


def _seconds(amounts: Amounts, notes: list[str]) -> float | None:
    seconds = amounts.get(Kind.TIME, *TIMES)
    if seconds is not None:
        return seconds
    for name in CLOCKS:
        cycles = amounts.get(Kind.CYCLES, name)
        rate = amounts.get(Kind.CYCLES_PER_SECOND, f"{name}.per_second")
        if cycles is not None and rate:
            notes.append(f"time is {name} over {name}.per_second")
            return cycles / rate
    return None


def _dram_bytes(amounts: Amounts, seconds: float | None, notes: list[str]) -> float | None:
    total = amounts.get(Kind.BYTES, *DRAM)
    if total is not None:
        return total
    read = _dram_part(amounts, DRAM_READ, SECTORS_READ)
    write = _dram_part(amounts, DRAM_WRITE, SECTORS_WRITE)
    if read is not None and write is not None:
        return read + write
    return _dram_bytes_by_rate(amounts, seconds, notes)


def _dram_part(
    amounts: Amounts, of_bytes: tuple[str, ...], of_sectors: tuple[str, ...]
) -> float | None:
    counted = amounts.get(Kind.BYTES, *of_bytes)
    if counted is not None:
        return counted
    sectors = amounts.get(Kind.COUNT, *of_sectors)
    return None if sectors is None else sectors * _SECTOR_BYTES


def _dram_bytes_by_rate(amounts: Amounts, seconds: float | None, notes: list[str]) -> float | None:
    rate = amounts.get(Kind.BYTES_PER_SECOND, DRAM_RATE)
    if rate is None:
        both = [amounts.get(Kind.BYTES_PER_SECOND, name) for name in DRAM_RATES]
        rate = _sum_of_all(both)
    if rate is None or seconds is None:
        return None
    notes.append("DRAM bytes from a rounded rate times the time")
    return rate * seconds


def _sum_of_all(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _flop(amounts: Amounts, seconds: float | None, notes: list[str]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for unit in PRECISIONS:
        counted = _flop_counted(amounts, LETTERS[unit])
        derived = _flop_by_rate(amounts, LETTERS[unit], seconds) if counted is None else None
        if derived is not None:
            notes.append(f"{unit} FLOP from rounded rates a cycle")
        value = derived if counted is None else counted
        if value is not None:
            found[unit] = value
    if found.get("fp16"):
        notes.append(_PACKED)
    return found


def _flop_counted(amounts: Amounts, letter: str) -> float | None:
    add, mul, fma = (
        amounts.get(Kind.COUNT, *thread_instructions(letter, operation))
        for operation in ("add", "mul", "fma")
    )
    return None if add is None or mul is None or fma is None else add + mul + 2 * fma


def _flop_by_rate(amounts: Amounts, letter: str, seconds: float | None) -> float | None:
    """Operations a cycle, times the cycles in the time."""
    clock = amounts.get(Kind.CYCLES_PER_SECOND, *CORE_CLOCK)
    add, mul, fma = (
        amounts.get(Kind.COUNT_PER_CYCLE, *per_cycle(letter, operation))
        for operation in ("add", "mul", "fma")
    )
    doubled = amounts.get(Kind.COUNT, doubled_per_cycle(letter)) if fma is None else 2 * fma
    if seconds is None or clock is None or add is None or mul is None or doubled is None:
        return None
    return clock * seconds * (add + mul + doubled)


def _tensor_instructions(amounts: Amounts, notes: list[str]) -> float | None:
    total = amounts.get(Kind.COUNT, *TENSOR)
    if total is not None:
        return total
    parts = {
        operation: count
        for operation, names in TENSOR_OPERATIONS.items()
        if (count := amounts.get(Kind.COUNT, *names)) is not None
    }
    if parts:
        notes.append(f"tensor instructions are {', '.join(parts)} alone")
    return sum(parts.values()) if parts else None


def _shape(amounts: Amounts, part: str) -> Dimensions | None:
    x, y, z = (amounts.whole(name) for name in SHAPES[part])
    return (x, y, z) if x and y and z else None


# ---- what is missing ------------------------------------------------------------------------


def missing_metrics(kernel: ProfiledKernel) -> dict[str, tuple[str, ...]]:
    """What is not known of a kernel, and the metrics that would tell."""
    found: dict[str, tuple[str, ...]] = {}
    if kernel.seconds is None:
        found["time"] = TIMES[:1]
    if kernel.dram_bytes is None:
        found["DRAM bytes"] = (DRAM_READ[0], DRAM_WRITE[0])
    if kernel.l2_bytes is None:
        found["L2 bytes"] = L2
    if kernel.l1_bytes is None:
        found["L1 bytes"] = L1
    for unit in PRECISIONS:
        if unit not in kernel.flop:
            found[f"{unit} FLOP"] = tuple(
                thread_instructions(LETTERS[unit], operation)[0]
                for operation in ("add", "mul", "fma")
            )
    if kernel.tensor_instructions is None:
        found["tensor instructions"] = TENSOR[:1]
    return found


def with_missing_named(kernel: ProfiledKernel) -> ProfiledKernel:
    """The kernel with a note that names the counters it lacks, and how to get them."""
    missing = missing_metrics(kernel)
    if not missing:
        return kernel
    metrics = ",".join(metric for metrics in missing.values() for metric in metrics)
    note = f"unknown: {', '.join(missing)}; ncu --metrics {metrics} counts them"
    return kernel._replace(notes=(*kernel.notes, note))
