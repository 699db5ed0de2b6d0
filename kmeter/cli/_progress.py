"""The progress of measuring on stderr: what is measured now, elapsed and left."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kmeter.measure.events import Event


class Watch:
    """Follows the events of a run; draws where stderr is a terminal, and is silent elsewhere."""

    def __init__(self, progress: "Progress | None") -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._seconds: dict[str, float] = {}
        self._began = time.monotonic()

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


@contextmanager
def watching() -> Iterator[Watch]:
    """A progress bar while the block runs."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield Watch(None)
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
        yield Watch(progress)
