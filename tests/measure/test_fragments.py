"""Where tensor cores keep their elements: against plain loops over the PTX manual's formulas."""

import pytest

np = pytest.importorskip("numpy")

from kmeter.measure.probes import _fragments as fragments  # noqa: E402
from kmeter.measure.probes import _numbers as numbers  # noqa: E402
from kmeter.measure.probes.latency import full_period, walk  # noqa: E402


def test_core_matrices_are_8_rows_of_16_bytes() -> None:
    matrix = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)  # 64 rows, two steps of 32 bytes
    packed = fragments.core_matrices(matrix)
    for step in range(2):
        for half in range(2):
            for row in range(64):
                start = step * 64 * 32 + half * 64 * 16 + row * 16
                first = step * 32 + half * 16
                assert (packed[start : start + 16] == matrix[row, first : first + 16]).all()


@pytest.mark.parametrize(
    ("rows", "depth", "element", "register"),
    [(16, 16, 2, 4), (8, 16, 2, 4), (16, 8, 4, 4), (16, 32, 1, 4), (16, 16, 8, 8), (8, 4, 8, 8)],
)
def test_operands_of_a_warp(rows: int, depth: int, element: int, register: int) -> None:
    dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.float64}[element]
    matrices = (np.arange(3 * rows * depth) % 251).astype(dtype).reshape(3, rows, depth)
    per_register = register // element
    registers = rows * depth // 32 // per_register
    packed = fragments.warp_operand(matrices, element, register).view(dtype)
    packed = packed.reshape(3, registers, 32, per_register)
    for i in range(registers):
        below, along = i % (rows // 8), i // (rows // 8)
        for lane in range(32):
            for e in range(per_register):
                row, column = lane // 4 + 8 * below, (4 * along + lane % 4) * per_register + e
                assert (packed[:, i, lane, e] == matrices[:, row, column]).all()


def test_sums_of_a_warp() -> None:
    words = np.arange(4 * 2 * 32, dtype=np.float64).reshape(4, 2, 32)
    got = fragments.warp_sums(words, 16, 8, halves=False)
    for warp in range(2):
        for lane in range(32):
            for i in range(4):
                place = warp, lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2
                assert got[place] == words[i, warp, lane]


def test_sums_of_a_warpgroup() -> None:
    words = np.arange(128 * 2 * 128, dtype=np.float64).reshape(128, 2, 128)
    got = fragments.warpgroup_sums(words, halves=False)
    assert got.shape == (128, 256)
    for i, group, thread in ((0, 0, 0), (3, 0, 37), (127, 1, 127), (66, 1, 5)):
        lane = thread % 32
        row = 64 * group + 16 * (thread // 32) + lane // 4 + 8 * (i // 2 % 2)
        assert got[row, 8 * (i // 4) + 2 * (lane % 4) + i % 2] == words[i, group, thread]


def test_pairs_of_halves_are_two_columns() -> None:
    pairs = np.zeros((2, 1, 32), np.uint32)
    pairs[0, 0, 0] = 0x40003C00  # 1.0 below, 2.0 above
    got = fragments.warp_sums(pairs, 16, 8, halves=True)
    assert got[0, 0, :2].tolist() == [1.0, 2.0]


# ---- numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "value"), [(0x38, 1.0), (0x7E, 448.0), (0xB8, -1.0), (0x01, 2.0**-9), (0x00, 0.0)]
)
def test_e4m3(code: int, value: float) -> None:
    assert numbers.E4M3.value(np.array([code], np.uint8))[0] == value


@pytest.mark.parametrize("name", ["FP64", "TF32", "FP32", "FP16", "BF16", "E4M3", "INT8"])
def test_random_operands_are_what_they_say(name: str) -> None:
    encoding = getattr(numbers, name)
    words = encoding.draw(np.random.default_rng(1), (64, 64))
    values = encoding.value(words)
    assert words.dtype.itemsize == encoding.bytes
    assert np.isfinite(values).all()
    assert len(np.unique(words)) > 100
    assert (values < 0).any()
    assert (encoding.value(numbers.without_sign(encoding, words)) >= 0).all()
    assert np.abs(values).max() <= (128 if name == "INT8" else 1)


def test_tf32_has_no_bits_that_the_cores_ignore() -> None:
    words = numbers.TF32.draw(np.random.default_rng(1), (100,))
    assert not (words & 0x1FFF).any()


# ---- rings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [64, 68, 96, 100, 8192, 10_000])
def test_a_ring_visits_every_place(places: int) -> None:
    a, c = full_period(places)
    seen, at = set(), 0
    for _ in range(places):
        at = (a * at + c) % places
        seen.add(at)
    assert len(seen) == places
    assert walk(places, a, c, places) == 0


def test_a_ring_jumps_about() -> None:
    a, c = full_period(2**22)
    assert a > 2**16
    assert c > 2**16
