"""The one writer to stdout: a Rich renderable for people, one JSON document for programs."""

import io
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from kmeter.units import ascii_only

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def show_json(document: Mapping[str, Any]) -> None:
    """Print one document; NaN and Infinity are a bug here, never output."""
    import json

    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=True) + "\n")


def warn(message: str) -> None:
    """One line on stderr, of what does not keep the command from its result."""
    if sys.stderr is not None:
        print(f"kmeter: {message}", file=sys.stderr)


def show(renderable: "RenderableType", *, ascii_mode: bool = False) -> None:
    """Print a view to stdout, at the width of the terminal."""
    console(ascii_mode=ascii_mode).print(renderable)


def console(*, ascii_mode: bool = False) -> "Console":
    """A console on stdout; ASCII where asked for, or where the locale can say no more."""
    from rich.console import Console

    if ascii_mode or not _speaks_unicode():
        return ascii_console(sys.stdout)
    return Console(markup=False, highlight=False, emoji=False)


def ascii_console(out: TextIO, **options: Any) -> "Console":
    """A console that draws with ASCII alone and counts cells after the translation."""
    from rich.console import Console
    from rich.text import Text

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


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")
