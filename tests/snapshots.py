"""Text snapshots: what people see, stored beside the tests and read before it is accepted.

``KMETER_UPDATE_SNAPSHOTS=1 pytest`` rewrites them; read the difference before committing it.
"""

import io
import os
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

SNAPSHOTS = Path(__file__).parent / "snapshots"


def check_snapshot(name: str, text: str) -> None:
    """Compare ``text`` with the stored file ``name``, line ends and trailing blanks aside."""
    stored = SNAPSHOTS / name
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("KMETER_UPDATE_SNAPSHOTS"):
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(text, "utf-8")
    assert stored.exists(), f"no snapshot {name}: run with KMETER_UPDATE_SNAPSHOTS=1, then read it"
    assert text == stored.read_text("utf-8")


def drawn(
    renderable: RenderableType, width: int, *, ascii_mode: bool = False, colour: bool = False
) -> str:
    """What the command line prints of a view at ``width`` columns."""
    from kmeter.views.terminal import ascii_console

    out = io.StringIO()
    options: dict[str, Any] = {
        "width": width,
        "height": 24,
        "force_terminal": colour,
        "color_system": "standard" if colour else None,
    }
    if ascii_mode:
        console = ascii_console(out, **options)
    else:
        console = Console(file=out, markup=False, highlight=False, emoji=False, **options)
    console.print(renderable)
    return out.getvalue()
