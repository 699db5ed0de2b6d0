"""The one writer to stdout: a Rich renderable for people, one JSON document for programs."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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

    if ascii_mode or not speaks_unicode():
        from kmeter.views.terminal import ascii_console

        return ascii_console(sys.stdout)
    return Console(markup=False, highlight=False, emoji=False)


def speaks_unicode() -> bool:
    """Whether stdout's encoding can say more than ASCII."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")
