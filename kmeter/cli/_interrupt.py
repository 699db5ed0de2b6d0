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
def postponed() -> Iterator[None]:
    """A block that nothing interrupts: what asked it to end meanwhile is heard behind it."""
    asked: list[int] = []
    numbers = (signal.SIGINT, *_ASKED)
    before = {n: signal.signal(n, lambda number, frame: asked.append(number)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt
