"""A fleet being measured, on stderr: how many GPUs are done, and what each host is at."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kmeter.cli._progress import bar
from kmeter.cli.output import warn
from kmeter.model.card import Identity

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kmeter.fleet.cluster import Step

MOST_HOSTS = 12
"""Hosts that have a line of their own."""


class FleetWatch:
    """Draws where stderr is a terminal. Who died or hangs is told in any case, a line each."""

    def __init__(self, progress: "Progress | None") -> None:
        self._progress = progress
        self._all: TaskID | None = None
        if progress is not None:
            self._all = progress.add_task("looking for GPUs", total=None)
        self._lines: dict[str, TaskID] = {}
        self._gpus = 0
        self._done = 0

    def found(self, host: str, gpus: int) -> None:
        """More GPUs are to be measured."""
        self._gpus += gpus
        self._draw()

    def step(self, host: str, gpu: Identity, step: "Step") -> None:
        """A host is at a probe."""
        if self._progress is None:
            return
        if host not in self._lines and len(self._lines) < MOST_HOSTS:
            self._lines[host] = self._progress.add_task(host, total=step.of or 1)
        line = self._lines.get(host)
        if line is not None:
            name = gpu.pci_bus_id or gpu.uuid or ""
            self._progress.update(
                line, total=step.of or 1, completed=step.done, description=f"{host} {name}: {step.probe}"
            )  # fmt: skip

    def ended(self, host: str, gpu: Identity) -> None:
        """A GPU is done with, and another host may have its line."""
        self._done += 1
        line = self._lines.pop(host, None)
        if self._progress is not None and line is not None:
            self._progress.remove_task(line)
        self._draw()

    def trouble(self, where: str, what: str) -> None:
        """Something that others go on beside."""
        if self._progress is not None:
            self._progress.console.print(f"kmeter: {where}: {what}")
        else:
            warn(f"{where}: {what}")

    def again(self, gpus: int) -> None:
        """Some GPUs stand out and are measured again."""
        self.trouble(
            "measured again", "a GPU that is slow" if gpus == 1 else f"{gpus} GPUs that are slow"
        )
        self._gpus += gpus

    def _draw(self) -> None:
        if self._progress is None or self._all is None:
            return
        self._progress.update(
            self._all, total=self._gpus, completed=self._done,
            description=f"{self._done} of {self._gpus} GPUs",
        )  # fmt: skip


@contextmanager
def fleet_watch() -> Iterator[FleetWatch]:
    """Who watches while the block runs."""
    with bar() as progress:
        yield FleetWatch(progress)
