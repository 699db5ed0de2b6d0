"""The other side of the benchmarking process: starts it, hears it, and goes on when it dies."""

import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from kmeter.bench.events import (
    CaseInfo,
    Ended,
    Event,
    Finished,
    Lap,
    Loaded,
    Refused,
    event_of,
)
from kmeter.bench.referee import Referee
from kmeter.bench.request import Request
from kmeter.bench.settings import Settings
from kmeter.errors import UsageError
from kmeter.measure.process import Succession, WorkerProcess, WorkerRefusedError
from kmeter.model.benchmark import Outcome, Row

TIMEOUT_S = 120.0
MODULE = (sys.executable, "-m", "kmeter.bench.worker")


@dataclass
class Client:
    """The rows of one file, by as many processes as it takes.

    ``command`` seats another worker, which tests do.
    """

    file: str
    settings: Settings = field(default_factory=Settings)
    against: str = ""
    """Another file, timed in turns with this one."""
    names: Sequence[str] = ()
    narrowed: dict[str, list[str]] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S
    visible_device: str | None = None
    """The UUID of the one card that the process may see; None for all."""
    is_quiet: bool = False
    """Whether what the file prints is dropped."""
    command: Sequence[str] = field(default_factory=lambda: MODULE)
    _processes: Succession = field(default_factory=Succession, init=False)

    def listed(self) -> list[CaseInfo]:
        """The rows that the file would have; nothing is measured."""
        try:
            for event in self._served([], only_list=True):
                if isinstance(event, Refused):
                    raise WorkerRefusedError(event.message, event.code)
                if isinstance(event, Loaded):
                    return event.cases
            raise self._no_beginning()
        finally:
            self._processes.end()

    def events(self) -> Generator[Event, None, None]:
        """Events of all rows, ``Loaded`` first and once; raises KmeterError where none can run.

        A process that dies or falls silent costs the row that it was at.
        """
        progress = _Progress()
        try:
            while progress.is_unfinished:
                before = progress.steps
                for event in self._served(progress.done, only_list=False):
                    told = progress.take(event, self._arrived_s)
                    if told is not None:
                        yield told
                    if progress.ended is not None:
                        self._processes.finish(self.timeout_s)
                        break
                if self._processes.is_stopped:
                    return
                if progress.cases is None:
                    raise self._no_beginning()
                if progress.current:
                    yield progress.end(self._lost(progress.cases[progress.current]))
                elif progress.steps == before and progress.is_unfinished:
                    raise self._no_beginning()
        finally:
            self._processes.end()
        if progress.ended is not None:
            yield progress.ended

    @property
    def _arrived_s(self) -> float:
        """When the last event came."""
        return 0.0 if self._process is None else self._process.arrived_s

    def _served(self, done: list[str], *, only_list: bool) -> Iterator[Event]:
        request = Request(
            file=self.file,
            settings=self.settings,
            names=list(self.names),
            narrowed=self.narrowed,
            done=done,
            only_list=only_list,
            against=self.against,
        )
        extra = {} if self.visible_device is None else {"CUDA_VISIBLE_DEVICES": self.visible_device}
        try:
            encoded = msgspec.json.encode(request)
        except UnicodeEncodeError:
            raise UsageError("a name that is no UTF-8 cannot be used") from None
        begin = partial(WorkerProcess, self.command, encoded, extra, is_quiet=self.is_quiet)
        yield from self._processes.served(begin, self.timeout_s, event_of)

    @property
    def _process(self) -> WorkerProcess | None:
        return self._processes.current

    def _no_beginning(self) -> UsageError:
        assert self._process is not None
        how = self._process.how_it_ended()
        return UsageError(f"{self.file} did not load: its process ended ({how})")

    def _lost(self, case: CaseInfo) -> Row:
        """The row that a process died at."""
        assert self._process is not None
        is_silent, how = self._process.is_silent, self._process.how_it_ended()
        code = self._process.exit_code
        outcome, reason = Outcome.CRASHED, f"its process ended ({how})"
        if is_silent:
            outcome, reason = Outcome.HUNG, f"it said nothing for {self.timeout_s:g} s"
        elif code is not None and code < 0:
            reason = f"its process ended: {_signal_in_words(-code)}"
        return Row(case.name, case.parameters, outcome, reason, tags=case.tags)

    def stop(self) -> None:
        """Run nothing more, whatever is left; any thread may say so."""
        self._processes.stop()


def _signal_in_words(number: int) -> str:
    words = {
        signal.SIGSEGV: "segmentation fault",
        signal.SIGABRT: "it aborted",
        signal.SIGFPE: "arithmetic error",
        signal.SIGILL: "illegal instruction",
    }
    if number == getattr(signal, "SIGKILL", 9):
        return "it was killed, perhaps because the host's memory was full"
    known = words.get(signal.Signals(number)) if number in set(signal.Signals) else None
    return known or f"signal {number}"


@dataclass
class _Progress:
    """How far the processes have come with the rows."""

    cases: dict[str, CaseInfo] | None = None
    done: list[str] = field(default_factory=list)
    current: str = ""
    ended: Ended | None = None
    steps: int = 0
    """Rows that ended, those included that are to be tried once more."""
    _retried: set[str] = field(default_factory=set)
    _referee: Referee = field(default_factory=Referee)

    @property
    def is_unfinished(self) -> bool:
        return self.cases is None or len(self.done) < len(self.cases)

    def take(self, event: Event, at_s: float) -> Event | None:
        """Note an event of that moment; what the listener is to hear of it. Raises WorkerRefusedError."""
        if isinstance(event, Refused):
            raise WorkerRefusedError(event.message, event.code)
        if isinstance(event, Ended):
            self.ended = event
        elif isinstance(event, Lap):
            self._referee.hear(event, at_s)
        elif isinstance(event, Loaded):
            if self.cases is None:
                self.cases = {case.label: case for case in event.cases}
                return event
            if self.cases.keys() != {case.label for case in event.cases}:
                raise UsageError("the file declares other benchmarks each time that it is run")
        elif isinstance(event, Finished):
            return self._finished(event)
        else:
            self.current = event.label
            return event
        return None

    def _finished(self, event: Finished) -> Finished | None:
        if event.wants_fresh_process and event.label not in self._retried:
            self._retried.add(event.label)
            self.steps, self.current = self.steps + 1, ""
            return None
        return self.end(self._referee.judged(event.row), event.label)

    def end(self, row: Row, label: str = "") -> Finished:
        """A row that ended, or was lost at the current place."""
        label = label or self.current
        self.done.append(label)
        self.steps, self.current, self._referee = self.steps + 1, "", Referee()
        return Finished(label, row)
