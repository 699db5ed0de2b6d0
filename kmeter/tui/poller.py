"""Reads GPUs in a thread of its own: what hangs there does not hang the screen."""

import threading
import time
from collections.abc import Callable, Sequence

from kmeter.errors import KmeterError
from kmeter.model.live import FIRST_INTERVAL_S, Moment
from kmeter.sources._live import LiveCards
from kmeter.sources._session import SessionWriter


class Poller(threading.Thread):
    """One reading an interval, until it is stopped."""

    def __init__(
        self,
        targets: Sequence[str],
        interval_s: float,
        tell: Callable[[Moment], object],
        fail: Callable[[KmeterError, bool], object],
        record: SessionWriter | None = None,
    ) -> None:
        """``tell`` and ``fail`` are called in this thread, ``fail`` with whether that was the end of it."""
        super().__init__(name="kmeter poller", daemon=True)
        self.interval_s = interval_s
        self._targets, self._tell, self._fail, self._record = targets, tell, fail, record
        self._over = threading.Event()

    def run(self) -> None:
        """Read until ``stop``; what cannot be read at all is told once, what fails later is tried again."""
        try:
            cards = LiveCards(self._targets)
        except KmeterError as error:
            self._fail(error, True)
            return
        wait_s = FIRST_INTERVAL_S
        while not self._over.wait(wait_s):
            began = time.monotonic()
            try:
                moment = cards.read()
                if self._record is not None:
                    self._record.write(moment)
                self._tell(moment)
            except KmeterError as error:
                self._fail(error, False)
            except OSError as error:  # the disk is full, say
                self._fail(KmeterError(f"not recorded: {error.strerror}"), False)
            wait_s = max(0.0, self.interval_s - (time.monotonic() - began))
        cards.close()
        if self._record is not None:
            self._record.close()

    def stop(self) -> None:
        """End it after the reading that it is at; a reading that hangs is not waited for."""
        self._over.set()
        self.join(timeout=0.5)
