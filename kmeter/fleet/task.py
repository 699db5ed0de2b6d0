"""What a Dask worker does for kmeter: it says which GPUs it sees, and measures one of them."""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from kmeter import __version__
from kmeter.errors import NoGpuError
from kmeter.fleet.gpu import client_of, gpus_here, key_of, measured
from kmeter.measure.client import Client
from kmeter.measure.events import Event, Finished, Note, Planned, Started
from kmeter.measure.plan import Options
from kmeter.model.card import Identity
from kmeter.model.ceiling import CeilingRun
from kmeter.sources._health import host_name

_at_work: dict[str, Client] = {}
"""What this process measures now, by the topic of the run."""


class Sight(NamedTuple):
    """What a worker sees."""

    host: str
    gpus: tuple[Identity, ...]
    version: str
    """Of the kmeter that it has."""
    reason: str = ""
    """Why it sees no GPU."""


def look() -> Sight:
    """The GPUs that this worker's process sees."""
    try:
        return Sight(host_name(), gpus_here(), __version__)
    except NoGpuError as error:
        return Sight(host_name(), (), __version__, error.message)


def measure(
    gpu: Identity, names: Sequence[str], options: Options, topic: str, command: Sequence[str]
) -> CeilingRun:
    """Measure a GPU, and tell whoever listens to the topic what it is at."""
    from distributed import get_worker

    worker = get_worker()
    told = _Steps(gpu)
    client = _at_work[topic] = client_of(gpu, options, command)
    worker.log_event(topic, told.now())
    try:
        return measured(gpu, client, names, lambda event: worker.log_event(topic, told.of(event)))
    finally:
        _at_work.pop(topic, None)


def stop(topic: str) -> None:
    """End what this process measures for that run: the task returns what was finished.

    In a thread: Dask calls this where the worker hears everything else, and a process may be slow to end.
    """
    client = _at_work.get(topic)
    if client is not None:
        threading.Thread(target=client.stop, daemon=True).start()


class _Steps:
    """A GPU's events as messages for a log of Dask's: plain values only."""

    def __init__(self, gpu: Identity) -> None:
        self._key = key_of(gpu, host_name())
        self._done = self._total = 0
        self._probe = ""

    def now(self) -> dict[str, Any]:
        """Where it stands: at first, that it is its turn."""
        return {"key": self._key, "probe": self._probe, "done": self._done, "of": self._total}

    def of(self, event: Event) -> dict[str, Any]:
        """Which GPU is at which probe, and how many of how many are done."""
        if isinstance(event, Planned):
            self._total = len(event.names)
        elif isinstance(event, Started | Note):
            self._probe = event.name
        elif isinstance(event, Finished):
            self._done += 1
        return self.now()
