"""kmeter in a terminal of its own: what it writes, as a terminal emulator shows it."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping
from types import TracebackType

import pyte
from running import MODULE

_DEADLINE_S = 20.0


class Terminal:
    """One run of kmeter under a pseudo-terminal."""

    def __init__(
        self, *arguments: str, environment: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
    ) -> None:  # fmt: skip
        self.raw = b""
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            variables = {**os.environ, "TERM": "xterm-256color", **(environment or {})}
            os.execvpe(sys.executable, [sys.executable, "-c", MODULE, *arguments], variables)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.code: int | None = None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def wait_for(self, words: str) -> str:
        """The screen as soon as it says that."""
        end = time.monotonic() + _DEADLINE_S
        while words not in self.text():
            is_late = time.monotonic() > end or not self._read()
            assert not is_late, f"no {words!r} in\n{self.text()}"
        return self.text()

    def ended(self) -> int:
        """Wait for its end; the exit code, or below 0 the signal."""
        end = time.monotonic() + _DEADLINE_S
        while self._read():
            assert time.monotonic() < end, "it does not end"
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def _read(self) -> bool:
        """Take what it wrote; False when nothing more will come."""
        if not select.select([self._fd], [], [], 0.2)[0]:
            return True
        try:
            found = os.read(self._fd, 65536)
        except OSError:
            return False
        self.raw += found
        self._stream.feed(found)
        return bool(found)
