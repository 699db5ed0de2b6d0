"""The few functions of cupti.cupti that kmeter calls, told by the fake GPU."""

import ctypes
from collections.abc import Callable
from enum import IntEnum
from typing import Any

_lib = ctypes.CDLL("libcuda.so.1")


class ActivityKind(IntEnum):
    """Numbers of CUPTI's header."""

    MEMCPY = 1
    MEMSET = 2
    CONCURRENT_KERNEL = 10


class _Record(ctypes.Structure):
    _fields_ = (
        ("start", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("is_kernel", ctypes.c_int),
        ("text", ctypes.c_char * 32),
    )

    @property
    def kind(self) -> ActivityKind:
        return ActivityKind.CONCURRENT_KERNEL if self.is_kernel else ActivityKind.MEMSET

    @property
    def name(self) -> str:
        return str(self.text.decode())


_lib.fakeRecords.restype = ctypes.POINTER(_Record)
_completed: list[Callable[[list[Any]], None]] = []
_enabled: set[int] = set()


def activity_register_callbacks(requested: Callable[[], Any], completed: Any) -> None:
    """As CUPTI: the size of a buffer is asked for, and records are handed over."""
    assert requested()[0] > 0
    _completed[:] = [completed]


def activity_enable(kind: int) -> None:
    _enabled.add(kind)
    _lib.fakeRecord(1)


def activity_disable(kind: int) -> None:
    _enabled.discard(kind)
    if not _enabled:
        _lib.fakeRecord(0)


def activity_flush_all(flag: int) -> None:
    """Hand over what was recorded."""
    count = _lib.fakeRecordCount()
    records = _lib.fakeRecords()
    found = [_Record.from_buffer_copy(records[n]) for n in range(count)]
    _completed[0]([record for record in found if record.kind in _enabled])
