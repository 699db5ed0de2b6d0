"""The events of a run put together into its result."""

from dataclasses import replace
from datetime import UTC, datetime

from kmeter.bench.events import Ended, Event, Finished, Loaded
from kmeter.model.benchmark import BenchRun


class Collector:
    """Takes events; ``run`` is what they amount to so far."""

    def __init__(self, tag: str | None = None) -> None:
        self._tag = tag
        self._run: BenchRun | None = None
        self._expected = 0

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to show."""
        return self._run is not None

    @property
    def run(self) -> BenchRun:
        """The result; incomplete until every row has ended."""
        assert self._run is not None, "the first event is Loaded"
        return self._run

    def take(self, event: Event) -> None:
        """Add one event."""
        if isinstance(event, Loaded):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._run = BenchRun(event.environment, now, tag=self._tag, is_complete=False)
            self._expected = len(event.cases)
        elif isinstance(event, Finished):
            rows = (*self.run.rows, event.row)
            is_complete = len(rows) == self._expected
            self._run = replace(self.run, rows=rows, is_complete=is_complete)
        elif isinstance(event, Ended):
            self._run = replace(self.run, environment=event.environment)
