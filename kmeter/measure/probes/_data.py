"""Random arrays and the checks of what kernels made of them: data.cu."""

from typing import Any

import numpy as np

from kmeter.measure.gpu import Gpu

SEED = 0x6B6D
BLOCK = 256


class Data:
    """Filling, and counting what is wrong; every check makes the expected values again."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._program = gpu.program("data")
        self._grid = 8 * gpu.facts.sm_count

    def words(self, size: int, seed: int = SEED) -> Any:
        """``size`` bytes of random words."""
        array = self._gpu.empty(size // 4, "u4")
        self.fill_words(array, seed)
        return array

    def floats(self, size: int, seed: int = SEED) -> Any:
        """``size`` bytes of random floats in [-1, 1)."""
        array = self._gpu.empty(size // 4, "f4")
        self.fill_floats(array, seed)
        return array

    def fill_words(self, array: Any, seed: int = SEED) -> None:
        """Random words."""
        self._launch("fill_words", array, np.uint64(array.size), np.uint32(seed))

    def fill_floats(self, array: Any, seed: int = SEED) -> None:
        """Random floats in [-1, 1)."""
        self._launch("fill_floats", array, np.uint64(array.size), np.uint32(seed))

    def sum_of_words(self, count: int, seed: int = SEED) -> int:
        """The sum modulo 2^32 of ``count`` random words."""
        total = self._gpu.zeros(1, "u4")
        self._launch("sum_of_words", np.uint64(count), np.uint32(seed), total)
        return int(total.get()[0])

    def sum_of_products(self, count: int, seed: int = SEED) -> float:
        """The dot product of the random floats of ``seed`` and ``seed + 1``."""
        total = self._gpu.zeros(1, "f8")
        self._launch("sum_of_products", np.uint64(count), np.uint32(seed), total)
        return float(total.get()[0])

    def wrong_words(self, array: Any, seed: int = SEED) -> int:
        """How many words are not the random ones."""
        return self._count("count_wrong_words", array, np.uint32(seed))

    def wrong_written(self, array: Any, seed: int = SEED) -> int:
        """How many words are not what dram_write writes."""
        return self._count("count_wrong_written", array, np.uint32(seed))

    def other_words(self, array: Any, value: int) -> int:
        """How many words are not ``value``."""
        return self._count("count_other_words", array, np.uint32(value))

    def wrong_floats(self, array: Any, x: float, y: float, seed: int = SEED) -> int:
        """How many floats are not x * a + y * b."""
        return self._count(
            "count_wrong_floats", array, np.float32(x), np.float32(y), np.uint32(seed)
        )

    def poison(self, array: Any) -> None:
        """Leave nothing in an output that could pass for a result."""
        array.view("u4").fill(0xFFFFFFFF)

    def _count(self, kernel: str, array: Any, *arguments: Any) -> int:
        wrong = self._gpu.zeros(1, "u8")
        self._launch(kernel, array, np.uint64(array.size), *arguments, wrong)
        return int(wrong.get()[0])

    def _launch(self, kernel: str, *arguments: Any) -> None:
        self._program[kernel](self._grid, BLOCK, arguments)
