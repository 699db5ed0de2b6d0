"""The session that comes along: an H200, idle and under eight loads (tests/gpu/live_load.py, 2026-12-03)."""

from collections.abc import Sequence
from importlib.resources import as_file, files

from kmeter.model.live import Moment
from kmeter.sources._session import read_session


def demo_session() -> Sequence[Moment]:
    """Two minutes, a reading a second."""
    with as_file(files(__package__).joinpath("h200-session.jsonl")) as path:
        return read_session(path)
