"""Lines and words on a field of cells."""

import pytest

from kmeter.views.canvas import Canvas
from kmeter.views.log_axis import LogAxis, power_of_two, powers_around


def text_of(canvas: Canvas) -> list[str]:
    return [line.plain for line in canvas.rows()]


def test_a_line_in_ascii() -> None:
    canvas = Canvas(4, 3, ascii_only=True)
    canvas.line((0, 2), (2, 0))
    canvas.line((2, 0), (3, 0))
    assert text_of(canvas) == [" /--", "//", "/"]


def test_a_line_in_dots() -> None:
    canvas = Canvas(2, 1)
    canvas.line((0, 0), (1.9, 0))
    assert text_of(canvas) == ["⠉⠉"]


def test_words_lie_over_lines_and_what_is_outside_is_left_out() -> None:
    canvas = Canvas(4, 1, ascii_only=True)
    canvas.line((0, 0), (3, 0))
    canvas.write(2, 0, "long")
    canvas.write(0, 7, "x")
    canvas.write(-1, 0, "ab")
    assert text_of(canvas) == ["b-lo"]


def test_a_place_is_free_until_something_stands_there() -> None:
    canvas = Canvas(8, 2)
    canvas.write(3, 0, "ab")
    assert canvas.is_free(0, 0, 3)
    assert not canvas.is_free(2, 0, 3)
    assert not canvas.is_free(6, 1, 3)
    assert not canvas.is_free(0, 2, 1)
    canvas.line((0, 1), (7, 1))
    assert not canvas.is_free(0, 1, 2)
    assert canvas.is_unwritten(0, 1, 2)
    assert not canvas.is_unwritten(7, 1, 2)


def test_an_axis_places_decades_evenly() -> None:
    axis = LogAxis(1, 1000, 30)
    assert [axis.at(10**n) for n in range(4)] == pytest.approx([0, 10, 20, 30])


@pytest.mark.parametrize(
    ("most", "ticks"), [(20, [0.25, 0.5, 1, 2, 4, 8, 16]), (4, [0.25, 1, 4, 16]), (1, [1])]
)
def test_ticks_are_as_many_as_fit(most: int, ticks: list[float]) -> None:
    assert LogAxis(0.25, 16, 10).powers(2, most) == ticks


def test_powers_of_two_read_well() -> None:
    assert [power_of_two(2.0**n) for n in (-3, 0, 10, 20)] == ["1/8", "1", "1024", "2^20"]


def test_a_range_is_widened_to_powers() -> None:
    assert powers_around([0.33, 200], 2) == (0.25, 256)
