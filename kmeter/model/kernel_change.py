"""What became of kernels between two builds: registers, shared memory, stack, spills, occupancy."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.kernel_occupancy import KernelOccupancy

_OF_THIS_BUILD = re.compile(r"_GLOBAL__N__[0-9a-f]{8}(?=_)")
"""An anonymous namespace's name: it has a hash of the build in it."""
_LEAST_CHANGE = 1e-9

LOWER_OCCUPANCY, SPILLS, REGISTERS, SHARED, MISSING = (
    "lower-occupancy", "spills", "registers", "shared", "missing",
)  # fmt: skip
GATES = (LOWER_OCCUPANCY, SPILLS, REGISTERS, SHARED, MISSING)
"""What a build may be failed on."""


class Difference(NamedTuple):
    """A quantity before and after; None is unknown."""

    quantity: str
    before: float | None
    after: float | None

    @property
    def is_more(self) -> bool:
        """Whether both are known, and the second is larger."""
        return self.before is not None and self.after is not None and self.after > self.before


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
        """Whether it is what the gate is against."""
        if self.before is None or self.after is None:
            return gate == MISSING and self.after is None
        return any(_is_against(gate, difference) for difference in self.differences)


def _is_against(gate: str, difference: Difference) -> bool:
    if gate == LOWER_OCCUPANCY:
        before, after = difference.before, difference.after
        is_lost = before is not None and after is not None and after < before - _LEAST_CHANGE
        return difference.quantity == "occupancy" and is_lost
    quantities = {
        SPILLS: ("spill bytes", "stack bytes"),
        REGISTERS: ("registers",),
        SHARED: ("static shared bytes", "dynamic shared bytes"),
    }
    return difference.quantity in quantities.get(gate, ()) and difference.is_more


def kernel_changes(
    before: Sequence[KernelOccupancy], after: Sequence[KernelOccupancy]
) -> list[KernelChange]:
    """Kernels of the second build in its order, then those that only the first one has.

    They are the same by name and architecture, the n-th of a name being the n-th of the other.
    """
    old = dict(_keyed(before))
    pairs = [(old.pop(key, None), item) for key, item in _keyed(after)]
    return [
        *(KernelChange(one, two, _differences(one, two) if one else ()) for one, two in pairs),
        *(KernelChange(item, None) for item in old.values()),
    ]


Key = tuple[str, str | None, int]


def _keyed(items: Iterable[KernelOccupancy]) -> Iterator[tuple[Key, KernelOccupancy]]:
    seen: dict[tuple[str, str | None], int] = {}
    for item in items:
        name = _OF_THIS_BUILD.sub("_GLOBAL__N__", item.kernel.name)
        key = (name, item.kernel.architecture)
        seen[key] = seen.get(key, 0) + 1
        yield (*key, seen[key]), item


def _differences(one: KernelOccupancy, two: KernelOccupancy) -> tuple[Difference, ...]:
    pairs = zip(_quantities(one), _quantities(two), strict=True)
    return tuple(
        Difference(name, before, after) for (name, before), (_, after) in pairs if before != after
    )


def _quantities(item: KernelOccupancy) -> Iterator[tuple[str, float | None]]:
    kernel = item.kernel
    yield "registers", kernel.registers_per_thread
    yield "static shared bytes", kernel.static_shared_bytes
    yield "dynamic shared bytes", kernel.dynamic_shared_bytes
    yield "stack bytes", kernel.stack_bytes
    yield "spill bytes", spill_bytes(kernel)
    yield "barriers", kernel.barriers
    yield "block size", item.block_size
    yield "occupancy", item.fraction


def spill_bytes(kernel: CompiledKernel) -> int | None:
    """Stored and loaded; None where the file does not say."""
    if kernel.spill_store_bytes is None or kernel.spill_load_bytes is None:
        return None
    return kernel.spill_store_bytes + kernel.spill_load_bytes
