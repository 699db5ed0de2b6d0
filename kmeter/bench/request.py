"""What the benchmarking process is asked for, in one JSON document on its stdin."""

import msgspec

from kmeter.bench.settings import Settings


class Request(msgspec.Struct):
    """Which file, which of its rows; the card is the first that the process sees."""

    file: str
    settings: Settings
    names: list[str] = []
    narrowed: dict[str, list[str]] = {}
    done: list[str] = []
    """Labels of rows that an earlier process has finished."""
    only_list: bool = False
    against: str = ""
    """Another file, whose benchmarks of the same names are timed in turns with these."""
