"""Reads GPUs in a thread of its own: what hangs there does not hang the screen."""

import threading
from collections.abc import Callable, Sequence

from kmeter.errors import KmeterError
from kmeter.sources._live import LiveCards
from kmeter.sources._session import SessionWriter
from kmeter.sources._watch import Listener, watch


class Poller(threading.Thread):
    """One reading an interval, until it is stopped."""

    def __init__(
        self,
        targets: Sequence[str],
        interval_s: float,
        listeners: Sequence[Listener],
        fail: Callable[[KmeterError, bool], object],
        record: SessionWriter | None = None,
    ) -> None:
        """``listeners`` and ``fail`` are called in this thread, ``fail`` with whether that was the end of it."""
        super().__init__(name="kmeter poller", daemon=True)
        self.interval_s = interval_s
        self._targets, self._listeners, self._fail, self._record = targets, listeners, fail, record
        self._over = threading.Event()

    def run(self) -> None:
        """Read until ``stop``; what cannot be read at all is told once, what fails later is tried again."""
        try:
            cards = LiveCards(self._targets)
        except KmeterError as error:
            self._fail(error, True)
            return
        watch(cards, self.interval_s, self._listeners, self._fail_once, self._over, self._record)

    def _fail_once(self, error: KmeterError) -> None:
        self._fail(error, False)

    def stop(self) -> None:
        """End it after the reading that it is at; a reading that hangs is not waited for."""
        self._over.set()
        self.join(timeout=0.5)
