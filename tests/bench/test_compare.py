"""Results held against right ones: every way to be wrong, and what is near enough."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kmeter.bench.arrays import POISON
from kmeter.bench.compare import compare, typical
from kmeter.bench.numbers import as_numbers, fineness
from kmeter.errors import KmeterError

RANDOM = np.random.default_rng(1)


def f32(*values: float) -> tuple[NDArray[Any], str]:
    return np.array(values, np.float32), "float32"


RIGHT = f32(*RANDOM.standard_normal(1000))


def near(values: tuple[NDArray[Any], str], relative: float) -> tuple[NDArray[Any], str]:
    return (values[0] * (1 + relative)).astype(values[0].dtype), values[1]


def test_equal_results_have_no_error() -> None:
    found = compare(RIGHT, RIGHT)
    assert (found.reason, found.largest_error) == ("", 0.0)


def test_another_order_of_summing_is_right_and_more_is_not() -> None:
    assert compare(near(RIGHT, 1e-5), RIGHT).reason == ""
    assert "elements are wrong" in compare(near(RIGHT, 1e-3), RIGHT).reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (float("nan"), "1 element is NaN, the first at 7"),
        (float("inf"), "1 element is infinite, the first at 7"),
        (99.0, "1 element is wrong, the first at 7: 99 where"),
    ],
)
def test_one_bad_element_is_found(bad: float, reason: str) -> None:
    values = RIGHT[0].copy()
    values[7] = bad
    assert reason in compare((values, "float32"), RIGHT).reason


def test_nan_and_infinity_are_right_where_the_reference_has_them() -> None:
    odd = f32(1.0, float("nan"), float("inf"), -float("inf"))
    assert compare(odd, odd).reason == ""
    flipped = f32(1.0, float("nan"), -float("inf"), -float("inf"))
    assert "1 element is wrong, the first at 2: -inf where inf" in compare(flipped, odd).reason
    finite = f32(1.0, float("nan"), 5.0, -float("inf"))
    assert "1 element is wrong, the first at 2: 5 where inf" in compare(finite, odd).reason


def test_shape_and_type_count() -> None:
    assert "shape is 500x2" in compare((RIGHT[0].reshape(500, 2), "float32"), RIGHT).reason
    wide = (RIGHT[0].astype(np.float64), "float64")
    assert "type is float64, the reference's float32" in compare(wide, RIGHT).reason


def test_what_was_not_written_is_told() -> None:
    values = RIGHT[0].copy()
    values.view(np.uint8)[400:] = POISON
    assert (
        "900 elements are not written, the first at 100"
        in compare((values, "float32"), RIGHT).reason
    )
    whole = np.arange(100, dtype=np.int32)
    part = whole.copy()
    part.view(np.uint8)[200:] = POISON
    assert "50 elements are not written" in compare((part, "int32"), (whole, "int32")).reason


def test_poison_is_no_nan_that_was_asked_for() -> None:
    nan = f32(*[float("nan")] * 10)
    untouched = nan[0].copy()
    untouched.view(np.uint8)[:] = POISON
    assert compare(nan, nan).reason == ""
    assert "10 elements are not written" in compare((untouched, "float32"), nan).reason


def test_zeros_do_not_pass_for_tiny_values() -> None:
    tiny = near(RIGHT, 0)[0] * np.float32(1e-6)
    zeros = np.zeros_like(tiny)
    assert "are wrong" in compare((zeros, "float32"), (tiny, "float32")).reason
    forgiving = compare((tiny, "float32"), (tiny, "float32"), tolerance=(1e-2, 1e-3))
    assert "zeros would pass" in forgiving.reason


def test_zeros_are_right_where_zeros_are_expected() -> None:
    zeros = f32(*[0.0] * 10)
    assert compare(zeros, zeros, tolerance=(1e-2, 1e-3)).reason == ""


def test_integers_are_equal_or_wrong() -> None:
    right = np.arange(10, dtype=np.int64)
    assert compare((right, "int64"), (right, "int64")).allowed == "equal"
    assert "1 element is wrong" in compare((right + (right == 3), "int64"), (right, "int64")).reason
    assert compare((right + 1, "int64"), (right, "int64"), tolerance=(0.0, 1.0)).reason == ""


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64", "int64"])
def test_a_difference_of_integers_does_not_wrap(dtype: str) -> None:
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    own = (ends[::-1].copy(), dtype)
    assert compare(own, (ends, dtype), tolerance=(0.0, 1.0)).reason
    one_off = (np.array([99, 101], dtype), dtype)
    assert not compare(one_off, (np.array([100, 100], dtype), dtype), tolerance=(0.0, 1.0)).reason


def test_truth_values_with_a_tolerance_are_compared() -> None:
    right = np.array([True, False, True])
    assert compare((right, "bool"), (right, "bool"), tolerance=1e-3).reason == ""
    assert "3 elements are wrong" in compare((~right, "bool"), (right, "bool"), 1e-3).reason


def test_a_large_error_far_back_is_found() -> None:
    right = np.ones((1 << 22) + 10, np.float32)
    own = right.copy()
    own[-1] = 2
    assert f"the first at {(1 << 22) + 9}" in compare((own, "float32"), (right, "float32")).reason


def test_the_compute_unit_loosens_the_tolerance() -> None:
    assert compare(near(RIGHT, 2e-3), RIGHT, unit="tf32_tensor").reason == ""
    assert compare(near(RIGHT, 2e-3), RIGHT, unit="fp32").reason


def test_numbers_of_python_have_no_type_to_be_wrong_in() -> None:
    assert (
        compare((np.asarray(2.0), "float64"), (np.asarray(np.float32(2.0)), "float32")).reason == ""
    )


def test_typical_leaves_out_zeros_and_infinities() -> None:
    assert typical(np.array([0, 0, 3.0, -5.0, np.inf, 4.0]), "float64") == 4.0
    assert typical(np.zeros(4), "float64") == 0.0


# ---- types that NumPy lacks -----------------------------------------------------------------


def test_bfloat16_is_the_upper_half_of_float32() -> None:
    values = np.array([1.0, -2.5, np.inf, np.nan], np.float32)
    bits = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    np.testing.assert_array_equal(as_numbers(bits, "bfloat16"), values)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_the_bits_mean_what_ml_dtypes_says(dtype: str) -> None:
    """Every pattern, as bits and as the type itself where a package gives NumPy the type."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, dtype))
    bits = np.arange(256**kind.itemsize, dtype=f"u{kind.itemsize}")
    own = bits.view(kind)
    with np.errstate(invalid="ignore"):
        right = own.astype(np.float64)
    np.testing.assert_array_equal(as_numbers(bits, dtype), right)
    np.testing.assert_array_equal(as_numbers(own, dtype), right)


def test_a_type_that_nobody_knows_is_told() -> None:
    with pytest.raises(KmeterError, match="float8_e8m0fnu cannot be compared"):
        as_numbers(np.zeros(3, np.uint8), "float8_e8m0fnu")


@pytest.mark.parametrize(
    ("dtype", "pattern", "value"),
    [
        ("float8_e4m3fn", 0x00, 0.0),
        ("float8_e4m3fn", 0x01, 2.0**-9),
        ("float8_e4m3fn", 0x38, 1.0),
        ("float8_e4m3fn", 0x7E, 448.0),
        ("float8_e4m3fn", 0xFF, float("nan")),
        ("float8_e5m2", 0x01, 2.0**-16),
        ("float8_e5m2", 0x3C, 1.0),
        ("float8_e5m2", 0x7B, 57344.0),
        ("float8_e5m2", 0xFC, -float("inf")),
        ("float8_e5m2", 0x7F, float("nan")),
    ],
)
def test_eight_bit_floats(dtype: str, pattern: int, value: float) -> None:
    found = as_numbers(np.array([pattern], np.uint8), dtype)
    np.testing.assert_array_equal(found, [value])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_type_allows_several_roundings_and_not_thousands(dtype: str) -> None:
    epsilon = {"float32": 2**-23, "float64": 2**-52, "float16": 2**-10, "bfloat16": 2**-7}[dtype]
    assert 2 * epsilon < fineness(dtype).relative < 1e6 * epsilon


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
        (np.array(["a", "bc"]), np.array(["a", "bd"])),
        (np.array([(1.0, 2)], "f4, i4"), np.array([(1.0, 3)], "f4, i4")),
        (np.array([True, False]), np.array([True, True])),
    ],
)
def test_dates_text_and_records_are_equal_or_wrong(right: Any, wrong: Any) -> None:
    name = right.dtype.name
    assert compare((right, name), (right.copy(), name)).reason == ""
    assert "1 element is wrong" in compare((wrong, name), (right, name)).reason
