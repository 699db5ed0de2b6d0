"""How kmeter's views come onto the screen: as they are, in ASCII, or without colours."""

import io
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.widgets import Static

from kmeter.units import ascii_only
from kmeter.views.terminal import ascii_console


class View(Static):
    """A view of kmeter, drawn at the width that it has here."""

    _drawn: "Plain | None" = None

    def draw(self, renderable: RenderableType) -> None:
        """Show a view in the place of the last one; what is as high leaves the others where they are."""
        before, width = self._drawn, self.content_size.width
        self._drawn = now = Plain(renderable, is_ascii=getattr(self.app, "is_ascii", False))
        is_as_high = before is not None and width > 0 and before.height(width) == now.height(width)
        self.update(now, layout=not is_as_high)


class Plain:
    """A view as the commands print it: no bracket in it is markup, and in ASCII where asked for.

    It is asked for its height and for its lines, and drawn once for both.
    """

    def __init__(self, renderable: RenderableType, *, is_ascii: bool) -> None:
        self._renderable, self._is_ascii = renderable, is_ascii
        self._width, self._segments = 0, list[Segment]()

    def height(self, width: int) -> int:
        """Lines at that width."""
        return sum(segment.text.count("\n") for segment in self._at(width))

    def _at(self, width: int) -> list[Segment]:
        if width != self._width:
            self._width, self._segments = width, list(self._drawn(width))
        return self._segments

    def _drawn(self, width: int) -> Iterator[Segment]:
        own = _console(width, is_ascii=self._is_ascii)
        for segment in own.render(self._renderable, own.options):
            text = ascii_only(segment.text) if self._is_ascii else segment.text
            yield Segment(text, segment.style, segment.control)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._at(options.max_width)


def _console(width: int, *, is_ascii: bool) -> Console:
    out = io.StringIO()
    if is_ascii:
        return ascii_console(out, width=width, force_terminal=True, color_system="truecolor")
    return Console(
        file=out, width=width, force_terminal=True, color_system="truecolor", markup=False,
        highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


class Colourless(LineFilter):
    """No colours at all, as NO_COLOR asks for; bold, dim and reverse stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, style.without_color if style else None, control)
            for text, style, control in segments
        ]


_FRAMES = str.maketrans({
    **dict.fromkeys("━─╸╺╴╶╾╼▔▁═▂▃", "-"), **dict.fromkeys("│┃║▏▕╎╏▎▊▌▐", "|"), **dict.fromkeys("█▉▇▆▅▄▀", "#"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"), **dict.fromkeys("•●○◉", "*"), "▶": ">", "⏵": ">", "▼": "v", "▲": "^",
    "◀": "<", "…": ".", "–": "-", "·": ".", "µ": "u", "×": "x", "°": "o", "±": "~", "→": ">", "←": "<", "↑": "^",
    "↓": "v", "⭘": "o",
})  # fmt: skip


class AsciiFilter(LineFilter):
    """Textual's own frames and bars in ASCII, a cell for a cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(_in_cells(text), style, control) if not text.isascii() else segment
            for segment in segments
            for text, style, control in (segment,)
        ]


def _in_cells(text: str) -> str:
    return text.translate(_FRAMES).encode("ascii", "replace").decode("ascii")
