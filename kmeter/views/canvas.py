"""A field of character cells to draw lines and words on: braille dots, or plain ASCII."""

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

DOTS_X, DOTS_Y = 2, 4
"""Dots of one braille cell."""

_BRAILLE = 0x2800
_DOT = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class Canvas:
    """``width`` x ``height`` cells; (0, 0) is the upper left. Words lie over lines."""

    def __init__(self, width: int, height: int, *, ascii_only: bool = False) -> None:
        self.width, self.height, self.ascii_only = width, height, ascii_only
        self._dots = [[0] * width for _ in range(height)]
        self._strokes: list[list[str]] = [[""] * width for _ in range(height)]
        self._words: list[list[str]] = [[""] * width for _ in range(height)]
        self._styles = [[""] * width for _ in range(height)]

    def write(self, column: int, row: int, text: str, style: str = "") -> None:
        """Put words into a row; what lies outside is left out."""
        if not 0 <= row < self.height:
            return
        for at, character in enumerate(text, start=column):
            if 0 <= at < self.width:
                self._words[row][at] = character
                self._styles[row][at] = style

    def is_free(self, column: int, row: int, length: int) -> bool:
        """Whether ``length`` cells of a row are there, with neither words nor lines in them."""
        cells = slice(column, column + length)
        return self.is_unwritten(column, row, length) and not (
            any(self._dots[row][cells]) or any(self._strokes[row][cells])
        )

    def is_unwritten(self, column: int, row: int, length: int) -> bool:
        """Whether ``length`` cells of a row are there, without words: a line may pass."""
        if not (0 <= row < self.height and column >= 0 and column + length <= self.width):
            return False
        return not any(self._words[row][column : column + length])

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str = "") -> None:
        """A straight line between two points, in cells and fractions of them."""
        if self.ascii_only:
            self._ascii_line(start, end, style)
        else:
            self._dotted_line(start, end, style)

    def _dotted_line(
        self, start: tuple[float, float], end: tuple[float, float], style: str
    ) -> None:
        steps = self._steps(start, end, DOTS_X, DOTS_Y)
        for x, y in _points(start, end, steps):
            column, row = int(x), int(y)
            if 0 <= column < self.width and 0 <= row < self.height:
                dot = _DOT[int((y - row) * DOTS_Y)][int((x - column) * DOTS_X)]
                self._dots[row][column] |= dot
                self._styles[row][column] = style

    def _ascii_line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        flat = int(start[1]) == int(end[1])
        upright = int(start[0]) == int(end[0])
        character = "-" if flat else "|" if upright else "/" if end[1] < start[1] else "\\"
        for x, y in _points(start, end, self._steps(start, end, 1, 1)):
            column, row = int(x), int(y)
            if 0 <= column < self.width and 0 <= row < self.height:
                self._strokes[row][column] = character
                self._styles[row][column] = style

    @staticmethod
    def _steps(start: tuple[float, float], end: tuple[float, float], per_x: int, per_y: int) -> int:
        return int(max(abs(end[0] - start[0]) * per_x, abs(end[1] - start[1]) * per_y, 1)) * 2

    def rows(self) -> Iterator[Text]:
        """The field as lines of styled text."""
        for row in range(self.height):
            runs = groupby(range(self.width), key=self._styles[row].__getitem__)
            parts = [("".join(self._character(c, row) for c in run), style) for style, run in runs]
            line = Text.assemble(*parts)
            line.rstrip()
            yield line

    def _character(self, column: int, row: int) -> str:
        dots = self._dots[row][column]
        line = self._strokes[row][column] or (chr(_BRAILLE + dots) if dots else " ")
        return self._words[row][column] or line


def _points(
    start: tuple[float, float], end: tuple[float, float], steps: int
) -> Iterator[tuple[float, float]]:
    for step in range(steps + 1):
        share = step / steps
        yield start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
