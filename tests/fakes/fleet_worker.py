"""A measuring process of one of many GPUs: what a recorded H200 told, as fast as KMETER_FAKE_FLEET says.

That is a JSON file with a table a UUID: ``share`` of the recording's speed in all tests or ``shares``
by test, ``once`` where only the first run of it is so slow, ``sm_clock_hz``, and ``mishap``: ``kill``
or ``freeze`` the Dask worker that started it, ``hang``, ``refuse``, or ``other`` to report another GPU;
and ``pace_s``, how long each test takes.
A mishap happens once, ``kill always`` each time.
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from kmeter.measure.events import Ended, Event, Finished, Planned, Refused, event_of, line_of
from kmeter.model.ceiling import Ceiling


def main() -> int:
    request = json.load(sys.stdin)
    folder = Path(os.environ["KMETER_FAKE_FLEET"]).parent
    fleet = json.loads(Path(os.environ["KMETER_FAKE_FLEET"]).read_bytes())
    uuid, names = request["device"], request["names"]
    gpu = fleet.get(uuid, {})
    is_first = _is_first(folder / f"seen-{uuid}")
    mishap = gpu.get("mishap", "")
    if mishap == "refuse":
        _tell(Refused(3, "CuPy cannot use this GPU"))
        return 3
    for line in Path(os.environ["KMETER_FAKE_EVENTS"]).read_bytes().splitlines():
        event = event_of(line)
        if isinstance(event, Planned):
            known = dict(zip(event.names, event.seconds, strict=True))
            run = replace(
                event.run,
                uuid=gpu["reports"] if mishap == "other" else uuid,
                host=gpu.get("host", "testhost"),
                pci_bus_id=f"0000:{uuid[-2:]}:00.0",
                power_limit_w=700.0,
                quick=True,
            )
            _tell(Planned(run, names, [known[name] for name in names]))
            if is_first or mishap == "kill always":
                _mishap(mishap)
        elif isinstance(event, Finished) and event.ceiling.name in names:
            time.sleep(gpu.get("pace_s", 0.0))
            _tell(Finished(_of(gpu, event.ceiling, is_first=is_first)))
        elif isinstance(event, Ended):
            _tell(event)
    return 0


def _mishap(mishap: str) -> None:
    if mishap.startswith("kill"):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    elif mishap == "freeze":
        os.kill(os.getppid(), signal.SIGSTOP)
    elif mishap == "hang":
        time.sleep(600)


def _of(gpu: dict[str, Any], ceiling: Ceiling, *, is_first: bool) -> Ceiling:
    """The ceiling as this GPU has it."""
    share = gpu.get("shares", {}).get(ceiling.name, gpu.get("share", 1.0))
    if gpu.get("once") and not is_first:
        share = 1.0
    clock = gpu.get("sm_clock_hz", ceiling.conditions.sm_clock_hz)
    factor = share if ceiling.measure.more_is_better else 1 / share
    return replace(
        ceiling,
        value=None if ceiling.value is None else ceiling.value * factor,
        is_quick=True,
        conditions=replace(ceiling.conditions, sm_clock_hz=clock),
    )


def _is_first(mark: Path) -> bool:
    is_first = not mark.exists()
    mark.touch()
    return is_first


def _tell(event: Event) -> None:
    os.write(1, line_of(event))


if __name__ == "__main__":
    sys.exit(main())
