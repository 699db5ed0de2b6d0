"""The events of a run put together into its result."""

from dataclasses import replace

from kmeter.measure.events import Ended, Event, Finished, Planned
from kmeter.model.ceiling import CeilingRun


class Collector:
    """Takes events; ``run`` is what they amount to so far."""

    def __init__(self) -> None:
        self._run: CeilingRun | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to show."""
        return self._run is not None

    @property
    def run(self) -> CeilingRun:
        """The result; incomplete until the last event."""
        assert self._run is not None, "the first event is Planned"
        return self._run

    def take(self, event: Event) -> None:
        """Add one event."""
        if isinstance(event, Planned):
            self._run = replace(event.run, is_complete=False)
        elif isinstance(event, Finished):
            ceilings = (*self.run.ceilings, event.ceiling)
            self._run = replace(self.run, ceilings=ceilings)
        elif isinstance(event, Ended):
            self._run = replace(self.run, is_complete=True, peak_bytes=event.peak_bytes)
