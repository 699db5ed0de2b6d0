"""Where tensor-core instructions keep the elements of their matrices; NumPy only.

PTX ISA, "Matrix Fragments for mma", "Matrix Fragments for wgmma", "Shared Memory Matrix Layout".
"""

from typing import Any

import numpy as np

WARPGROUP_ROWS, WARPGROUP_COLUMNS = 64, 256
CORE_ROWS, CORE_BYTES = 8, 16


def core_matrices(matrix: Any) -> Any:
    """A matrix (rows, k) as bytes in the order of wgmma.cu.

    Steps of 32 bytes along k; in each the two halves; in each the groups of 8 rows; 16 bytes a row.
    """
    rows = len(matrix)
    raw = np.ascontiguousarray(matrix).view(np.uint8)
    parts = raw.reshape(rows // CORE_ROWS, CORE_ROWS, -1, 2, CORE_BYTES)
    return np.ascontiguousarray(parts.transpose(2, 3, 0, 1, 4)).reshape(-1)


def warpgroup_operand(matrix: Any) -> Any:
    """A (64 rows a warpgroup, k) as words (step of 32 bytes, register, thread) for registers.

    A warp has 16 of the rows, and each step lies in it as in mma.sync.
    """
    rows, raw = len(matrix), np.ascontiguousarray(matrix).view(np.uint8)
    steps = raw.reshape(rows // 16, 16, -1, 32)
    words = [
        warp_operand(np.ascontiguousarray(steps[:, :, step]), 1, 4).reshape(-1, 4, 32)
        for step in range(steps.shape[2])
    ]
    by_step = np.stack(words).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(by_step).reshape(-1)


def warpgroup_sums(words: Any, *, halves: bool) -> Any:
    """Sums (register, warpgroup, thread) of m64n256 as a matrix of doubles, or of u32 as they are.

    Register i of a thread holds column 8 (i / 4) + 2 (lane % 4) + i % 2 of row
    16 warp + lane / 4 + 8 (i / 2 % 2).
    """
    if halves:
        words = _unpacked_halves(words)
    registers, groups, _ = words.shape
    i, group, thread = np.meshgrid(
        np.arange(registers), np.arange(groups), np.arange(128), indexing="ij"
    )
    lane = thread % 32
    row = 64 * group + 16 * (thread // 32) + lane // 4 + 8 * (i // 2 % 2)
    column = 8 * (i // 4) + 2 * (lane % 4) + i % 2
    matrix = np.empty((64 * groups, WARPGROUP_COLUMNS), _wide(words))
    matrix[row, column] = words
    return matrix


def warp_operand(matrices: Any, element_bytes: int, register_bytes: int) -> Any:
    """Operands (fragment, rows, k) in the order (fragment, register, lane) of mma.cu.

    A of 16 rows and B of 8 follow one rule: a lane's row is lane / 4, its place along k counts
    registers of lane % 4; A has rows 8 apart in neighbouring registers, then both go on along k.
    """
    rows, depth = matrices.shape[1:]
    per_register = register_bytes // element_bytes
    lane = np.arange(32)
    registers = []
    for along in range(depth // (4 * per_register)):
        for below in range(rows // 8):
            row = lane // 4 + 8 * below
            first = (along * 4 + lane % 4) * per_register
            columns = first[:, None] + np.arange(per_register)
            registers.append(matrices[:, row[:, None], columns])
    packed = np.stack(registers, axis=1)
    word = np.float64 if register_bytes == 8 else np.uint32
    return np.ascontiguousarray(packed).view(word).reshape(-1)


def warp_sums(words: Any, m: int, n: int, *, halves: bool) -> Any:
    """Sums (..., register, warp, lane) of mma.sync as matrices (..., warp, m, n).

    Register i of a lane holds column 2 (lane % 4) + i % 2 of row lane / 4 + 8 (i / 2).
    """
    words = np.moveaxis(words, -3, 0)
    if halves:
        words = _unpacked_halves(words)
    matrices = np.empty((*words.shape[1:-1], m, n), _wide(words))
    lane = np.arange(32)
    for i in range(len(words)):
        matrices[..., lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2] = words[i]
    return matrices


def _unpacked_halves(words: Any) -> Any:
    """u32 along the first axis as twice as many fp16."""
    pairs = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(np.float16)
    return np.moveaxis(pairs, -1, 0)


def _wide(words: Any) -> type:
    return np.uint32 if words.dtype == np.uint32 else np.float64
