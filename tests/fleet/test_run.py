"""A run over workers that die, hang, come back and come late: by a cluster and a clock made here."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty
from typing import Any

import pytest
from recorded import h200_run

from kmeter import __version__
from kmeter.errors import NoGpuError
from kmeter.fleet.cluster import Answer, Step
from kmeter.fleet.plan import Patience, Plan
from kmeter.fleet.run import FleetRun
from kmeter.fleet.second_look import corrected, measured_and_judged, report_of, suspects, verdict_of
from kmeter.fleet.task import Sight
from kmeter.measure.plan import Options
from kmeter.model.card import Identity
from kmeter.model.ceiling import Ceiling, CeilingRun, Status

NAMES = ("dram-read", "latency-l2")
PATIENCE = Patience(look_s=20, silence_s=60, grace_s=10, return_s=30)


def gpu(number: int) -> Identity:
    return Identity(number, number, f"0000:{number:02x}:00.0", f"GPU-{number}", "NVIDIA H200", None)


@dataclass
class FakeCluster:
    """Workers by name; what each sees and how it behaves. Time passes only while somebody waits."""

    hosts: dict[str, str]
    sees: dict[str, Sequence[Identity]]
    dies: set[str] = field(default_factory=set)
    """Workers that die when they are given a GPU, and come back under another name once."""
    mute: set[str] = field(default_factory=set)
    """Workers that say nothing once they measure; who is ``deaf`` too cannot be stopped."""
    deaf: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    """Workers that have other work first, without an end."""
    versions: dict[str, str] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)
    """Workers that never say what they see."""
    returns: dict[str, str] = field(default_factory=dict)
    shares: dict[str, list[float]] = field(default_factory=dict)
    """By UUID: the speed of each run one after another, the last one for all that follow."""
    now_s: float = 0.0
    given: list[tuple[str, str]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._alive = sorted(self.sees)
        self._said: deque[Step | Answer] = deque()
        self._tickets: dict[int, tuple[str, Identity]] = {}
        self._count = 0
        self.at_work: list[tuple[int, str]] = []
        """Tickets that are not answered yet, with their hosts."""
        self.most_at_once = 0

    @property
    def inbox(self) -> "FakeCluster":
        return self

    def get(self, block: bool = True, timeout: float | None = None) -> Step | Answer:
        if not self._said:
            self.now_s += timeout or 0.0
            raise Empty
        said = self._said.popleft()
        if isinstance(said, Answer):
            self.at_work = [item for item in self.at_work if item[0] != said.ticket]
        return said

    def workers(self) -> list[str]:
        return self._alive

    def look(self, worker: str) -> int:
        self._count += 1
        if worker not in self.blind:
            sight = Sight(
                self.hosts[worker],
                tuple(self.sees[worker]),
                self.versions.get(worker, __version__),
                "no driver here",
            )
            self._said.append(Answer(self._count, sight))
        return self._count

    def measure(
        self,
        worker: str,
        asked: Identity,
        names: Sequence[str],
        options: Options,
        command: Sequence[str],
    ) -> int:
        self._count += 1
        self.given.append((worker, asked.uuid or ""))
        self._tickets[self._count] = worker, asked
        self.at_work.append((self._count, self.hosts[worker]))
        of_host = [host for _, host in self.at_work if host == self.hosts[worker]]
        self.most_at_once = max(self.most_at_once, len(of_host))
        if worker in self.dies:
            self._alive.remove(worker)
            if worker in self.returns:
                self._alive.append(self.returns[worker])
            return self._count
        if worker in self.busy:
            return self._count
        self._said.append(Step(asked.uuid or "", "", 0, 0))
        if worker not in self.mute:
            self._said.append(Step(asked.uuid or "", names[0], 0, len(names)))
            self._said.append(Answer(self._count, self.run_of(worker, asked, names)))
        return self._count

    def run_of(self, worker: str, asked: Identity, names: Sequence[str]) -> CeilingRun:
        shares = self.shares.get(asked.uuid or "", [1.0])
        share = shares.pop(0) if len(shares) > 1 else shares[0]
        recorded = h200_run()
        ceilings = tuple(
            replace(c, value=(c.value or 0) * (share if c.measure.more_is_better else 1 / share))
            for c in recorded.ceilings
            if c.name in names
        )
        return replace(
            recorded, uuid=asked.uuid, host=self.hosts[worker], pci_bus_id=asked.pci_bus_id,
            ceilings=ceilings,
        )  # fmt: skip

    def stop(self, worker: str) -> None:
        self.stopped.append(worker)
        if worker not in self.deaf:
            ticket, asked = next((t, g) for t, (w, g) in self._tickets.items() if w == worker)
            cut = replace(self.run_of(worker, asked, ()), is_complete=False)
            self._said.append(Answer(ticket, cut))

    def come_late(self, worker: str) -> None:
        """A worker that was given up has measured after all."""
        ticket, (_, asked) = next(
            (t, found) for t, found in self._tickets.items() if found[0] == worker
        )
        self._said.append(Answer(ticket, self.run_of(worker, asked, NAMES)))

    def forget(self, ticket: int) -> None:
        self._tickets.pop(ticket, None)


class Notes:
    """What a run told."""

    def __init__(self) -> None:
        self.found_: list[tuple[str, int]] = []
        self.troubles: list[str] = []
        self.done: list[str] = []
        self.on_ended: Callable[[], object] = lambda: None

    def found(self, host: str, gpus: int) -> None:
        self.found_.append((host, gpus))

    def step(self, host: str, gpu: Identity, step: Step) -> None:
        assert step.key == gpu.uuid

    def ended(self, host: str, gpu: Identity) -> None:
        self.done.append(gpu.uuid or "")
        self.on_ended()

    def trouble(self, where: str, what: str) -> None:
        self.troubles.append(f"{where}: {what}")


def started(cluster: FakeCluster) -> tuple[FleetRun, Notes]:
    notes = Notes()
    plan = Plan(NAMES, Options(True, None, None, None), patience=PATIENCE)
    return FleetRun(cluster, plan, notes, now=lambda: cluster.now_s), notes


def two_hosts(**behaviour: Any) -> FakeCluster:
    """Two workers on host a, which see the same two GPUs, and one on host b with two others."""
    return FakeCluster(
        {"a1": "a", "a2": "a", "a3": "a", "b1": "b"},
        {"a1": [gpu(1), gpu(2)], "a2": [gpu(2), gpu(1)], "b1": [gpu(3), gpu(4)]},
        **behaviour,
    )


def refusals(run: FleetRun) -> dict[str, str]:
    return {key: measured.refusal for key, measured in run.runs.items() if measured.refusal}


def test_each_gpu_is_measured_once_by_somebody_who_sees_it() -> None:
    cluster = two_hosts()
    run, notes = started(cluster)
    run.measure_all()
    assert sorted(uuid for _, uuid in cluster.given) == ["GPU-1", "GPU-2", "GPU-3", "GPU-4"]
    assert all(uuid in {"GPU-1", "GPU-2"} for worker, uuid in cluster.given if worker[0] == "a")
    assert sorted(notes.done) == sorted(run.runs)
    assert sorted(notes.found_) == [("a", 2), ("b", 2)]


def test_hosts_work_at_once_and_their_gpus_one_after_another() -> None:
    cluster = two_hosts()
    run, _ = started(cluster)
    run.measure_all()
    assert {worker[0] for worker, _ in cluster.given[:2]} == {"a", "b"}
    assert cluster.most_at_once == 1


def test_a_gpu_whose_worker_dies_is_measured_by_another_one_of_its_host() -> None:
    run, notes = started(two_hosts(dies={"a1"}))
    run.measure_all()
    assert not refusals(run)
    assert len(run.runs) == 4
    assert notes.troubles == ["a: the worker that measured GPU-1 died"]


def test_a_gpu_whose_worker_dies_is_measured_by_the_one_that_comes_back() -> None:
    cluster = two_hosts(dies={"b1"}, returns={"b1": "b2"})
    cluster.hosts["b2"], cluster.sees["b2"] = "b", cluster.sees["b1"]
    run, _ = started(cluster)
    run.measure_all()
    assert not refusals(run)
    assert ("b2", "GPU-3") in cluster.given


def test_gpus_that_waited_longer_than_a_worker_may_be_gone_wait_for_it_to_come_back() -> None:
    """A worker dies at its third GPU, long after the others began to wait."""
    cluster = FakeCluster(
        {"a1": "a", "a2": "a"}, {"a1": [gpu(n) for n in range(1, 6)]}, returns={"a1": "a2"}
    )
    cluster.sees["a2"] = cluster.sees["a1"]
    run, notes = started(cluster)

    def later() -> None:
        cluster.now_s += 20
        if len(notes.done) == 2:
            cluster.dies = {"a1"}

    notes.on_ended = later
    run.measure_all()
    assert not refusals(run)
    assert len(run.runs) == 5


def test_a_worker_that_comes_during_the_second_look_is_measured_too() -> None:
    cluster = five_gpus(shares={"GPU-2": [0.8, 0.85]})
    cluster.hosts["b1"] = "b"
    run, notes = started(cluster)

    def joins() -> None:
        if len(notes.done) == 5:
            cluster.sees["b1"] = [gpu(9)]
            cluster.workers().append("b1")
            cluster.now_s += 2

    notes.on_ended = joins
    verdict = measured_and_judged(run)
    assert "GPU-9" in run.runs
    assert len(verdict.reports) == 6


def test_a_host_that_is_gone_is_reported_and_does_not_stop_the_others() -> None:
    run, _ = started(two_hosts(dies={"b1"}))
    run.measure_all()
    assert refusals(run) == {
        "GPU-3": "its worker died",
        "GPU-4": "its worker went away or hangs",
    }
    assert run.runs["GPU-3"].host == "b"


def test_a_gpu_that_kills_two_workers_is_not_tried_again() -> None:
    cluster = FakeCluster({"a1": "a", "a2": "a"}, {"a1": [gpu(1)], "a2": [gpu(1)]}, {"a1", "a2"})
    run, _ = started(cluster)
    run.measure_all()
    assert refusals(run) == {"GPU-1": "its worker died twice while it was measured"}


def test_who_is_silent_is_asked_to_stop_and_goes_on_with_the_next_gpu() -> None:
    cluster = two_hosts(mute={"b1"})
    run, _ = started(cluster)
    run.measure_all()
    assert cluster.stopped == ["b1", "b1"]
    assert refusals(run) == dict.fromkeys(("GPU-3", "GPU-4"), "no word from it for 60 s")


def test_who_hangs_is_left_alone_and_another_one_measures_the_rest() -> None:
    cluster = two_hosts(mute={"a1"}, deaf={"a1"})
    run, notes = started(cluster)
    run.measure_all()
    assert refusals(run) == {"GPU-1": "no word from it for 60 s"}
    assert ("a2", "GPU-2") in cluster.given
    assert notes.troubles == ["a: the worker that measures GPU-1 hangs"]


def test_who_reports_after_all_counts_once() -> None:
    cluster = two_hosts(mute={"a1"}, deaf={"a1"})
    run, notes = started(cluster)
    notes.on_ended = lambda: cluster.come_late("a1") if notes.done[-1] == "GPU-1" else None
    run.measure_all()
    assert not refusals(run)
    assert sorted(run.runs) == ["GPU-1", "GPU-2", "GPU-3", "GPU-4"]


def test_a_worker_that_never_says_what_it_sees_is_named() -> None:
    run, notes = started(two_hosts(blind={"b1"}))
    run.measure_all()
    assert sorted(run.runs) == ["GPU-1", "GPU-2"]
    assert run.left_out == ["b1"]
    assert notes.troubles == ["b1: is busy or does not answer"]


def test_no_gpu_anywhere_is_an_error() -> None:
    run, _ = started(FakeCluster({"a1": "a"}, {"a1": []}))
    with pytest.raises(NoGpuError, match="no worker of this scheduler sees a GPU"):
        run.measure_all()


def test_no_worker_at_all_is_an_error() -> None:
    run, _ = started(FakeCluster({}, {}))
    with pytest.raises(NoGpuError):
        run.measure_all()


def test_a_worker_that_has_other_work_is_no_fault_of_its_gpus() -> None:
    cluster = two_hosts(busy={"b1"})
    run, notes = started(cluster)
    run.measure_all()
    assert sorted(run.runs) == ["GPU-1", "GPU-2"]
    assert not refusals(run)
    assert run.left_out == ["GPU-3", "GPU-4"]
    assert cluster.now_s < 2 * PATIENCE.turn_s
    assert notes.troubles == [
        f"b: GPU-{number} was not measured: its worker is busy" for number in (3, 4)
    ]


def test_a_worker_without_gpus_is_told_and_missed_by_nobody() -> None:
    cluster = two_hosts()
    cluster.hosts["c1"], cluster.sees["c1"] = "c", []
    cluster = FakeCluster(cluster.hosts, cluster.sees)
    run, notes = started(cluster)
    run.measure_all()
    assert len(run.runs) == 4
    assert not run.left_out
    assert notes.troubles == ["c1: sees no GPU: no driver here"]


def test_a_worker_with_another_kmeter_is_not_asked_to_measure() -> None:
    run, notes = started(two_hosts(versions={"b1": "9.9"}))
    run.measure_all()
    assert sorted(run.runs) == ["GPU-1", "GPU-2"]
    assert run.left_out == ["b1"]
    assert notes.troubles == [f"b1: it has kmeter 9.9, this is {__version__}"]


def test_each_run_is_kept_as_soon_as_it_is_there() -> None:
    cluster = five_gpus(shares={"GPU-2": [0.8, 0.85]})
    kept: list[str | None] = []
    plan = Plan(NAMES, Options(True, None, None, None), patience=PATIENCE)
    run = FleetRun(cluster, plan, Notes(), lambda one: kept.append(one.uuid), lambda: cluster.now_s)
    measured_and_judged(run)
    assert kept == ["GPU-1", "GPU-2", "GPU-3", "GPU-4", "GPU-5"]


# ---- measured again -------------------------------------------------------------------------


def five_gpus(**behaviour: Any) -> FakeCluster:
    return FakeCluster({"a1": "a"}, {"a1": [gpu(n) for n in range(1, 6)]}, **behaviour)


def test_a_gpu_that_is_slow_once_is_not_called_bad() -> None:
    run, _ = started(five_gpus(shares={"GPU-2": [0.8, 1.0]}))
    verdict = measured_and_judged(run)
    assert not verdict.findings
    assert {f.report.uuid for f in verdict.recovered} == {"GPU-2"}


def test_a_gpu_that_is_slow_twice_is() -> None:
    cluster = five_gpus(shares={"GPU-2": [0.8, 0.85]})
    run, _ = started(cluster)
    verdict = measured_and_judged(run)
    assert {f.report.uuid for f in verdict.findings} == {"GPU-2"}
    assert verdict.findings[0].share == pytest.approx(0.85)
    assert not verdict.recovered
    assert len(cluster.given) == 6


def again_of(change: Callable[[Ceiling], Ceiling]) -> tuple[CeilingRun, CeilingRun]:
    """A run, and one of its first test that came out otherwise."""
    first = h200_run()
    return first, replace(first, ceilings=(change(first.ceilings[0]),))


def test_what_was_skipped_the_second_time_keeps_its_first_value() -> None:
    first, again = again_of(lambda c: replace(c, status=Status.SKIPPED, value=None))
    assert corrected(first, again) == first


def test_what_failed_the_second_time_has_failed() -> None:
    first, again = again_of(lambda c: replace(c, status=Status.FAILED, value=None))
    assert corrected(first, again).ceilings[0].status is Status.FAILED


def test_what_failed_is_not_measured_again() -> None:
    recorded = h200_run()
    failed = replace(recorded.ceilings[0], status=Status.FAILED, value=None, reason="wrong")
    run = replace(recorded, uuid="GPU-1", host="a", ceilings=(failed,))
    verdict = verdict_of([run])
    assert [finding.causes for finding in verdict.findings] == [("wrong",)]
    assert suspects(verdict, {"GPU-1": report_of(run)}) == {}


def test_a_run_that_would_be_no_report_is_a_finding_of_its_own_gpu() -> None:
    odd = replace(h200_run(), uuid="GPU-1", host="a", power_limit_w=-1.0)
    (finding,) = verdict_of([odd]).findings
    assert finding.causes == ("its report is none: it has an impossible power limit",)
