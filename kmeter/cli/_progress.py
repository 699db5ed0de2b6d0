"""The progress of measuring on stderr: what is measured now, elapsed and left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kmeter.bench.events import Event as BenchEvent
    from kmeter.bench.events import Note as BenchNote
    from kmeter.measure.events import Event


class CeilingWatch:
    """Follows the events of ceilings; draws where stderr is a terminal, and is silent elsewhere."""

    def __init__(self, progress: "Progress | None") -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._seconds: dict[str, float] = {}

    def see(self, event: "Event") -> None:
        """Draw what the event changes."""
        from kmeter.measure.events import Finished, Note, Planned, Started

        if self._progress is None:
            return
        if isinstance(event, Planned):
            self._seconds = dict(zip(event.names, event.seconds, strict=True))
            self._task = self._progress.add_task("starting", total=sum(event.seconds))
        elif self._task is None:
            return
        elif isinstance(event, Started):
            self._progress.update(self._task, description=event.name)
        elif isinstance(event, Note):
            self._progress.update(self._task, description=f"{event.name}: {event.text}")
        elif isinstance(event, Finished):
            self._progress.advance(self._task, self._seconds.get(event.ceiling.name, 0))


class BenchWatch:
    """Follows the events of benchmarks: the row, its samples, the median and how sure it is."""

    def __init__(self, progress: "Progress | None") -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def see(self, event: "BenchEvent") -> None:
        """Draw what the event changes."""
        from kmeter.bench.events import Finished, Loaded, Note, Started

        if self._progress is None:
            return
        if isinstance(event, Loaded):
            self._task = self._progress.add_task("starting", total=len(event.cases))
        elif self._task is None:
            return
        elif isinstance(event, Started):
            self._progress.update(self._task, description=event.label)
        elif isinstance(event, Note):
            self._progress.update(self._task, description=_sampling_text(event))
        elif isinstance(event, Finished):
            self._progress.advance(self._task)


def _sampling_text(note: "BenchNote") -> str:
    """In words that stderr's encoding has."""
    from kmeter.bench.progress import sampling_text
    from kmeter.units import ascii_only

    stderr = sys.__stderr__  # while a bar is drawn, sys.stderr is Rich's and has no encoding
    encoding = (stderr.encoding if stderr is not None else "ascii").lower()
    text = sampling_text(note)
    return text if encoding.startswith("utf") else ascii_only(text)


@contextmanager
def bar() -> "Iterator[Progress | None]":
    """A progress bar while the block runs; None where stderr is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("{task.description}"),
    )
    console = Console(stderr=True, markup=False, highlight=False)
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress
