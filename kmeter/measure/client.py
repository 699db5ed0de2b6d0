"""The other side of the measuring process: starts it, hears it, and goes on when it dies."""

import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import IO

import msgspec

from kmeter.errors import ExitCode, KmeterError, NoGpuError
from kmeter.measure.events import Ended, Event, Finished, Planned, Refused, Started, event_of
from kmeter.measure.plan import Options
from kmeter.model.ceiling import Ceiling, Measure, Status

SILENCE_S = 120.0
"""A worker that says nothing for so long hangs."""
MODULE = (sys.executable, "-m", "kmeter.measure.worker")


class WorkerRefusedError(KmeterError):
    """The worker could not begin, with its own words and exit code."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.exit_code = ExitCode(refused.code)


@dataclass
class Client:
    """One request, served by as many processes as it takes.

    ``command`` seats another worker, which tests do.
    """

    device: str
    options: Options
    command: Sequence[str] = field(default_factory=lambda: MODULE)
    silence_s: float = SILENCE_S
    peak_bytes: int = 0
    """The most device memory that any of the processes held."""
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

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
                        raise WorkerRefusedError(event)
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
                if current:
                    remaining.remove(current)
                    yield Finished(self._lost(current))
                elif len(remaining) == before:
                    raise NoGpuError(f"the measuring process ended ({self._how_it_ended()})")
        finally:
            self.stop()
        yield Ended(self.peak_bytes)

    def _lost(self, name: str) -> Ceiling:
        """The probe that a process died at."""
        reason = f"the measuring process ended ({self._how_it_ended()})"
        return Ceiling(name, "", Measure.BYTES_PER_S, Status.FAILED, reason=reason)

    def _served(self, names: list[str]) -> Iterator[Event]:
        self.stop()
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        request = {"device": self.device, "names": names, "options": self.options}
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(request))
            self._process.stdin.close()
        except BrokenPipeError:
            return
        for line in _lines(self._process, self.silence_s):
            try:
                yield event_of(line)
            except msgspec.DecodeError:
                print(line.decode("utf-8", "replace"), end="", file=sys.stderr)

    def _how_it_ended(self) -> str:
        assert self._process is not None
        code = self._process.poll()
        if code is None:
            self.stop()
            return f"no word for {self.silence_s:g} s"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """End the process, if one runs; its memory on the GPU is freed with it."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _lines(process: "subprocess.Popen[bytes]", silence_s: float) -> Iterator[bytes]:
    """Lines of the process until it ends, or says nothing for ``silence_s``.

    A thread reads them, since only on some systems one can wait for a pipe.
    """
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=silence_s)
        except Empty:
            return
        if not line:
            process.wait()
            return
        yield line


def _read(pipe: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Every line, and at the end an empty one; a line that was cut off is none."""
    try:
        for line in pipe:
            if line.endswith(b"\n"):
                lines.put(line)
    except ValueError:  # closed by stop()
        pass
    lines.put(b"")
