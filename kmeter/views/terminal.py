"""Consoles that speak ASCII alone, where a terminal, a locale or its user knows no more."""

import io
from typing import IO, Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from kmeter.units import ascii_only


class AsciiConsole(Console):
    """Puts text into ASCII before the layout counts its cells."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(ascii_only(text), **options)

    def render(self, renderable: Any, options: Any = None) -> Any:
        if isinstance(renderable, Text) and not renderable.plain.isascii():
            renderable = self._in_ascii(renderable)
        return super().render(renderable, options)

    def _in_ascii(self, text: Text) -> Text:
        parts = [(ascii_only(part.text), part.style or "") for part in text.render(self)]
        return Text.assemble(*parts, end=text.end)


def ascii_console(out: TextIO, **options: Any) -> Console:
    """A console that draws with ASCII alone and counts cells after the translation."""
    stream = cast("IO[str]", _AsciiStream(out))
    return AsciiConsole(file=stream, markup=False, highlight=False, emoji=False, **options)


class _AsciiStream(io.TextIOBase):
    """A stream under an ASCII name: Rich draws ASCII boxes, and nothing else gets through."""

    encoding = "ascii"

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(ascii_only(text))

    def flush(self) -> None:
        self._out.flush()

    def isatty(self) -> bool:
        return self._out.isatty()

    def fileno(self) -> int:
        return self._out.fileno()
