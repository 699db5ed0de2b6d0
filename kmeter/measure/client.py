"""The other side of the measuring process: starts it, hears it, and goes on when it dies."""

import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from kmeter.errors import NoGpuError
from kmeter.measure.events import Ended, Event, Finished, Planned, Refused, Started, event_of
from kmeter.measure.plan import Options
from kmeter.measure.process import Succession, WorkerProcess, WorkerRefusedError
from kmeter.model.ceiling import Ceiling, Measure, Status

SILENCE_S = 120.0
"""A worker that says nothing for so long hangs."""
MODULE = (sys.executable, "-m", "kmeter.measure.worker")


@dataclass
class Client:
    """One request, served by as many processes as it takes.

    ``command`` seats another worker, which tests do.
    """

    device: str
    options: Options
    is_quiet: bool = False
    """Whether what a library prints is dropped."""
    command: Sequence[str] = field(default_factory=lambda: MODULE)
    silence_s: float = SILENCE_S
    peak_bytes: int = 0
    """The most device memory that any of the processes held."""
    _processes: Succession = field(default_factory=Succession, init=False)

    def events(self, names: Sequence[str]) -> Generator[Event, None, None]:
        """Events of all probes, ``Planned`` first and once; raises KmeterError where none can run.

        A process that dies or falls silent costs the probe that it was at: that one has failed.
        """
        remaining = list(names)
        is_planned = False
        try:
            while remaining:
                current, before = "", len(remaining)
                for event in self._served(remaining):
                    if isinstance(event, Refused):
                        raise WorkerRefusedError(event.message, event.code)
                    if isinstance(event, Started):
                        current = event.name
                    elif isinstance(event, Finished):
                        current = ""
                        remaining.remove(event.ceiling.name)
                    elif isinstance(event, Ended):
                        self.peak_bytes = max(self.peak_bytes, event.peak_bytes)
                        continue
                    elif isinstance(event, Planned):
                        if is_planned:
                            continue
                        is_planned = True
                    yield event
                if self._processes.is_stopped:
                    return
                if current:
                    remaining.remove(current)
                    yield Finished(self._lost(current))
                elif len(remaining) == before:
                    raise NoGpuError(f"the measuring process ended ({self._how_it_ended()})")
        finally:
            self._processes.end()
        yield Ended(self.peak_bytes)

    def _lost(self, name: str) -> Ceiling:
        """The probe that a process died at."""
        reason = f"the measuring process ended ({self._how_it_ended()})"
        return Ceiling(name, "", Measure.BYTES_PER_S, Status.FAILED, reason=reason)

    def _served(self, names: list[str]) -> Iterator[Event]:
        request = {"device": self.device, "names": names, "options": self.options}
        encoded = msgspec.json.encode(request)
        begin = partial(WorkerProcess, self.command, encoded, is_quiet=self.is_quiet)
        yield from self._processes.served(begin, self.silence_s, event_of)

    @property
    def _process(self) -> WorkerProcess | None:
        return self._processes.current

    def _how_it_ended(self) -> str:
        assert self._process is not None
        return self._process.how_it_ended()

    def stop(self) -> None:
        """Measure nothing more, whatever is left; any thread may say so."""
        self._processes.stop()
