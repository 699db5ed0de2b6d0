"""Arrays of any framework, by what they offer; here NumPy's, and ones that only speak DLPack."""

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

from kmeter.bench import arrays
from kmeter.bench.arrays import View, cloned, computes_later, flattened, is_lazy, values_of, view_of
from kmeter.bench.compare import compare
from kmeter.errors import KmeterError


class OnlyDlpack:
    """An array of another framework."""

    def __init__(self, array: np.ndarray[Any, Any], device: int = 1) -> None:
        self._array, self._device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self._device, 0)


class TorchLike:
    """What kmeter asks a tensor for."""

    class device:  # noqa: N801
        type = "cpu"

    def __init__(self, array: np.ndarray[Any, Any], dtype: str) -> None:
        self._array, self.dtype, self.shape = array, f"torch.{dtype}", array.shape

    def data_ptr(self) -> int:
        return self._array.ctypes.data

    def element_size(self) -> int:
        return self._array.itemsize

    def stride(self) -> tuple[int, ...]:
        return tuple(n // self._array.itemsize for n in self._array.strides)


ARRAY = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize("wrap", [lambda a: a, OnlyDlpack, lambda a: TorchLike(a, "float32")])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:3], np.s_[:, ::2], np.s_[2, 3]])
def test_values_come_back_whatever_the_strides(wrap: Any, part: Any) -> None:
    array = np.asarray(ARRAY[part])
    values, dtype = values_of(wrap(array), None)
    np.testing.assert_array_equal(values, array)
    assert dtype == "float32"


def test_transposed_and_backward_arrays() -> None:
    np.testing.assert_array_equal(values_of(ARRAY.T, None)[0], ARRAY.T)
    np.testing.assert_array_equal(values_of(ARRAY[::-1], None)[0], ARRAY[::-1])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "complex64", "float16", "float64"])
def test_types_keep_their_names(dtype: str) -> None:
    array = np.zeros(3, dtype)
    for value in (array, OnlyDlpack(array)):
        view = view_of(value)
        assert view is not None
        assert (view.dtype, view.item_bytes) == (dtype, array.itemsize)


def test_a_type_that_numpy_lacks_comes_as_bits() -> None:
    bits = np.array([0x3F80], np.uint16)
    values, dtype = values_of(TorchLike(bits, "bfloat16"), None)
    assert (values.dtype.name, dtype) == ("uint16", "bfloat16")


@pytest.mark.parametrize("value", [3, 2.5, 1j, True, np.float32(2), np.int8(1)])
def test_numbers_are_values_without_memory(value: Any) -> None:
    assert view_of(value) is None
    assert values_of(value, None)[0] == value


@pytest.mark.parametrize("value", [object(), "text", None])
def test_what_is_no_array_cannot_be_read(value: Any) -> None:
    with pytest.raises(KmeterError, match="cannot be compared"):
        values_of(value, None)


def test_an_array_elsewhere_cannot_be_read() -> None:
    with pytest.raises(KmeterError, match="device 8"):
        view_of(OnlyDlpack(ARRAY, device=8))
    with pytest.raises(KmeterError, match="no driver"):
        values_of(OnlyDlpack(ARRAY, device=2), None)


def test_results_are_flattened_in_order() -> None:
    a, b = np.zeros(2), np.ones(2)
    assert [id(x) for x in flattened({"x": (a, [b, None]), "y": 3})][:2] == [id(a), id(b)]
    assert list(flattened(None)) == []


def test_clones_have_other_memory_and_the_same_values() -> None:
    value = {"x": (ARRAY, 3), "y": [ARRAY]}
    copy = cloned(value)
    np.testing.assert_array_equal(copy["x"][0], ARRAY)
    assert not np.shares_memory(copy["x"][0], ARRAY)
    assert copy["x"][1] == 3


def test_poison_makes_nan_and_spares_what_lies_between() -> None:
    array = np.ones(4, np.float32)
    assert arrays.poison(array, None)
    assert np.isnan(array).all()
    wide = np.ones((4, 4), np.float32)
    assert not arrays.poison(wide[:, :2], None)
    assert (wide == 1).all()
    frozen = np.ones(4)
    frozen.flags.writeable = False
    assert not arrays.poison(frozen, None)
    assert not arrays.poison(3.0, None)


def test_overwriting_keeps_the_address() -> None:
    target, source = np.zeros(4), np.ones(4)
    address = target.ctypes.data
    assert arrays.overwrite(target, source, None)
    assert (target == 1).all()
    assert target.ctypes.data == address
    assert not arrays.overwrite(target, np.ones(5), None)
    assert not arrays.overwrite(target, np.ones(4, np.float32), None)
    assert not arrays.overwrite(3, source, None)


def test_lazy_is_what_computes_when_it_is_looked_at() -> None:
    class Lazy:
        def __array__(self) -> Any:
            return ARRAY

    assert is_lazy(Lazy())
    assert not is_lazy(ARRAY)
    assert not is_lazy(3.0)
    assert not is_lazy(np.float32(3))


def test_a_container_with_its_own_way_to_be_read_may_compute_later() -> None:
    class LazyList(list[Any]):
        def __iter__(self) -> Any:
            return iter([ARRAY])

    class Pair(NamedTuple):
        one: Any
        other: Any

    assert computes_later(LazyList())
    assert computes_later((ARRAY, {"a": LazyList()}))
    for plain in (None, Pair(ARRAY, 3.0), OrderedDict(a=ARRAY), [ARRAY, {"a": 1}]):
        assert not computes_later(plain)


def test_numbers_in_the_other_order_of_bytes_are_read() -> None:
    values, dtype = values_of(np.array([1.5, -2.0], ">f8"), None)
    assert (values.tolist(), dtype) == ([1.5, -2.0], "float64")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array(["\U0001f600"]), np.array(["\U0001f601"])),
        (np.array([b"ab"]), np.array([b"ac"])),
        (np.array(["2026-01-01"], "M8[s]"), np.array(["2026-01-02"], "M8[s]")),
        (np.array([(1, 2.0)], "i4, f8"), np.array([(1, 3.0)], "i4, f8")),
    ],
)
def test_what_is_no_number_is_equal_or_wrong(one: Any, other: Any) -> None:
    assert compare(values_of(one, None), values_of(one.copy(), None)).reason == ""
    assert "wrong" in compare(values_of(one, None), values_of(other, None)).reason


def test_an_array_of_objects_is_left_alone() -> None:
    objects = np.array([1, "x", None], dtype=object)
    assert view_of(objects) is None
    assert not arrays.poison(objects, None)
    assert objects.tolist() == [1, "x", None]
    with pytest.raises(KmeterError, match="Python objects"):
        values_of(objects, None)


def test_overlap() -> None:
    first, second = view_of(ARRAY[:2]), view_of(ARRAY[1:])
    assert isinstance(first, View)
    assert isinstance(second, View)
    assert first.overlaps(second)
    other = view_of(ARRAY.copy())
    assert other is not None
    assert not first.overlaps(other)


def test_an_empty_array_has_no_span() -> None:
    view = view_of(np.empty((0, 3)))
    assert view is not None
    assert view.span_bytes == 0
    assert values_of(np.empty((0, 3)), None)[0].shape == (0, 3)


def test_python_objects_are_never_read_as_memory() -> None:
    objects = np.array([1, "a", None], dtype=object)
    assert view_of(objects) is None
    assert not arrays.poison(objects, None)
    with pytest.raises(KmeterError, match="cannot be compared"):
        values_of(objects, None)


def test_masked_elements_are_not_compared() -> None:
    array = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    with pytest.raises(KmeterError, match="masked"):
        values_of(array, None)
    assert values_of(np.ma.masked_array([1.0, 2.0]), None)[0].tolist() == [1.0, 2.0]


def test_dicts_are_flattened_by_their_keys() -> None:
    assert list(flattened({"b": 2, "a": 1})) == [1, 2]
