"""The units whose peak rate kmeter knows: a data type on the vector or on the tensor pipe.

A multiply-add counts as two operations, a four-way int8 dot product as eight.
"""

VECTOR_UNITS = ("fp64", "fp32", "fp16", "bf16", "int32", "int8_dot")

TENSOR_UNITS = (
    "fp64_tensor",
    "tf32_tensor",
    "fp16_tensor",
    "fp16_tensor_fp16_accumulate",
    "bf16_tensor",
    "fp8_tensor",
    "fp8_tensor_fp32_accumulate",
    "fp6_tensor",
    "fp4_tensor",
    "int8_tensor",
    "int4_tensor",
)

DENSE_UNITS = VECTOR_UNITS + TENSOR_UNITS

SPARSE = "_sparse"

SPARSE_UNITS = tuple(unit + SPARSE for unit in TENSOR_UNITS if unit != "fp64_tensor")
"""Two of four values zero (2:4), counted as the vendor does: the zeros too."""

UNITS = DENSE_UNITS + SPARSE_UNITS

INTEGER_UNITS = ("int32", "int8_dot", "int8_tensor", "int4_tensor")

BOOST_CLOCKED_TENSOR_UNITS = ("fp64_tensor",)
"""Tensor figures that vendors print at the vector pipe's clock."""

_LABELS = {
    "int8_dot": "int8 dot (dp4a)",
    "fp16_tensor": "fp16 tensor (fp32 accumulate)",
    "fp16_tensor_fp16_accumulate": "fp16 tensor (fp16 accumulate)",
    "fp8_tensor_fp32_accumulate": "fp8 tensor (fp32 accumulate)",
}


def dense(unit: str) -> str:
    """The unit without the sparse factor."""
    return unit.removesuffix(SPARSE)


def is_tensor(unit: str) -> bool:
    """Whether the unit is on the tensor pipe."""
    return dense(unit) in TENSOR_UNITS


def operation(unit: str) -> str:
    """What the unit counts: FLOP, or OP for integers."""
    return "OP" if dense(unit) in INTEGER_UNITS else "FLOP"


def label(unit: str) -> str:
    """The unit as people write it: ``fp16_tensor_sparse`` is ``fp16 tensor sparse``."""
    name = _LABELS.get(dense(unit), dense(unit).replace("_", " "))
    return f"{name} sparse" if unit.endswith(SPARSE) else name


def unit_named(text: str) -> str | None:
    """The unit that a user means by ``fp16-tensor``, ``FP32`` or ``tf32``; None if none is."""
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    if name in UNITS:
        return name
    # Data types that only the tensor pipe has need no "_tensor".
    tensor_only = name.replace(dense(name), f"{dense(name)}_tensor", 1)
    return tensor_only if tensor_only in UNITS else None
