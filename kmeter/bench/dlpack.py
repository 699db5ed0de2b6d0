"""DLPack's capsule read through ctypes: the memory of arrays that offer nothing else.

The layout is dlpack.h's; both its first form and the versioned one are understood.
"""

import ctypes
from typing import Any

from kmeter.errors import KmeterError

_CPU_DEVICES = frozenset({1, 3})
_CUDA_DEVICES = frozenset({2, 13})
_NAMES = {
    0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool",
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn",
    11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}  # fmt: skip


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


Found = tuple[int, tuple[int, ...], tuple[int, ...], str, int, bool]


def dlpack_view(value: Any) -> Found:
    """Pointer, shape, strides in bytes, data type, bytes of an item, and whether it is on a GPU.

    The capsule is let go unused, which gives the array back. Raises KmeterError for what cannot be
    read as bytes: another device, several lanes, items of less than a byte.
    """
    device = int(value.__dlpack_device__()[0])
    if device not in _CPU_DEVICES | _CUDA_DEVICES:
        raise KmeterError(f"an array on DLPack's device {device} cannot be read")
    capsule = value.__dlpack__()
    tensor = _tensor_in(capsule)
    kind = tensor.dtype
    if kind.lanes != 1 or kind.bits % 8:
        raise KmeterError(f"an array of {kind.bits} bits and {kind.lanes} lanes cannot be read")
    item = kind.bits // 8
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[n] * item for n in range(tensor.ndim))
    else:
        strides = tuple(_product(shape[n + 1 :]) * item for n in range(tensor.ndim))
    pointer = (tensor.data or 0) + tensor.byte_offset
    return pointer, shape, strides, _name(kind.code, kind.bits), item, device in _CUDA_DEVICES


def _tensor_in(capsule: Any) -> _Tensor:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    name = api.PyCapsule_GetName(capsule)
    pointer = api.PyCapsule_GetPointer(capsule, name)
    if name == b"dltensor_versioned":
        found: _Tensor = _Versioned.from_address(pointer).tensor
        return found
    return _Tensor.from_address(pointer)


def _name(code: int, bits: int) -> str:
    name = _NAMES.get(code)
    if name is None:
        raise KmeterError(f"DLPack's data type {code} is not known")
    return name if name.startswith("float8") or name == "bool" else f"{name}{bits}"


def _product(numbers: tuple[int, ...]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product
