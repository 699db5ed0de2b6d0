"""How large, how many, how often: every decision about a probe's launches, as plain arithmetic."""

from collections.abc import Sequence
from typing import NamedTuple

MIB = 2**20
GIB = 2**30

LARGEST_ARRAY = 8 * GIB
"""At 8 GiB what a launch costs beside its work is below 0.1 % on any card of today."""
LARGEST_TOTAL = 18 * GIB
STAGGER = 32 * MIB
"""Between arrays, so that streams through them do not meet in the same banks of DRAM."""
MOST_OF_FREE = 0.6
"""Of the memory that is free: a card that draws a desktop needs the rest."""
TIMES_L2 = 8
"""An array this many times L2 leaves nothing useful in it from one pass to the next."""
OTHERS = 4 * GIB
"""What no probe but those of DRAM needs more than: three matrices of 16384, and copies of them."""
SLACK = 512 * MIB
"""Loaded code, and what libraries take for themselves."""
GRAIN = MIB
"""Arrays are a multiple of this: a whole number of tiles of every variant of a kernel."""


class GpuFacts(NamedTuple):
    """What the planners need to know of a GPU."""

    compute_capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    free_bytes: int
    total_bytes: int
    shared_bytes_per_block_opt_in: int
    sm_clock_hz: float | None = None
    pcie_bytes_per_s: float | None = None
    """One way, after the line code; None where NVML does not say."""
    compiler: tuple[int, int] = (13, 0)
    """NVRTC's version."""
    peers: tuple[int, ...] = ()
    """Ordinals of other GPUs that this one reaches directly."""


class Options(NamedTuple):
    """What a user asks of a run."""

    quick: bool = False
    repeat: int | None = None
    """Samples of the winner; None leaves it to ``quick``."""
    array_bytes: int | None = None
    """The size of each DRAM array; None plans it from what is free."""
    matmul_n: int | None = None
    """The only matrix size to try; None searches."""

    most_finalists: int = 4
    """Variants that are measured to the end."""

    @property
    def samples(self) -> int:
        """How many samples the finalists of a search get."""
        return self.repeat or (5 if self.quick else 13)

    @property
    def finalists(self) -> int:
        """How many variants of a kernel are measured to the end."""
        return min(2 if self.quick else 4, self.most_finalists)


class ArrayPlan(NamedTuple):
    """Arrays of DRAM probes."""

    array_bytes: int
    arrays: int
    note: str = ""
    """What a reader must know about the size."""

    @property
    def total_bytes(self) -> int:
        """Of all arrays together."""
        return self.array_bytes * self.arrays

    @property
    def held_bytes(self) -> int:
        """With what lies between them."""
        return self.total_bytes + STAGGER * (self.arrays - 1)


def plan_arrays(facts: GpuFacts, count: int, asked_bytes: int | None = None) -> ArrayPlan | None:
    """``count`` equal arrays several times L2, or of the size that was asked for.

    None where the free memory cannot hold one tile of each.
    """
    room = (int(facts.free_bytes * MOST_OF_FREE) - STAGGER * (count - 1)) // count
    wanted = asked_bytes or max(
        min(LARGEST_ARRAY, LARGEST_TOTAL // count), TIMES_L2 * facts.l2_bytes
    )
    size = min(wanted, room) // GRAIN * GRAIN
    if size == 0 and asked_bytes and room >= GRAIN:
        size = GRAIN
    if size <= 0:
        return None
    return ArrayPlan(size, count, _size_note(size * count, size, facts.l2_bytes))


def _size_note(total: int, size: int, l2_bytes: int) -> str:
    if total <= l2_bytes:
        return "inside L2: this is not DRAM"
    if size < 2 * l2_bytes:
        return "less than twice L2: L2 serves a part of it"
    return ""


def planned_bytes(facts: GpuFacts, options: Options) -> int:
    """The most device memory that a run may hold at once."""
    arrays = plan_arrays(facts, 3, options.array_bytes)
    largest = max(arrays.held_bytes if arrays else 0, sweep_bytes(facts), OTHERS)
    return min(largest + SLACK, int(facts.free_bytes * 0.9))


# ---- caches ---------------------------------------------------------------------------------


def small_l2_set(facts: GpuFacts) -> int:
    """Bytes that lie in L2 however it is split: the power of two up to a sixteenth of it."""
    return power_of_two_below(max(facts.l2_bytes // 16, MIB // 4))


def large_l2_set(facts: GpuFacts) -> int:
    """Bytes that use much of L2 and still lie in it: about a quarter."""
    return power_of_two_below(max(facts.l2_bytes * 2 // 7, MIB // 4))


def sweep_sizes(facts: GpuFacts, *, quick: bool) -> tuple[int, ...]:
    """Working sets from 16 KiB to four times L2: powers of two, and steps between them."""
    steps = (4,) if quick else (4, 5, 6, 7)
    largest = sweep_bytes(facts)
    sizes = (quarter * 4 * 2**n for n in range(10, 40) for quarter in steps)
    return tuple(size for size in sizes if 16 * 1024 <= size <= largest)


def sweep_bytes(facts: GpuFacts) -> int:
    """The largest working set of the sweep."""
    return min(4 * facts.l2_bytes, int(facts.free_bytes * MOST_OF_FREE))


def power_of_two_below(value: int) -> int:
    """The largest power of two that is not above ``value``."""
    return 1 << (value.bit_length() - 1)


# ---- repetition -----------------------------------------------------------------------------


def launches_for(seconds_per_launch: float, sample_s: float, most: int = 10_000) -> int:
    """Launches that fill a sample, so that what starts and ends it does not count."""
    return max(1, min(most, round(sample_s / max(seconds_per_launch, 1e-7))))


def passes_for(work_per_pass: float, rate: float, seconds: float, most: int = 2**24) -> int:
    """Passes of a kernel's loop that take ``seconds`` where ``rate`` of the work is done a second."""
    return max(1, min(most, round(seconds * rate / work_per_pass)))


def fastest(times: Sequence[float], count: int) -> list[int]:
    """Indices of the ``count`` shortest times, the shortest first."""
    return sorted(range(len(times)), key=times.__getitem__)[:count]
