"""A measuring process without a GPU: it tells what a recorded one told, and misbehaves on demand.

KMETER_FAKE_EVENTS is a recording; KMETER_FAKE_MISHAP is ``kill:NAME``, ``hang:NAME``,
``broken:NAME``, ``junk``, ``refuse`` or ``mute``; a mishap at NAME happens once a file.
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from kmeter.measure.events import (
    Ended,
    Event,
    Finished,
    Note,
    Planned,
    Refused,
    Started,
    event_of,
    line_of,
)
from kmeter.model.ceiling import Ceiling, Status


def main() -> int:
    names = json.load(sys.stdin)["names"]
    mishap, _, at = os.environ.get("KMETER_FAKE_MISHAP", "").partition(":")
    if mishap == "refuse":
        _tell(Refused(3, "no GPU here"))
        return 3
    if mishap == "mute":
        return 7
    if mishap == "junk":
        os.write(1, b"a library says hello\n")
    for line in Path(os.environ["KMETER_FAKE_EVENTS"]).read_bytes().splitlines():
        event = event_of(line)
        if isinstance(event, Planned):
            known = dict(zip(event.names, event.seconds, strict=True))
            _tell(Planned(event.run, names, [known[name] for name in names]))
        elif isinstance(event, Ended):
            _tell(event)
        elif isinstance(event, Started | Note) and event.name in names:
            _tell(event)
            if isinstance(event, Started) and event.name == at and _is_first_time():
                if mishap == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if mishap == "hang":
                    time.sleep(60)
        elif isinstance(event, Finished) and event.ceiling.name in names:
            if mishap == "broken" and event.ceiling.name == at:
                _tell(Finished(_failed(event.ceiling)))
                return 1
            _tell(event)
    return 0


def _tell(event: Event) -> None:
    os.write(1, line_of(event))


def _failed(ceiling: Ceiling) -> Ceiling:
    return replace(ceiling, status=Status.FAILED, reason="CUDA_ERROR_ILLEGAL_ADDRESS", value=None)


def _is_first_time() -> bool:
    mark = Path(os.environ["KMETER_FAKE_ONCE"])
    is_first = not mark.exists()
    mark.touch()
    return is_first


if __name__ == "__main__":
    sys.exit(main())
