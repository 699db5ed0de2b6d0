"""A framework for the fake GPU: arrays on it, and kernels of a known duration. User files import it."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy

from kmeter.bench import frameworks

_lib = ctypes.CDLL("libcuda.so.1")
_lib.fakeLaunch.argtypes = (
    ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_size_t, ctypes.c_longlong,
)  # fmt: skip
_lib.cuMemFree_v2.argtypes = (ctypes.c_void_p,)
_NOTHING, _ADD, _CRASH, _HANG, _DOUBLE, _SKIP, _MARK = range(7)
KERNEL_NS = 50_000


class OutOfMemoryError(RuntimeError):
    """The fake GPU has no more memory."""


class Array:
    """float32 on the GPU."""

    def __init__(self, n: int) -> None:
        pointer = ctypes.c_void_p()
        if _lib.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4 * n)):
            raise OutOfMemoryError(f"no {4 * n} bytes are free")
        self.pointer, self.size = pointer.value or 0, n
        self.dtype = "float32"

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {
            "shape": (self.size,),
            "typestr": "<f4",
            "data": (self.pointer, False),
            "version": 3,
        }

    def copy(self) -> "Array":
        other = Array(self.size)
        ctypes.memmove(other.pointer, self.pointer, 4 * self.size)
        return other

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            _lib.cuMemFree_v2(self.pointer)


Array.__module__ = "cuda.fake"  # as a framework's own array, whose values are there


def rand(n: int) -> Array:
    """Random numbers on the GPU."""
    array = Array(n)
    values = numpy.random.rand(n).astype(numpy.float32)
    ctypes.memmove(array.pointer, values.ctypes.data, 4 * n)
    return array


_current = [0]


@contextmanager
def _on_stream(_: object, stream: int) -> Iterator[None]:
    _current.append(stream)
    yield
    _current.pop()


frameworks.FRAMEWORKS = (
    *frameworks.FRAMEWORKS,
    frameworks.Framework(
        "fakes.device", stream=lambda module: module._current[-1], on_stream=_on_stream
    ),
)


def launch(
    op: int,
    out: Array | None,
    a: Array | None,
    b: Array | None,
    ns: int,
    stream: int | None = None,
) -> None:
    """Give a kernel to a stream, the current one if none is named; raises what the driver says."""
    stream = _current[-1] if stream is None else stream
    pointers = [item.pointer if item is not None else None for item in (out, a, b)]
    size = out.size if out is not None else 0
    code = _lib.fakeLaunch(stream, op, *pointers, size, ns)
    if code:
        raise RuntimeError(f"CUDA error {code}")


def add(
    a: Array,
    b: Array,
    out: Array | None = None,
    ns: int = KERNEL_NS,
    stream: int | None = None,
    *,
    marks: bool = False,
) -> Array:
    """a + b, in a kernel of that duration, or half of it where lines it ``marks`` are still in L2."""
    out = Array(a.size) if out is None else out
    launch(_MARK if marks else _ADD, out, a, b, ns, stream)
    return out


def double(a: Array, ns: int = KERNEL_NS, stream: int | None = None) -> None:
    """Twice as much, in place."""
    launch(_DOUBLE, a, None, None, ns, stream)


def crash() -> None:
    """An illegal address."""
    launch(_CRASH, None, None, None, 1000)


def hang() -> None:
    """A kernel that never ends."""
    launch(_HANG, None, None, None, 0)


def synchronize() -> None:
    """Wait for everything."""
    _lib.cuCtxSynchronize()


def set_aside(size_bytes: int) -> None:
    """Let so much of L2 hold lines that stay."""
    _lib.fakeSetAside(ctypes.c_size_t(size_bytes))


def new_stream() -> int:
    """Another stream."""
    stream = ctypes.c_void_p()
    _lib.cuStreamCreate(ctypes.byref(stream), 1)
    return stream.value or 0


def current_stream() -> int:
    """The stream that kernels are given to where none is named."""
    return _current[-1]
