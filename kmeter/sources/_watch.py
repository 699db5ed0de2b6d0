"""GPUs read again and again: the one loop behind ``kmeter top`` and the dashboard."""

import time
from collections.abc import Callable, Sequence
from threading import Event

from kmeter.errors import KmeterError
from kmeter.model.live import FIRST_INTERVAL_S, Moment
from kmeter.sources._live import LiveCards
from kmeter.sources._session import SessionWriter

Listener = Callable[[Moment], object]
"""Who is told each moment."""


def watch(
    cards: LiveCards,
    interval_s: float,
    listeners: Sequence[Listener],
    fail: Callable[[KmeterError], object],
    over: Event,
    record: SessionWriter | None = None,
) -> None:
    """Read ``cards`` until ``over``; ``interval_s`` lies between the beginnings of two readings.

    Listeners are told in their order, then the moment is recorded. ``fail`` is told what could not be read
    or kept, and the next reading is tried all the same; what it raises ends the loop. ``cards`` and
    ``record`` are closed then.
    """
    wait_s = FIRST_INTERVAL_S
    try:
        while not over.wait(wait_s):
            began = time.monotonic()
            try:
                _hand_on(cards.read(), listeners, record)
            except KmeterError as error:
                fail(error)
            except OSError as error:  # the disk is full, say
                fail(KmeterError(f"not recorded: {error.strerror}"))
            wait_s = max(0.0, interval_s - (time.monotonic() - began))
    finally:
        cards.close()
        if record is not None:
            record.close()


def _hand_on(moment: Moment, listeners: Sequence[Listener], record: SessionWriter | None) -> None:
    for tell in listeners:
        tell(moment)
    if record is not None:
        record.write(moment)
