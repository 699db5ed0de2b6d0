"""Every GPU of a cluster measured, one a host at a time; whoever dies or hangs keeps nobody else."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from queue import Empty
from typing import Protocol

from kmeter import __version__
from kmeter.errors import NoGpuError
from kmeter.fleet.cluster import Answer, Step
from kmeter.fleet.gpu import key_of, refused
from kmeter.fleet.plan import Job, Plan
from kmeter.fleet.task import Sight
from kmeter.measure.plan import Options
from kmeter.model.card import Identity
from kmeter.model.ceiling import CeilingRun

ATTEMPTS = 2
"""A GPU whose worker dies is tried once more, by another worker of its host."""
_TICK_S = 0.25


class Workers(Protocol):
    """What a run needs of a cluster: see ``kmeter.fleet.cluster.Cluster``."""

    @property
    def inbox(self) -> "Inbox": ...
    def workers(self) -> list[str]: ...
    def look(self, worker: str) -> int: ...
    def measure(
        self,
        worker: str,
        gpu: Identity,
        names: Sequence[str],
        options: Options,
        command: Sequence[str],
    ) -> int: ...
    def stop(self, worker: str) -> None: ...
    def forget(self, ticket: int) -> None: ...


class Inbox(Protocol):
    """A queue of what workers say."""

    def get(self, block: bool = True, timeout: float | None = None) -> Step | Answer: ...


class Watch(Protocol):
    """Who is told how a run goes; nothing of it is waited for."""

    def found(self, host: str, gpus: int) -> None: ...
    def step(self, host: str, gpu: Identity, step: Step) -> None: ...
    def ended(self, host: str, gpu: Identity) -> None: ...
    def trouble(self, where: str, what: str) -> None: ...


class FleetRun:
    """One run over all workers of a cluster. ``runs`` holds a GPU once, as far as it was measured."""

    def __init__(
        self,
        cluster: Workers,
        plan: Plan,
        watch: Watch,
        keep: Callable[[CeilingRun], object] = lambda run: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``keep`` gets each GPU's run as soon as there is one."""
        self._keep = keep
        self.runs: dict[str, CeilingRun] = {}
        self.left_out: list[str] = []
        """Workers that never said what they see, and GPUs whose workers had other work."""
        self._cluster, self._plan, self._watch, self._now = cluster, plan, watch, now
        self._gpus: dict[str, tuple[Identity, str]] = {}
        self._seen_by: dict[str, list[str]] = defaultdict(list)
        self._looking: dict[int, tuple[str, float]] = {}
        self._known: set[str] = set()
        self._alive: set[str] = set()
        self._hanging: set[str] = set()
        self._busy: set[str] = set()
        self._waiting: list[Job] = []
        self._running: dict[int, Job] = {}
        self._late: dict[int, Job] = {}
        self._looked_s = float("-inf")
        self._may_begin = True
        """Whether a host may have become idle: that is not looked for with every word."""

    def measure_all(self) -> None:
        """Measure every GPU that any worker sees; raises NoGpuError where none sees one."""
        self._work()
        if not self.runs:
            silent = f", and {len(self.left_out)} were left out" if self.left_out else ""
            none = "no worker of this scheduler sees a GPU" if self._known else "it has no workers"
            none = "no GPU was measured" if self._gpus else none
            raise NoGpuError(f"{none}{silent}")

    def measure_again(self, wanted: Mapping[str, Sequence[str]]) -> dict[str, CeilingRun]:
        """Measure some tests of some GPUs once more: their runs, which ``runs`` does not hold."""
        (before, self.runs), (keep, self._keep) = (self.runs, {}), (self._keep, lambda run: None)
        for key, names in wanted.items():
            gpu, host = self._gpus[key]
            self._waiting.append(Job(key, gpu, host, names, heard_s=self._now()))
        try:
            self._work()
        finally:
            again, self.runs, self._keep = self.runs, before, keep
        return again

    def stop(self) -> None:
        """End whatever is being measured."""
        for ticket, job in self._running.items():
            self._cluster.stop(job.worker)
            self._cluster.forget(ticket)

    # ---- the loop -------------------------------------------------------------------------

    def _work(self) -> None:
        self._look_around()
        while self._waiting or self._running or self._looking:
            self._begin()
            self._hear()
            if self._now() - self._looked_s >= 1.0:
                self._look_around()

    def _hear(self) -> None:
        try:
            said = self._cluster.inbox.get(timeout=_TICK_S)
        except Empty:
            return
        if isinstance(said, Step):
            self._step(said)
        elif said.ticket in self._looking:
            self._sight(said)
        elif said.ticket in self._running:
            self._ended(self._running.pop(said.ticket), said)
        elif said.ticket in self._late:
            self._came_late(self._late.pop(said.ticket), said)

    def _step(self, step: Step) -> None:
        for job in self._running.values():
            if job.key == step.key:
                job.heard_s, job.has_begun = self._now(), True
                self._watch.step(job.host, job.gpu, step)

    # ---- workers and what they see --------------------------------------------------------

    def _look_around(self) -> None:
        """Who came, who went, who is silent."""
        self._looked_s, self._may_begin = self._now(), True
        alive = set(self._cluster.workers())
        self._lose(self._known - alive)
        self._alive = alive
        for worker in sorted(self._alive - self._known):
            self._known.add(worker)
            self._looking[self._cluster.look(worker)] = (worker, self._now())
        for ticket, (worker, since_s) in list(self._looking.items()):
            if worker not in self._alive:
                self._unheard(ticket, worker, "went away before it said what it sees")
            elif self._now() - since_s > self._plan.patience.look_s:
                self._unheard(ticket, worker, "is busy or does not answer")
        for ticket, job in list(self._running.items()):
            if job.worker not in self._alive:
                self._died(self._running.pop(ticket), ticket)
            elif not job.has_begun:
                self._queued(ticket, job)
            elif self._now() - job.heard_s > self._plan.patience.silence_s:
                self._silent(ticket, job)
        for job in list(self._waiting):
            self._give_up(job)

    def _lose(self, gone: set[str]) -> None:
        """Workers that went may come back under their address: then they are new ones."""
        self._known -= gone
        self._hanging -= gone
        for job in self._waiting:
            if gone & set(self._seen_by[job.key]):
                job.heard_s = self._now()  # from now on somebody is waited for

    def _sight(self, answer: Answer) -> None:
        worker, _ = self._looking.pop(answer.ticket)
        self._may_begin = True
        if answer.is_lost:
            self._known.discard(worker)  # and asked again
            return
        sight = answer.result
        if not isinstance(sight, Sight):
            self._leave_out_worker(worker, answer.reason)
            return
        if sight.version != __version__:
            self._leave_out_worker(worker, f"it has kmeter {sight.version}, this is {__version__}")
            return
        if not sight.gpus:
            self._watch.trouble(worker, f"sees no GPU: {sight.reason}")
        new = 0
        for gpu in sight.gpus:
            key = key_of(gpu, sight.host)
            if worker not in self._seen_by[key]:
                self._seen_by[key].append(worker)
            if key not in self._gpus:
                self._gpus[key] = (gpu, sight.host)
                job = Job(key, gpu, sight.host, self._plan.names, heard_s=self._now())
                self._waiting.append(job)
                new += 1
        if new:
            self._watch.found(sight.host, new)

    def _unheard(self, ticket: int, worker: str, reason: str) -> None:
        del self._looking[ticket]
        self._cluster.forget(ticket)
        self._hanging.add(worker)
        self._leave_out_worker(worker, reason)

    def _leave_out_worker(self, worker: str, reason: str) -> None:
        self.left_out.append(worker)
        self._watch.trouble(worker, reason)

    # ---- jobs -----------------------------------------------------------------------------

    def _begin(self) -> None:
        """Give each host that is idle its next GPU."""
        if not self._may_begin:
            return
        self._may_begin = False
        busy = {job.host for job in self._running.values()}
        for job in list(self._waiting):
            if job.host in busy:
                continue
            worker = self._worker_for(job)
            if worker is None:
                continue
            self._waiting.remove(job)
            busy.add(job.host)
            job.worker, job.heard_s, job.stopped_s = worker, self._now(), None
            job.has_begun = False
            job.attempts += 1
            plan = self._plan
            ticket = self._cluster.measure(worker, job.gpu, job.names, plan.options, plan.command)
            self._running[ticket] = job

    def _worker_for(self, job: Job) -> str | None:
        able = self._alive - self._hanging - self._busy
        return next((worker for worker in self._seen_by[job.key] if worker in able), None)

    def _ended(self, job: Job, answer: Answer) -> None:
        self._may_begin = True
        if isinstance(answer.result, CeilingRun):
            run = answer.result
            if job.stopped_s is not None and not run.is_complete:
                run = replace(run, refusal=self._silence())
            self._finish(job, run)
        elif answer.is_lost:
            job.attempts -= 1
            self._alive = set()  # until the next look around
            self._wait_again(job, "the scheduler lost it")
        elif job.worker not in self._cluster.workers():
            self._died(job, answer.ticket)
        else:
            self._refuse(job, answer.reason)

    def _died(self, job: Job, ticket: int) -> None:
        self._cluster.forget(ticket)
        self._watch.trouble(job.host, f"the worker that measured {job.key} died")
        if job.attempts >= ATTEMPTS:
            self._refuse(job, "its worker died twice while it was measured")
            return
        self._wait_again(job, "its worker died")

    def _wait_again(self, job: Job, why: str) -> None:
        job.worker, job.heard_s, job.trouble = "", self._now(), why
        self._waiting.append(job)

    def _queued(self, ticket: int, job: Job) -> None:
        """A worker that has other work first is no fault of the GPU: in the end it is left out."""
        if self._now() - job.heard_s > self._plan.patience.turn_s:
            del self._running[ticket]
            self._cluster.forget(ticket)
            self._busy.add(job.worker)
            self._leave_out(job)

    def _leave_out(self, job: Job) -> None:
        self.left_out.append(job.key)
        self._watch.trouble(job.host, f"{job.key} was not measured: its worker is busy")
        self._watch.ended(job.host, job.gpu)

    def _silent(self, ticket: int, job: Job) -> None:
        """First it is asked to stop; who does not is left alone, with all that only it sees."""
        if job.stopped_s is None:
            job.stopped_s = self._now()
            self._cluster.stop(job.worker)
        elif self._now() - job.stopped_s > self._plan.patience.grace_s:
            self._late[ticket] = self._running.pop(ticket)
            self._hanging.add(job.worker)
            self._watch.trouble(job.host, f"the worker that measures {job.key} hangs")
            self._refuse(job, self._silence())

    def _silence(self) -> str:
        return f"no word from it for {self._plan.patience.silence_s:g} s"

    def _came_late(self, job: Job, answer: Answer) -> None:
        """A GPU that was given up reports after all: that counts, and its worker works."""
        self._hanging.discard(job.worker)
        if isinstance(answer.result, CeilingRun) and answer.result.is_complete:
            self._hold(job.key, answer.result)

    def _give_up(self, job: Job) -> None:
        """Refuse a GPU that nobody is left for."""
        if self._worker_for(job) is None and not self._may_return(job):
            self._waiting.remove(job)
            if self._busy & set(self._seen_by[job.key]):
                self._leave_out(job)
            else:
                self._refuse(job, job.trouble or "its worker went away or hangs")

    def _may_return(self, job: Job) -> bool:
        is_asked = any(worker in self._alive for worker, _ in self._looking.values())
        return is_asked or self._now() - job.heard_s < self._plan.patience.return_s

    def _refuse(self, job: Job, reason: str) -> None:
        self._finish(job, refused(job.gpu, self._plan.options, reason, job.host))

    def _finish(self, job: Job, run: CeilingRun) -> None:
        self._hold(job.key, run)
        self._watch.ended(job.host, job.gpu)

    def _hold(self, key: str, run: CeilingRun) -> None:
        """From now on this is the run of that GPU."""
        self.runs[key] = run
        self._keep(run)
