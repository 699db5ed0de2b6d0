"""A process that works for this one: a request in, lines out, and an end whatever it does."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import IO, TypeVar

import msgspec

from kmeter.errors import ExitCode, KmeterError

Event = TypeVar("Event")

_GRACE_S = 2.0
"""How long a process may take to end when it is asked to."""
_PARENT_EVERY_S = 0.5
"""How often a process looks whether its parent is still there."""


class WorkerRefusedError(KmeterError):
    """A worker could not begin, with its own words and exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = ExitCode(code)


class WorkerProcess:
    """One process in a session of its own, so that Ctrl-C in the terminal reaches only its parent."""

    def __init__(
        self,
        command: Sequence[str],
        request: bytes,
        extra: Mapping[str, str] | None = None,
        *,
        is_quiet: bool = False,
    ) -> None:
        """Start ``command`` and give it ``request`` on stdin, whole.

        ``extra`` stands in its environment beside what this process has. What a quiet one prints is
        dropped: the terminal is somebody else's screen.
        """
        self._is_quiet = is_quiet
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_quiet else None,
            start_new_session=True,
            env=os.environ | (extra or {}),
        )
        self._silent_s = 0.0
        self._lines: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        self.arrived_s = 0.0
        """When the last line came, by this process's clock."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(request)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        # A thread reads the lines, since only on some systems one can wait for a pipe.
        reader = threading.Thread(
            target=_read, args=(self._process.stdout, self._lines), daemon=True
        )
        reader.start()

    def lines(self, silence_s: float) -> Iterator[bytes]:
        """Lines of the process until it ends, or says nothing for ``silence_s``."""
        while True:
            try:
                self.arrived_s, line = self._lines.get(timeout=silence_s)
            except Empty:
                self._silent_s = silence_s
                return
            if not line:
                self._process.wait()
                return
            yield line

    def events(self, silence_s: float, event_of: Callable[[bytes], Event]) -> Iterator[Event]:
        """Its lines as events; what is none, a library's own words, goes to stderr."""
        for line in self.lines(silence_s):
            try:
                yield event_of(line)
            except msgspec.DecodeError:
                if not self._is_quiet:
                    print(line.decode("utf-8", "replace"), end="", file=sys.stderr)

    def how_it_ended(self) -> str:
        """``signal 11``, ``exit code 3`` or ``no word for 120 s``; a silent one is ended here."""
        code = self._process.poll()
        if code is None:
            self.stop()
            return f"no word for {self._silent_s:g} s"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    @property
    def pid(self) -> int:
        """The process's number, and its session's."""
        return self._process.pid

    @property
    def is_silent(self) -> bool:
        """Whether it was given up because it said nothing."""
        return self._silent_s > 0

    @property
    def exit_code(self) -> int | None:
        """None while it runs, below 0 for the signal that ended it."""
        return self._process.poll()

    def finish(self, grace_s: float) -> None:
        """Let it end by itself while this process goes on: it has said its last word.

        What has not ended after the grace is ended, and this process does not exit before.
        """
        threading.Thread(target=self._outlast, args=(grace_s,), name="worker's end").start()

    def _outlast(self, grace_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self.stop()

    def stop(self) -> None:
        """End it and what it started; its memory on the GPU is freed with it."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        self._signal(_KILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _signal(self, number: int) -> None:
        """To the whole session where the system has sessions, else to the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            elif self._process.poll() is None:
                self._process.send_signal(number)


class Succession:
    """One process after another: the next one goes on where the last one died, until somebody stops it."""

    def __init__(self) -> None:
        self.current: WorkerProcess | None = None
        """The last one that was begun, ended or not."""
        self.is_stopped = False
        """Whether no other shall be begun: a process that was stopped looks like one that died."""

    def served(
        self,
        begin: Callable[[], WorkerProcess],
        silence_s: float,
        event_of: Callable[[bytes], Event],
    ) -> Iterator[Event]:
        """Events of the next process; none where it was stopped."""
        self.end()
        if self.is_stopped:
            return
        self.current = begin()
        if self.is_stopped:  # by another thread, meanwhile
            self.end()
        yield from self.current.events(silence_s, event_of)

    def finish(self, grace_s: float) -> None:
        """The process has no more to say: what it still does is its own affair."""
        if self.current is not None:
            self.current.finish(grace_s)
            self.current = None

    def stop(self) -> None:
        """End the process, if one runs, and begin no other; any thread may say so."""
        self.is_stopped = True
        self.end()

    def end(self) -> None:
        """End the process, if one runs."""
        if self.current is not None:
            self.current.stop()


def end_with_parent() -> None:
    """From now on this process ends when the one that started it is gone, however that ended."""
    threading.Thread(target=_outlive_no_parent, args=(os.getppid(),), daemon=True).start()


def _outlive_no_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_EVERY_S)
    os._exit(ExitCode.INTERRUPTED)


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _read(pipe: IO[bytes], lines: SimpleQueue[tuple[float, bytes]]) -> None:
    """Every line with its moment, and at the end an empty one; a line that was cut off is none."""
    try:
        for line in pipe:
            if line.endswith(b"\n"):
                lines.put((time.perf_counter(), line))
    except ValueError:  # closed by stop()
        pass
    lines.put((time.perf_counter(), b""))
