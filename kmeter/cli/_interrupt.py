"""Being asked to end, by whatever signal, is an interruption: what was finished is shown and kept."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_ASKED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def interruptible() -> Iterator[None]:
    """A block in which SIGTERM and a closed terminal do what Ctrl-C does: raise KeyboardInterrupt.

    A signal that is ignored, as ``nohup`` has it, stays so.
    """
    heard = [number for number in _ASKED if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def unheard() -> Iterator[None]:
    """A block in which a Ctrl-C is not heard, nor ever by the processes that begin in it.

    A terminal sends it to all of them, and those that work for this one end with it.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt
