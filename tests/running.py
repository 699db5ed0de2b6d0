"""kmeter run by tests: how to call it, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODULE = "import sys; from kmeter.cli.main import main; sys.exit(main())"


def replaying(worker: Path) -> str:
    """kmeter as a script, with ``worker`` in the place of the process that measures ceilings."""
    return (
        "import sys; import kmeter.measure.client as client; "
        f"client.MODULE = (sys.executable, {str(worker)!r}); "
        "from kmeter.cli.main import main; sys.exit(main())"
    )


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Finished]
