"""What became of kernels between two builds: registers, shared memory, stack, spills, bounds, occupancy."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from kmeter.model.compiled_kernel import CompiledKernel, Dimensions
from kmeter.model.kernel_occupancy import BEST, KernelOccupancy, LaunchWish, kernel_occupancy

_OF_A_FILE = re.compile(r"(\d{1,4})(?=_GLOBAL__N_)|__nv_static_(\d{1,4})_")
"""A name that only one file knows: how long the part is that has a hash of the build in it."""
_LEAST_CHANGE = 1e-9

LOWER_OCCUPANCY, SPILLS, REGISTERS, SHARED, MISSING = (
    "lower-occupancy", "spills", "registers", "shared", "missing",
)  # fmt: skip
GATES = (LOWER_OCCUPANCY, SPILLS, REGISTERS, SHARED, MISSING)
"""What a build may be failed on."""
_GATED = {
    LOWER_OCCUPANCY: ("occupancy",),
    REGISTERS: ("registers",),
    SHARED: ("static shared bytes", "dynamic shared bytes"),
}


class Difference(NamedTuple):
    """A quantity before and after; None is unknown."""

    quantity: str
    before: float | None
    after: float | None

    @property
    def is_worse(self) -> bool:
        """Whether there is more of it, or less occupancy; so is what is not known any more."""
        if self.before is None:
            return False
        if self.after is None:
            return True
        if self.quantity == "occupancy":
            return self.after < self.before - _LEAST_CHANGE
        return self.after > self.before


class KernelChange(NamedTuple):
    """A kernel of either build, or of both."""

    before: KernelOccupancy | None
    after: KernelOccupancy | None
    differences: tuple[Difference, ...] = ()

    @property
    def kernel(self) -> CompiledKernel:
        """The newer one where there are two."""
        found = self.after or self.before
        assert found is not None
        return found.kernel

    def fails(self, gate: str) -> bool:
        """Whether it is what the gate is against. A number that was known and is not any more fails it,
        and so does a new kernel that spills.
        """
        if self.after is None:
            return gate == MISSING
        if self.before is None:
            return gate == SPILLS and bool(spill_bytes(self.kernel))
        names = _GATED.get(gate, ())
        if gate == SPILLS:
            both = (spill_bytes(self.before.kernel), spill_bytes(self.after.kernel))
            names = ("stack bytes",) if None in both else ("spill bytes",)
        return any(found.is_worse for found in self.differences if found.quantity in names)


def kernel_changes(
    before: Sequence[KernelOccupancy], after: Sequence[KernelOccupancy]
) -> list[KernelChange]:
    """Kernels of the second build in its order, then those that only the first one has.

    They are the same by name and architecture. Of several of a name those that are alike belong
    together, then the n-th of the one build to the n-th of the other.
    """
    old = _grouped(before)
    pairs = [
        (item, _taken(old.get(key, []), item))
        for key, group in _grouped(after).items()
        for item in sorted(group, key=lambda item: _twin(old.get(key, []), item) is None)
    ]
    order = {id(item): place for place, item in enumerate(after)}
    pairs.sort(key=lambda pair: order[id(pair[0])])
    return [
        *(KernelChange(one, two, _differences(one, two) if one else ()) for two, one in pairs),
        *(KernelChange(item, None) for rest in old.values() for item in rest),
    ]


Key = tuple[str, str]


def _grouped(items: Iterable[KernelOccupancy]) -> dict[Key, list[KernelOccupancy]]:
    groups: dict[Key, list[KernelOccupancy]] = {}
    for item in items:
        key = same_name(item.kernel.name), (item.kernel.architecture or "").rstrip("af")
        groups.setdefault(key, []).append(item)
    return groups


def same_name(name: str) -> str:
    """A name without what differs from build to build in it."""
    parts, last = [], 0
    for found in _OF_A_FILE.finditer(name):
        if found.start() < last:
            continue
        length = int(found[1] or found[2])
        parts.append(name[last : found.start()] + "_of_a_file_")
        last = min(len(name), found.end() + length)
    return "".join([*parts, name[last:]])


def _twin(old: Sequence[KernelOccupancy], item: KernelOccupancy) -> KernelOccupancy | None:
    """One of which nothing has changed."""
    wanted = list(_quantities(item))
    return next((one for one in old if list(_quantities(one)) == wanted), None)


def _taken(old: list[KernelOccupancy], item: KernelOccupancy) -> KernelOccupancy | None:
    """The one that it belongs to, which is gone from the list then."""
    found = _twin(old, item) or next(iter(old), None)
    if found is not None:
        old.remove(found)
    return found


def _differences(one: KernelOccupancy, two: KernelOccupancy) -> tuple[Difference, ...]:
    older = {**dict(_quantities(one)), "occupancy": _fraction_at(one, two)}
    return tuple(
        Difference(name, older[name], after)
        for name, after in _quantities(two)
        if older[name] != after
    )


def _fraction_at(one: KernelOccupancy, two: KernelOccupancy) -> float | None:
    """The older one's occupancy at the block of the newer one: of other blocks nothing follows.

    Where each has its best block that is what is compared.
    """
    are_best = one.block_source == two.block_source == BEST
    if one.report is None or two.report is None or are_best or one.block_size == two.block_size:
        return one.fraction
    wish = LaunchWish(
        block_size=two.block_size, compute_capability=one.report.architecture.compute_capability
    )
    there = kernel_occupancy(one.kernel._replace(max_threads_per_block=None), wish)
    return one.fraction if there.fraction is None else there.fraction


def _quantities(item: KernelOccupancy) -> Iterator[tuple[str, float | None]]:
    kernel = item.kernel
    yield "registers", kernel.registers_per_thread
    yield "static shared bytes", kernel.static_shared_bytes
    yield "dynamic shared bytes", kernel.dynamic_shared_bytes
    yield "stack bytes", kernel.stack_bytes
    yield "spill bytes", spill_bytes(kernel)
    yield "barriers", kernel.barriers
    yield "most threads", kernel.max_threads_per_block
    yield "required threads", _count(kernel.required_block)
    yield "blocks a cluster", _count(kernel.cluster)
    yield "most blocks a cluster", kernel.max_cluster_rank
    yield "block size", item.block_size
    yield "occupancy", item.fraction


def _count(extents: Dimensions | None) -> int | None:
    return prod(extents) if extents else None


def spill_bytes(kernel: CompiledKernel) -> int | None:
    """Stored and loaded; None where the file does not say."""
    if kernel.spill_store_bytes is None or kernel.spill_load_bytes is None:
        return None
    return kernel.spill_store_bytes + kernel.spill_load_bytes
