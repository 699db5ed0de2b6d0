"""kmeter run by tests: how to call it, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass

MODULE = "import sys; from kmeter.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Finished]
