"""cuBLASLt through nvmath-python: what it proposes for one product."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from nvmath.bindings import cublasLt as lt  # noqa: N813

PROPOSALS = 2


def proposals(
    product: Any, n: int, operands: tuple[int, int, int], workspace: Any, stream: int
) -> list[tuple[str, Callable[[], None]]]:
    """Launches of C = A^T B by each algorithm that the heuristics name, the favourite first."""
    from kmeter.measure.probes.matmul import _SCALES, TRANSPOSED

    handle = lt.create()
    description = lt.matmul_desc_create(product.compute, product.scale)
    _set(lt.matmul_desc_set_attribute, description, lt.MatmulDescAttribute.TRANSA, TRANSPOSED, "i4")
    left = lt.matrix_layout_create(product.operand, n, n, n)
    right = lt.matrix_layout_create(product.operand, n, n, n)
    result = lt.matrix_layout_create(product.result, n, n, n)
    preference = lt.matmul_preference_create()
    _set(
        lt.matmul_preference_set_attribute,
        preference,
        lt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES,
        workspace.nbytes,
        "u8",
    )
    found = np.zeros(PROPOSALS, lt.matmul_heuristic_result_dtype)
    count = np.zeros(1, np.int32)
    lt.matmul_algo_get_heuristic(
        handle, description, left, right, result, result, preference, PROPOSALS,
        found.ctypes.data, count.ctypes.data,
    )  # fmt: skip
    one, zero = (np.array(v, _SCALES[product.scale]) for v in (1, 0))
    a, b, c = operands

    def launch(algorithm: Any) -> None:
        lt.matmul(
            handle, description, one.ctypes.data, a, left, b, right, zero.ctypes.data, c, result,
            c, result, algorithm.ctypes.data, workspace.data.ptr, workspace.nbytes, stream,
        )  # fmt: skip

    algorithms = [found[i : i + 1]["algo"].copy() for i in range(int(count[0]))]
    return [
        (f"cuBLASLt, proposal {i + 1}", partial(launch, algorithm))
        for i, algorithm in enumerate(algorithms)
    ]


def _set(setter: Any, target: int, attribute: Any, value: int, dtype: str) -> None:
    held = np.array([value], dtype)
    setter(target, int(attribute), held.ctypes.data, held.nbytes)
