"""One case, tried and timed: the steps from its arguments to its row."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kmeter.bench import arrays, frameworks
from kmeter.bench.argument_sets import same_values
from kmeter.bench.cases import Arguments, Case, plain
from kmeter.bench.clockwork import (
    Clockwork,
    Rotations,
    gpu_clockwork,
    host_clockwork,
    works_on_gpu,
)
from kmeter.bench.events import Event, Note
from kmeter.bench.judge import Judge
from kmeter.bench.laps import Laps
from kmeter.bench.launched import kernels_of
from kmeter.bench.quiet import quiet
from kmeter.bench.sampling import take
from kmeter.bench.second_look import cross_check, verify_graph
from kmeter.bench.settings import Settings
from kmeter.bench.workbench import Workbench
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import OUT_OF_MEMORY, CudaError
from kmeter.measure.engines import SHORTEST_S
from kmeter.measure.stopping import StopRule
from kmeter.measure.telemetry import Sampler
from kmeter.model.benchmark import Check, Outcome, Row
from kmeter.model.samples import evenly_chosen, quantile, summary
from kmeter.model.score import impossible

_CLOCKS = (time.perf_counter, time.perf_counter_ns, time.monotonic, time.time)
"""Taken when kmeter is loaded: a file may replace them in ``time``."""
_WARM_UP, _AGAIN = 10, 5
_SPREAD_TOLD = 128
"""Samples that a listener gets while more are taken."""
_NO_WORK_S = 0.3e-6
"""Below what any kernel takes on any GPU, its launch included."""


class Kept:
    """A call whose last result stays: each one of a round is wrapped alike, and none frees its result
    while another keeps it.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self.result: object = None

    def __call__(self) -> object:
        self.result = self._call()
        return self.result


class Trial:
    """The steps of one case, which share its arguments; a rival's kernel takes turns with it."""

    def __init__(
        self,
        case: Case,
        rival: Case | None,
        settings: Settings,
        bench: Workbench,
        sampler: Sampler,
        emit: Callable[[Event], None],
    ) -> None:
        self._case, self._rival = case, rival
        self._settings, self._bench = settings, bench
        self._sampler, self._emit = sampler, emit
        self._judge = self._new_judge()
        self._laps = Laps(case.label, bench, sampler, emit)
        self._clockwork: Clockwork | None = None
        self._notes: list[str] = []

    def _new_judge(self) -> Judge:
        return Judge(self._case, self._bench.context_or_none, self._bench.settle)

    def empty_row(self) -> Row:
        """The row before anything was done."""
        case = self._case
        return Row(case.name, plain(case.parameters), tags=case.benchmark.tags)

    def close(self) -> None:
        """Stop watching and give the engine's memory back, if the context still lives."""
        self._sampler.stop()
        if self._clockwork is not None:
            try:
                self._clockwork.close()
            except KmeterError:
                self._clockwork = None

    def timed(self, empty: Row) -> Row:
        """The row; raises whatever the user's code raises."""
        case, benchmark = self._case, self._case.benchmark
        self._tell("checking")
        timer = self._settings.timer or benchmark.timer
        probe = case.arguments()
        result = probe.given_to(benchmark.function, case.parameters)()
        is_gpu_work = works_on_gpu(probe, result, timer)
        if is_gpu_work:
            self._bench.context()
        self._bench.settle()
        row = self._counted(empty, probe)
        is_lazy = arrays.computes_later(result)
        undone = next(filter(arrays.is_undone, arrays.flattened(result)), None)
        if undone is not None:
            raise KmeterError(
                f"it returns a {type(undone).__name__}, whose work is not done by then"
            )
        del probe, result
        check = self._checked()
        if check is not None and not check.passed:
            return replace(row, outcome=Outcome.WRONG, reason=check.reason, check=check)
        arguments = self._judge.timed_arguments() if check is not None else case.arguments()
        calls = [self._first(arguments, is_lazy=is_lazy), *self._others(arguments)]
        self._clockwork = self._chosen_clockwork(timer, is_gpu_work=is_gpu_work)
        with quiet():
            row = self._sampled(row, calls, is_gpu_work=is_gpu_work)
        results = [call.result for call in calls]
        self._remark_on_laziness(results[0], is_lazy=is_lazy)
        if self._judge.changes_inputs:
            self._notes.append(
                "it changes its inputs: later calls are timed on what is left of them"
            )
        check = self._judge.after(results[0], results[1:], arguments, check)
        return self._judged(replace(row, check=check, notes=(*row.notes, *self._notes)))

    def _checked(self) -> Check | None:
        """The judge's word; none where its copies of the arguments do not fit into memory."""
        try:
            return self._judge.before()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        self._judge = self._new_judge()  # the old one holds what it copied so far
        frameworks.free_memory()
        self._notes.append("not checked: copies of its arguments do not fit into memory")
        return None

    def _counted(self, row: Row, arguments: Arguments) -> Row:
        benchmark = self._case.benchmark
        return replace(
            row,
            bytes_per_call=self._case.amount(benchmark.bytes_per_call, arguments),
            flop_per_call=self._case.amount(benchmark.flops_per_call, arguments),
            roofs=self._bench.roofs(benchmark.unit, benchmark.peak_tflops),
        )

    def _first(self, arguments: Arguments, *, is_lazy: bool) -> Kept:
        """The kernel's call."""
        call = self._bound(self._case.benchmark.function, arguments)
        if is_lazy:
            call = _looked_at(call)
        return Kept(call)

    def _remark_on_laziness(self, result: object, *, is_lazy: bool) -> None:
        """Say what is in the time; raises KmeterError for work that escaped it."""
        if arrays.computes_later(result) and not is_lazy:
            raise KmeterError("its later results are computed only when they are looked at")
        if not is_lazy:
            return
        blind = [item for item in arrays.flattened(result) if _cannot_be_looked_at(item)]
        self._notes.append(
            f"it returns a {type(blind[0]).__name__}: nobody can see whether its work is done by then"
            if blind
            else "its result is computed when it is looked at: that is in the time"
        )

    def _others(self, arguments: Arguments) -> list[Kept]:
        """What is timed in turns with the kernel: its reference and its rival, as far as they are."""
        calls = []
        if self._case.benchmark.ref is not None:
            calls.append(Kept(self._bound_reference(self._case.benchmark.ref, arguments)))
        if self._rival is not None:
            calls.append(Kept(self._checked_rival(self._rival, arguments)))
        return calls

    def _checked_rival(self, rival: Case, arguments: Arguments) -> Callable[[], object]:
        """The other file's kernel; raises KmeterError where it is wrong.

        It takes the very same arguments where its own have the same values: what lies elsewhere in
        memory is in other caches.
        """
        judge = Judge(rival, self._bench.context_or_none, self._bench.settle)
        check = judge.before()
        if check is not None and not check.passed:
            raise KmeterError(f"the other file's is wrong: {check.reason}")
        own = judge.timed_arguments()
        spoils = judge.is_in_place and not self._judge.is_in_place
        if not spoils and same_values(own, arguments, self._bench.context_or_none()):
            own = arguments
        return own.given_to(rival.benchmark.function, rival.parameters)

    def _bound(self, function: Callable[..., Any], arguments: Arguments) -> Callable[[], object]:
        return arguments.given_to(function, self._case.parameters)

    def _bound_reference(
        self, reference: Callable[..., Any], arguments: Arguments
    ) -> Callable[[], object]:
        return self._bound(reference, self._judge.for_reference(arguments))

    # ---- timing ---------------------------------------------------------------------------

    def _chosen_clockwork(self, timer: str, *, is_gpu_work: bool) -> Clockwork:
        if not is_gpu_work:
            return host_clockwork(self._bench, Kept(_nothing))
        binds = [partial(self._bound, self._case.benchmark.function)]
        if self._case.benchmark.ref is not None:
            binds.append(partial(self._bound_reference, self._case.benchmark.ref))
        if self._rival is not None:
            binds.append(partial(self._bound, self._rival.benchmark.function))
        rotations = Rotations(
            binds,
            self._case.arguments,
        )
        stream = frameworks.current_stream(self._case.benchmark.stream)
        return gpu_clockwork(self._bench, timer, self._settings.cache, stream, rotations)

    def _sampled(self, row: Row, calls: Sequence[Kept], *, is_gpu_work: bool) -> Row:
        clockwork = self._clockwork
        assert clockwork is not None
        benchmark = self._case.benchmark
        self._tell("warming up")
        warm_up = _WARM_UP if benchmark.warmup is None else benchmark.warmup
        for call in calls:
            for _ in range(warm_up):
                call()
            self._bench.settle()
        clockwork = self._clockwork = clockwork.suited_to(calls[0])
        engine = clockwork.engine
        most = min(self._settings.most_samples, benchmark.iters or self._settings.most_samples)
        rule = StopRule(
            self._settings.precision,
            self._settings.time_limit_s,
            most=most,
            resolution_s=engine.resolution_s,
        )
        self._sampler.start()
        taken = take(engine, calls, rule, self._sampler.glimpses, self._tell_samples)
        conditions = self._sampler.stop()
        host_s = self._laps.launch_s(calls[0]) if is_gpu_work and not engine.calls_wait else None
        verify_graph(self._case, clockwork, self._judge, self._bench)
        disagreement = cross_check(clockwork, calls[0], taken.samples[0])
        self._laps.run(
            calls[0], taken.samples[0], host_s, lambda: engine.sample([calls[0]], _AGAIN)[0]
        )
        energy_j = None
        if self._settings.energy:
            each_s = quantile(sorted(taken.samples[0]), 0.5)
            energy_j = self._laps.energy_j(calls[0], max(each_s, host_s or 0.0))
        others = [self._seen(samples) for samples in taken.samples[1:]]
        notes = (*engine.remarks(), clockwork.note, disagreement)
        return replace(
            row,
            engine=engine.name,
            cache_state=clockwork.cache_state,
            cache_note=clockwork.cache_note,
            samples_s=tuple(taken.samples[0]),
            reference_samples_s=others.pop(0) if benchmark.ref is not None else (),
            rival_samples_s=others.pop(0) if self._rival is not None else (),
            throttled=taken.throttled,
            stopped_by=taken.stopped_by,
            sampling_s=taken.seconds,
            overhead_s=engine.overhead_s,
            host_s=host_s,
            conditions=conditions,
            energy_j=energy_j,
            kernels=kernels_of(clockwork, benchmark.function, self._bench.card),
            notes=tuple(note for note in notes if note),
        )

    def _seen(self, samples: Sequence[float]) -> tuple[float, ...]:
        """Samples of what was timed in turns; none where it works on another stream."""
        if quantile(sorted(samples), 0.5) > SHORTEST_S:
            return tuple(samples)
        self._notes.append("its reference works on another stream: there is no speedup")
        return ()

    # ---- judging --------------------------------------------------------------------------

    def _judged(self, row: Row) -> Row:
        """What the times themselves say against the row."""
        check, notes = row.check, list(row.notes)
        if check is not None and not check.passed:
            return replace(row, outcome=Outcome.WRONG, reason=check.reason)
        if replaced_clocks():
            notes.append("the file replaces clocks of the module time; kmeter's are its own")
        times = summary(row.samples_s)
        if row.engine in {"events", "cupti"} and times and times.median < _NO_WORK_S:
            reason = "no work was seen on its stream: it works on another one, or not at all"
            return replace(row, outcome=Outcome.WRONG, reason=reason)
        row = replace(row, notes=tuple(notes))
        reason = impossible(row)
        return replace(row, outcome=Outcome.IMPOSSIBLE, reason=reason) if reason else row

    # ---- telling --------------------------------------------------------------------------

    def _tell(self, text: str) -> None:
        self._emit(Note(self._case.label, text))

    def _tell_samples(self, samples: Sequence[float]) -> None:
        found = summary(samples)
        if found is not None:
            self._emit(
                Note(
                    self._case.label, "sampling", found.size, found.median, found.precision,
                    self._spread(samples),
                )
            )  # fmt: skip

    def _spread(self, samples: Sequence[float]) -> tuple[float, ...]:
        """What is told of it takes time between samples: only where it is asked for."""
        if not self._settings.tells_spread:
            return ()
        return evenly_chosen(sorted(samples), _SPREAD_TOLD)


def replaced_clocks() -> bool:
    """Whether the file has put other functions in the place of Python's clocks."""
    now = (time.perf_counter, time.perf_counter_ns, time.monotonic, time.time)
    return any(a is not b for a, b in zip(now, _CLOCKS, strict=True))


def _nothing() -> None:
    """An empty call."""


def _looked_at(call: Callable[[], object]) -> Callable[[], object]:
    """The call, and a look at what it returns."""

    def looked() -> object:
        result = call()
        for item in arrays.flattened(result):
            if arrays.view_of(item) is None and hasattr(item, "__array__"):
                item.__array__()
        return result

    return looked


def _cannot_be_looked_at(item: Any) -> bool:
    return arrays.is_lazy(item) and not arrays.view_is_possible(item)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the host's or the device's memory was full, in any framework's words."""
    if isinstance(error, CudaError):
        return error.code == OUT_OF_MEMORY
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
