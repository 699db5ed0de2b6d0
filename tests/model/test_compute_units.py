"""Names of compute units, as kmeter, people and users write them."""

import pytest

from kmeter.model.compute_units import (
    SPARSE,
    SPARSE_UNITS,
    TENSOR_UNITS,
    UNITS,
    dense,
    is_tensor,
    label,
    operation,
    unit_named,
)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("fp32", "fp32"),
        ("FP32", "fp32"),
        ("fp16", "fp16"),
        ("fp16-tensor", "fp16_tensor"),
        ("fp16 tensor", "fp16_tensor"),
        ("tf32", "tf32_tensor"),
        ("fp8", "fp8_tensor"),
        ("fp8-sparse", "fp8_tensor_sparse"),
        ("int8_tensor_sparse", "int8_tensor_sparse"),
        ("fp64-tensor-sparse", None),
        ("fp31", None),
        ("", None),
        ("_sparse", None),
        ("tensor", None),
    ],
)
def test_unit_named(text: str, unit: str | None) -> None:
    assert unit_named(text) == unit


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_found_by_its_name(unit: str) -> None:
    assert unit_named(unit) == unit_named(unit.upper().replace("_", "-")) == unit


def test_labels_are_unique_and_readable() -> None:
    labels = [label(unit) for unit in UNITS]
    assert len(set(labels)) == len(UNITS)
    assert not any("_" in text for text in labels)
    assert label("fp16_tensor_sparse") == "fp16 tensor (fp32 accumulate) sparse"


@pytest.mark.parametrize("unit", SPARSE_UNITS)
def test_sparse_units_are_tensor_units(unit: str) -> None:
    assert is_tensor(unit)
    assert dense(unit) in TENSOR_UNITS
    assert unit == dense(unit) + SPARSE


@pytest.mark.parametrize(
    ("unit", "counted"), [("int32", "OP"), ("int8_tensor_sparse", "OP"), ("fp8_tensor", "FLOP")]
)
def test_integers_count_operations(unit: str, counted: str) -> None:
    assert operation(unit) == counted
