"""Kernels as a profiler counted them: launches, and what all launches of a kernel amount to.

Seconds, bytes, FLOP. None is what the profiler did not say, which is not 0.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kmeter.model.compiled_kernel import Dimensions

PRECISIONS = ("fp64", "fp32", "fp16")
_NO_FLOP: Mapping[str, float] = MappingProxyType({})
_Each = tuple[float | None, ...]
_Same = TypeVar("_Same", bound=Hashable)


class ProfiledLaunch(NamedTuple):
    """One launch; or, where ``launches`` is above 1, the averages of several."""

    name: str
    launches: int = 1
    seconds: float | None = None
    seconds_min: float | None = None
    """Of an average; a single launch needs none."""
    seconds_max: float | None = None
    dram_bytes: float | None = None
    """Read and written."""
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l2_bytes: float | None = None
    l1_bytes: float | None = None
    flop: Mapping[str, float] = _NO_FLOP
    """By precision (``fp64``, ``fp32``, ``fp16``), without those that are unknown; no tensor cores."""
    tensor_instructions: float | None = None
    """What one of them computes differs from one GPU generation to the next."""
    registers_per_thread: int | None = None
    block: Dimensions | None = None
    grid: Dimensions | None = None
    threads_per_block: int | None = None
    blocks: int | None = None
    notes: tuple[str, ...] = ()
    """How a value was derived."""
    compute_capability: str | None = None


class ProfiledKernel(NamedTuple):
    """A kernel over all its launches: means, and where they are known the launches' own values.

    A tuple ``…_each`` has a value for every launch in order, None for one without; it is empty
    where no launch has one, or where only averages are known.
    """

    name: str
    launches: int = 1
    seconds: float | None = None
    seconds_each: _Each = ()
    seconds_min: float | None = None
    seconds_max: float | None = None
    dram_bytes: float | None = None
    dram_bytes_each: _Each = ()
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l2_bytes: float | None = None
    l2_bytes_each: _Each = ()
    l1_bytes: float | None = None
    l1_bytes_each: _Each = ()
    flop: Mapping[str, float] = _NO_FLOP
    tensor_instructions: float | None = None
    registers_per_thread: int | None = None
    """None also where the launches differ; a note says so. The same goes for what follows."""
    block: Dimensions | None = None
    grid: Dimensions | None = None
    threads_per_block: int | None = None
    blocks: int | None = None
    notes: tuple[str, ...] = ()
    is_even: bool = True
    """Whether all launches tell the same: then means may be divided by one another."""
    compute_capability: str | None = None
    """Of the GPU that it ran on."""


def merged(launches: Iterable[ProfiledLaunch]) -> list[ProfiledKernel]:
    """Launches of the same name as one kernel, in the order in which names first appear."""
    by_name: dict[str, list[ProfiledLaunch]] = {}
    for launch in launches:
        by_name.setdefault(launch.name, []).append(launch)
    return [_kernel(name, group) for name, group in by_name.items()]


def _kernel(name: str, group: Sequence[ProfiledLaunch]) -> ProfiledKernel:
    known = _Means(group)
    seconds = known.of("seconds", lambda item: item.seconds)
    dram = known.of("DRAM bytes", lambda item: item.dram_bytes)
    l2 = known.of("L2 bytes", lambda item: item.l2_bytes)
    l1 = known.of("L1 bytes", lambda item: item.l1_bytes)
    shortest = [_first(item.seconds_min, item.seconds) for item in group]
    longest = [_first(item.seconds_max, item.seconds) for item in group]
    return ProfiledKernel(
        name=name,
        launches=known.launches,
        seconds=seconds,
        seconds_each=known.each(lambda item: item.seconds),
        seconds_min=min(_those_known(shortest), default=None),
        seconds_max=max(_those_known(longest), default=None),
        dram_bytes=dram,
        dram_bytes_each=known.each(lambda item: item.dram_bytes),
        dram_read_bytes=known.of("DRAM bytes read", lambda item: item.dram_read_bytes),
        dram_write_bytes=known.of("DRAM bytes written", lambda item: item.dram_write_bytes),
        l2_bytes=l2,
        l2_bytes_each=known.each(lambda item: item.l2_bytes),
        l1_bytes=l1,
        l1_bytes_each=known.each(lambda item: item.l1_bytes),
        flop=known.flop(),
        tensor_instructions=known.of("tensor instructions", lambda item: item.tensor_instructions),
        registers_per_thread=known.same("registers", lambda item: item.registers_per_thread),
        block=known.same("block shapes", lambda item: item.block),
        grid=known.same("grid shapes", lambda item: item.grid),
        threads_per_block=known.same("block sizes", lambda item: item.threads_per_block),
        blocks=known.same("grid sizes", lambda item: item.blocks),
        compute_capability=known.same("compute capabilities", lambda item: item.compute_capability),
        notes=known.all_notes(),
        is_even=known.is_even,
    )


class _Means:
    """What launches have in common, and a note for each thing that only some of them tell."""

    def __init__(self, group: Sequence[ProfiledLaunch]) -> None:
        self._group = group
        self._notes: list[str] = []
        self.is_even = len({item.compute_capability for item in group}) == 1
        self.launches = sum(item.launches for item in group)

    def of(self, what: str, pick: Callable[[ProfiledLaunch], float | None]) -> float | None:
        """The mean over the launches that have it."""
        having = [
            (value, item.launches) for item in self._group if (value := pick(item)) is not None
        ]
        weight = sum(count for _, count in having)
        if not weight:
            return None
        if weight < self.launches:
            self._notes.append(f"{what} known of {weight} of {self.launches} launches")
            self.is_even = False
        return sum(value * count for value, count in having) / weight

    def each(self, pick: Callable[[ProfiledLaunch], float | None]) -> _Each:
        values = tuple(pick(item) for item in self._group)
        single = self.launches == len(self._group)
        return values if single and _those_known(values) else ()

    def flop(self) -> Mapping[str, float]:
        means = {unit: self.of(f"{unit} FLOP", _flop_of(unit)) for unit in PRECISIONS}
        return MappingProxyType({unit: mean for unit, mean in means.items() if mean is not None})

    def same(self, what: str, pick: Callable[[ProfiledLaunch], _Same | None]) -> _Same | None:
        """What all launches that tell it agree on."""
        values = dict.fromkeys(value for item in self._group if (value := pick(item)) is not None)
        if len(values) > 1:
            self._notes.append(f"launched with {len(values)} different {what}")
        return next(iter(values)) if len(values) == 1 else None

    def all_notes(self) -> tuple[str, ...]:
        of_launches = [note for item in self._group for note in item.notes]
        return tuple(dict.fromkeys(of_launches + self._notes))


def _flop_of(unit: str) -> Callable[[ProfiledLaunch], float | None]:
    return lambda item: item.flop.get(unit)


def _first(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is None else value


def _those_known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
