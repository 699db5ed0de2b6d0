"""Arrays of any framework: where they lie, what they hold, and their values on the host.

They are understood by what they offer: PyTorch's pointer and strides, ``__cuda_array_interface__``,
NumPy's ``__array_interface__``, DLPack.
"""

import copy
import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from kmeter.bench.dlpack import dlpack_view
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import CudaContext
from kmeter.measure.host_memory import host_memory

KNOWN_ROOTS = frozenset(
    {"torch", "cupy", "numpy", "numba", "warp", "cuda", "jax", "jaxlib", "builtins"}
)
"""Where the types of finished arrays come from; another type may compute when it is looked at."""
_IMMUTABLE_ROOTS = frozenset({"jax", "jaxlib"})
"""Frameworks whose arrays may be shared by anything, and are never written to."""
POISON = 0xFF
"""Every byte of it makes NaN of any floating-point type, and -1 or 255 of an integer."""


class UnreadableError(KmeterError):
    """An array whose values cannot be read."""


class View(NamedTuple):
    """An array's memory."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes, one a dimension."""
    dtype: str
    """``float32``, ``bfloat16``, ``float8_e4m3fn``, …"""
    item_bytes: int
    on_gpu: bool
    owner: Any
    """Keeps the memory alive."""

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def span_bytes(self) -> int:
        """From its first byte to its last."""
        if not self.size:
            return 0
        reach = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        return reach + self.item_bytes

    @property
    def is_dense(self) -> bool:
        """Whether its elements fill its span: no other array's lie between them."""
        return self.span_bytes == self.size * self.item_bytes and min(self.strides, default=0) >= 0

    def overlaps(self, other: "View") -> bool:
        """Whether both share memory."""
        return (
            self.on_gpu == other.on_gpu
            and self.pointer < other.pointer + other.span_bytes
            and other.pointer < self.pointer + self.span_bytes
        )


def view_of(value: Any) -> View | None:
    """The memory of an array; None for what is no array, a number for example."""
    if _has_no_memory_of_its_own(value):
        return None
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return _of_torch(value)
    interface = _interface(value, "__cuda_array_interface__")
    if interface is not None:
        return _of_interface(interface, value, on_gpu=True)
    interface = _interface(value, "__array_interface__")
    if interface is not None:
        return _of_interface(interface, value, on_gpu=False)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        found = dlpack_view(value)
        return View(*found, owner=value)
    return None


def _has_no_memory_of_its_own(value: Any) -> bool:
    """A NumPy number, whose interface points to a copy that is gone at once, or addresses of objects."""
    return isinstance(value, numpy.generic) or _holds_objects(value)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype.hasobject


def _interface(value: Any, name: str) -> Mapping[str, Any] | None:
    if isinstance(value, type) or not hasattr(type(value), name):
        return None
    interface = getattr(value, name, None)  # some raise it where the array lies elsewhere
    return interface if isinstance(interface, Mapping) else None


def _of_torch(tensor: Any) -> View:
    if hasattr(tensor, "resolve_conj"):  # a conjugate may be a mark on memory that holds the plain
        tensor = tensor.resolve_conj().resolve_neg()
    item = int(tensor.element_size())
    return View(
        pointer=int(tensor.data_ptr()),
        shape=tuple(int(n) for n in tensor.shape),
        strides=tuple(int(n) * item for n in tensor.stride()),
        dtype=str(tensor.dtype).removeprefix("torch."),
        item_bytes=item,
        on_gpu=tensor.device.type == "cuda",
        owner=tensor,
    )


def _of_interface(interface: Mapping[str, Any], owner: Any, *, on_gpu: bool) -> View:
    kind = numpy.dtype(interface["typestr"])
    shape = tuple(int(n) for n in interface["shape"])
    strides = interface.get("strides") or _dense_strides(shape, kind.itemsize)
    name = _name_of(owner, kind)
    return View(
        interface["data"][0] or 0, shape, tuple(strides), name, kind.itemsize, on_gpu, owner
    )


def _name_of(owner: Any, kind: "numpy.dtype[Any]") -> str:
    """ml_dtypes' types look like raw bytes in the interface and tell their name themselves."""
    return str(getattr(owner, "dtype", kind)) if kind.kind == "V" else kind.name


def _dense_strides(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    strides, stride = [], item_bytes
    for n in reversed(shape):
        strides.append(stride)
        stride *= n
    return tuple(reversed(strides))


def flattened(value: Any) -> Iterator[Any]:
    """The arrays and numbers in a result: of tuples and lists in order, of dicts by their keys."""
    if isinstance(value, Mapping):
        keys, items = list(value), list(value.values())
        if len(keys) == len(items):  # one that computes its values may have no keys
            pairs = sorted(zip(keys, items, strict=True), key=lambda pair: str(pair[0]))
            items = [item for _, item in pairs]
        for item in items:
            yield from flattened(item)
    elif isinstance(value, tuple | list) and not hasattr(value, "__array_interface__"):
        for item in value:
            yield from flattened(item)
    elif value is not None:
        yield value


def computes_later(result: Any) -> bool:
    """Whether any part of a result may compute only when it is looked at."""
    if isinstance(result, Mapping | tuple | list):
        if not _is_plain(type(result)):
            return True
        items = result.values() if isinstance(result, Mapping) else result
        return any(computes_later(item) for item in items)
    return result is not None and is_lazy(result)


def _is_plain(container: type) -> bool:
    """Whether looking into a container runs none of the user's code."""
    name = "values" if issubclass(container, Mapping) else "__iter__"
    owner = next(base for base in container.__mro__ if name in vars(base))
    return owner.__module__ in {"builtins", "collections"}


def is_undone(value: Any) -> bool:
    """Whether a result is work that somebody else has to begin: a generator, a coroutine."""
    return hasattr(type(value), "__next__") or hasattr(type(value), "__await__")


def is_lazy(value: Any) -> bool:
    """Whether a result is of a type that may compute only when it is looked at."""
    if view_is_possible(value):
        return _root(value) not in KNOWN_ROOTS
    return not isinstance(value, int | float | complex | bool | str | bytes | numpy.generic)


def view_is_possible(value: Any) -> bool:
    """Whether a value offers to be read as an array; nothing is asked of it."""
    offers = (
        "data_ptr",
        "__cuda_array_interface__",
        "__array_interface__",
        "__dlpack__",
        "__array__",
    )
    return any(hasattr(type(value), name) for name in offers)


def _root(value: Any) -> str:
    """The package that a value's type comes from."""
    return type(value).__module__.split(".")[0]


# ---- values ---------------------------------------------------------------------------------


def values_of(value: Any, context: CudaContext | None) -> tuple[NDArray[Any], str]:
    """The values on the host as they stand in memory, and their data type's name.

    Types that NumPy lacks come as their bits. Raises UnreadableError for what cannot be read.
    """
    if _holds_objects(value):
        raise UnreadableError("an array of Python objects cannot be compared")
    if isinstance(value, numpy.ma.MaskedArray) and numpy.ma.is_masked(value):
        raise UnreadableError("an array with masked elements cannot be compared")
    if isinstance(value, numpy.ndarray) and (value.dtype.kind in "MmUS" or value.dtype.names):
        return _as_bits(value), str(value.dtype)
    view = view_of(value)
    if view is None:
        if isinstance(value, int | float | complex | bool | numpy.generic):
            number = numpy.asarray(value)
            return number, number.dtype.name
        array = numpy.asarray(value) if hasattr(value, "__array__") else None
        if array is not None and not array.dtype.hasobject:
            return array, array.dtype.name
        raise UnreadableError(f"a result of type {type(value).__name__} cannot be compared")
    return _read(view, context), view.dtype


def _as_bits(array: NDArray[Any]) -> NDArray[Any]:
    """Moments as integers, texts and structures as their bytes: neither can be reckoned with."""
    array = numpy.array(array, order="C", subok=False)
    if array.dtype.kind in "Mm":
        return array.astype(numpy.int64)
    raw = numpy.frombuffer(array.tobytes(), numpy.uint8)
    return raw.reshape((*array.shape, array.dtype.itemsize))


def _read(view: View, context: CudaContext | None) -> NDArray[Any]:
    if min(view.strides, default=0) < 0:
        if view.on_gpu:
            raise UnreadableError("an array that runs backwards in memory cannot be read")
        return numpy.array(view.owner)
    raw = _bytes_for(view, context)
    if view.span_bytes:
        target = raw.ctypes.data_as(ctypes.c_void_p)
        if not view.on_gpu:
            ctypes.memmove(target, view.pointer, view.span_bytes)
        elif context is None:
            raise UnreadableError("an array on a GPU, of which no driver is known")
        else:
            context.copy_to_host(target, view.pointer, view.span_bytes)
    kind = numpy.dtype(_storage(view))
    if isinstance(view.owner, numpy.ndarray):  # it may hold numbers in the other order of bytes
        kind = kind.newbyteorder(view.owner.dtype.byteorder)
    return numpy.ndarray(view.shape, kind, raw.data if view.span_bytes else b"", 0, view.strides)


def _bytes_for(view: View, context: CudaContext | None) -> NDArray[numpy.uint8]:
    """Host memory that the array's span fits into."""
    if view.on_gpu and context is not None:
        return host_memory(context).array(view.span_bytes)
    return numpy.empty(view.span_bytes, numpy.uint8)


def _storage(view: View) -> str:
    """The NumPy type that holds an element: its own, or unsigned bits of that size."""
    try:
        return numpy.dtype(view.dtype).name
    except TypeError:
        return f"uint{8 * view.item_bytes}"


# ---- writing --------------------------------------------------------------------------------


def poison(value: Any, context: CudaContext | None) -> bool:
    """Overwrite an array with bytes that no right result has; False where that cannot be done."""
    view = view_of(value)
    if view is None or not view.is_dense or not view.size or _root(value) in _IMMUTABLE_ROOTS:
        return False
    if not view.on_gpu:
        if isinstance(value, numpy.ndarray) and not value.flags.writeable:
            return False
        ctypes.memset(view.pointer, POISON, view.span_bytes)
        return True
    if context is None:
        return False
    context.fill(view.pointer, POISON, view.span_bytes, 0)
    context.synchronize()
    return True


def overwrite(target: Any, source: Any, context: CudaContext | None) -> bool:
    """Give one array another's values, at its own address; False where they do not fit."""
    to, came_from = view_of(target), view_of(source)
    if to is None or came_from is None or _root(target) in _IMMUTABLE_ROOTS:
        return False
    if (to.shape, to.strides, to.dtype, to.on_gpu) != (
        came_from.shape, came_from.strides, came_from.dtype, came_from.on_gpu,
    ):  # fmt: skip
        return False
    if not to.is_dense or (isinstance(target, numpy.ndarray) and not target.flags.writeable):
        return False
    if not to.on_gpu:
        ctypes.memmove(to.pointer, came_from.pointer, to.span_bytes)
    elif context is None:
        return False
    else:
        context.copy_on_device(to.pointer, came_from.pointer, to.span_bytes)
    return True


def cloned(value: Any) -> Any:
    """The same values in other memory; what is no array stays what it is."""
    if isinstance(value, Mapping):
        return {key: cloned(item) for key, item in value.items()}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(cloned(item) for item in value)
    if view_of(value) is None:
        return value
    return _copier(value)(value)


def _copier(value: Any) -> Callable[[Any], Any]:
    root = _root(value)
    if root == "warp":
        clone: Callable[[Any], Any] = sys.modules["warp"].clone
        return clone
    if root == "torch":
        return lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if root == "numba":
        numba_cuda = sys.modules["numba.cuda"]
        return lambda array: _numba_copy(numba_cuda, array)
    if hasattr(value, "copy"):
        return lambda array: array.copy()
    return copy.deepcopy


def _numba_copy(numba_cuda: Any, array: Any) -> Any:
    fresh = numba_cuda.device_array_like(array)
    fresh.copy_to_device(array)
    return fresh
