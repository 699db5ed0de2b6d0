"""Page-locked memory is given out again when nobody looks at it, and never to two at once."""

import ctypes

import numpy

from kmeter.errors import KmeterError
from kmeter.measure.host_memory import LEAST_BYTES, HostMemory

MIB = 2**20


class Locked:
    """A context whose page-locked memory is ordinary memory."""

    def __init__(self, free_bytes: int = 2**40) -> None:
        self.held: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.asked: list[int] = []
        self._free_bytes = free_bytes

    def allocate_mapped(self, size_bytes: int) -> tuple[int, int]:
        self.asked.append(size_bytes)
        if size_bytes > self._free_bytes:
            raise KmeterError("out of memory")
        buffer = ctypes.create_string_buffer(size_bytes)
        address = ctypes.addressof(buffer)
        self.held[address] = buffer
        return address, address

    def free_mapped(self, address: int) -> None:
        del self.held[address]


def memory(context: Locked, most_bytes: int = 64 * MIB) -> HostMemory:
    return HostMemory(context, most_bytes)  # type: ignore[arg-type]


def test_a_stretch_is_given_out_again_when_its_last_view_is_gone() -> None:
    context = Locked()
    lent = memory(context)
    first = lent.array(MIB)
    address, part = first.ctypes.data, first.view(numpy.float32)[100:200]
    del first
    assert lent.array(MIB).ctypes.data != address  # ``part`` still looks at it
    del part
    assert lent.array(MIB - 8).ctypes.data in context.held
    assert len(context.asked) == 2


def test_two_that_live_at_once_are_not_the_same() -> None:
    lent = memory(Locked())
    one, other = lent.array(MIB), lent.array(MIB)
    one[:], other[:] = 1, 2
    assert one.min() == one.max() == 1


def test_a_small_array_does_not_hold_a_large_stretch() -> None:
    context = Locked()
    lent = memory(context)
    del_me = lent.array(8 * MIB)
    del del_me
    lent.array(MIB)
    assert context.asked == [8 * MIB, MIB]


def test_small_ones_and_what_cannot_be_locked_lie_in_ordinary_memory() -> None:
    context = Locked(free_bytes=2 * MIB)
    lent = memory(context)
    assert lent.array(LEAST_BYTES - 1).size == LEAST_BYTES - 1
    assert lent.array(0).size == 0
    assert lent.array(65 * MIB).size == 65 * MIB
    assert context.asked == []
    assert lent.array(3 * MIB).size == 3 * MIB
    assert context.held == {}


def test_idle_ones_are_freed_before_the_limit_is_passed() -> None:
    context = Locked()
    lent = memory(context, most_bytes=10 * MIB)
    for size in (1, 2, 3):
        lent.array(size * MIB)
    kept = lent.array(9 * MIB)
    assert kept.ctypes.data in context.held
    assert len(context.held) == 1
    assert lent.array(2 * MIB).ctypes.data not in context.held
