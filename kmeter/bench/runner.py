"""One case from its arguments to its row, whatever happens to it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kmeter.bench import arrays, frameworks
from kmeter.bench.cases import Arguments, Case, plain
from kmeter.bench.clockwork import (
    Clockwork,
    Rotations,
    gpu_clockwork,
    host_clockwork,
    works_on_gpu,
)
from kmeter.bench.compare import compare
from kmeter.bench.events import Event, Lap, Note
from kmeter.bench.judge import Judge, same_values
from kmeter.bench.loading import told
from kmeter.bench.quiet import quiet
from kmeter.bench.sampling import take
from kmeter.bench.settings import Settings
from kmeter.bench.workbench import Workbench
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import OUT_OF_MEMORY, CudaError
from kmeter.measure.engines import SHORTEST_S
from kmeter.measure.engines.graph import GraphEngine, NotCapturableError
from kmeter.measure.stopping import StopRule
from kmeter.measure.telemetry import Sampler
from kmeter.model.benchmark import Outcome, Row
from kmeter.model.samples import quantile, summary
from kmeter.model.score import impossible

_now = time.perf_counter
_CLOCKS = (time.perf_counter, time.perf_counter_ns, time.monotonic, time.time)
"""Taken when kmeter is loaded: a file may replace them in ``time``."""
_WARM_UP = 10
_LAUNCHES_TIMED = 10
_LAPS, _LAP_S = 3, 0.005
_ENERGY_LAP_S = 1.0
_MOST_LAP_CALLS = 100_000
_NO_WORK_S = 0.3e-6
"""Below what any kernel takes on any GPU, its launch included."""


class Ran(NamedTuple):
    """A row, and whether its process can run another."""

    row: Row
    is_last: bool = False
    lacked_memory: bool = False


def run_case(
    case: Case,
    rival: Case | None,
    settings: Settings,
    bench: Workbench,
    sampler: Sampler,
    emit: Callable[[Event], None],
    path: Path,
) -> Ran:
    """Try, time and judge one case, in turns with its rival; raises nothing."""
    empty = Row(case.name, plain(case.parameters), tags=case.benchmark.tags)
    start = _now()
    run = _Run(case, rival, settings, bench, sampler, emit)
    try:
        row, is_last, lacked_memory = run.timed(empty), False, False
    except BaseException as error:  # a KeyboardInterrupt, too: Ctrl-C reaches the parent alone
        lacked_memory = _is_out_of_memory(error)
        row = replace(empty, outcome=Outcome.FAILED, reason=_in_words(error, path))
        is_last = lacked_memory
    finally:
        run.close()
    broken = bench.broken()
    if broken is not None:
        row, is_last = replace(empty, outcome=Outcome.CRASHED, reason=broken.message), True
    elif not is_last:
        frameworks.free_memory()
    return Ran(replace(row, seconds=_now() - start), is_last, lacked_memory)


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


class _Run:
    """The steps of one case, which share its arguments."""

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
        self._judge = Judge(case, bench.context_or_none, bench.settle)
        self._clockwork: Clockwork | None = None
        self._notes: list[str] = []

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
        is_gpu_work = works_on_gpu(case, probe, result, timer)
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
        check = self._judge.before()
        if check is not None and not check.passed:
            return replace(row, outcome=Outcome.WRONG, reason=check.reason, check=check)
        arguments = self._judge.timed_arguments()
        calls = [self._first(arguments, is_lazy=is_lazy), *self._others(arguments)]
        self._clockwork = self._chosen_clockwork(timer, row, is_gpu_work=is_gpu_work)
        with quiet():
            row = self._sampled(row, calls, is_gpu_work=is_gpu_work)
        results = [call.result for call in calls]
        self._remark_on_laziness(results[0], is_lazy=is_lazy)
        check = self._judge.after(results[0], results[1:], arguments, check)
        return self._judged(replace(row, check=check, notes=(*row.notes, *self._notes)))

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

    def _chosen_clockwork(self, timer: str, row: Row, *, is_gpu_work: bool) -> Clockwork:
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
            row.bytes_per_call,
        )
        stream = frameworks.current_stream(self._case.benchmark.stream)
        return gpu_clockwork(self._bench, timer, self._settings.cache, stream, rotations)

    def _sampled(self, row: Row, calls: Sequence[Kept], *, is_gpu_work: bool) -> Row:
        clockwork = self._clockwork
        assert clockwork is not None
        engine, benchmark = clockwork.engine, self._case.benchmark
        self._tell("warming up")
        warm_up = _WARM_UP if benchmark.warmup is None else benchmark.warmup
        for call in calls:
            for _ in range(warm_up):
                call()
            self._bench.settle()
        most = min(self._settings.most_samples, benchmark.iters or self._settings.most_samples)
        rule = StopRule(self._settings.precision, self._settings.time_limit_s, most=most)
        self._sampler.start()
        taken = take(engine, calls, rule, self._sampler.glimpses, self._tell_samples)
        conditions = self._sampler.stop()
        host_s = self._launch_s(calls[0]) if is_gpu_work and not engine.calls_wait else None
        self._verify_graph(clockwork)
        energy_j = self._laps(calls[0], taken.samples[0], host_s)
        others = [self._seen(samples) for samples in taken.samples[1:]]
        notes = [*engine.remarks(), *([clockwork.note] if clockwork.note else [])]
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
            overhead_s=engine.overhead_s,
            host_s=host_s,
            conditions=conditions,
            energy_j=energy_j,
            notes=tuple(notes),
        )

    def _seen(self, samples: Sequence[float]) -> tuple[float, ...]:
        """Samples of what was timed in turns; none where it works on another stream."""
        if quantile(sorted(samples), 0.5) > SHORTEST_S:
            return tuple(samples)
        self._notes.append("its reference works on another stream: there is no speedup")
        return ()

    def _launch_s(self, call: Callable[[], object]) -> float:
        """How long a call keeps the host, with an idle GPU before each."""
        seconds = []
        for _ in range(_LAUNCHES_TIMED):
            self._bench.settle()
            start = _now()
            call()
            seconds.append(_now() - start)
        self._bench.settle()
        return quantile(sorted(seconds), 0.5)

    def _laps(
        self, call: Callable[[], object], samples: Sequence[float], host_s: float | None
    ) -> float | None:
        """Calls back to back while the parent's clock runs; joules of one, where asked for."""
        each_s = max(quantile(sorted(samples), 0.5), host_s or 0.0, SHORTEST_S)
        for _ in range(_LAPS):
            self._lap(call, each_s, _LAP_S)
        if not self._settings.energy:
            return None
        before = self._sampler.energy_j()
        made = self._lap(call, each_s, _ENERGY_LAP_S)
        after = self._sampler.energy_j()
        return None if before is None or after is None else (after - before) / made

    def _lap(self, call: Callable[[], object], each_s: float, lap_s: float) -> int:
        """One lap of about that length; how many calls were made."""
        count = max(1, min(_MOST_LAP_CALLS, round(lap_s / each_s)))
        self._bench.settle()
        self._emit(Lap(self._case.label, 0))
        made = self._made(call, count, lap_s)
        self._emit(Lap(self._case.label, made))
        return made

    def _made(self, call: Callable[[], object], count: int, lap_s: float) -> int:
        """Make that many calls, or as many as fit twice the time; how many it were.

        The device is waited for after 1, 2, 4, … of them: what they leave on other streams must not
        pile up unseen.
        """
        made, portion, start = 0, 1, _now()
        while made < count and _now() - start < 2 * lap_s:
            portion = min(portion, count - made)
            for _ in range(portion):
                call()
            self._bench.settle()
            made, portion = made + portion, 2 * portion
        return made

    def _verify_graph(self, clockwork: Clockwork) -> None:
        """Hold a replay against the plain call: a graph that misses a kernel leaves poison behind."""
        engine, arguments = clockwork.engine, clockwork.graph_of
        if not isinstance(engine, GraphEngine) or arguments is None or self._judge.is_in_place:
            return
        context, benchmark = self._bench.context(), self._case.benchmark
        plain_result = self._bound(benchmark.function, arguments)()
        self._bench.settle()
        right = [
            arrays.values_of(item, context)
            for item in self._judge.outputs_of(plain_result, arguments)
        ]
        outputs = self._judge.outputs_of(engine.results[0][0], arguments)
        for item in outputs:
            arrays.poison(item, context)
        engine.replay(0)
        for item, wanted in zip(outputs, right, strict=True):
            got = arrays.values_of(item, context)
            found = compare(got, wanted, benchmark.tolerance, benchmark.unit)
            if found.reason:
                raise NotCapturableError(f"a graph of it misses some of its work: {found.reason}")

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
                Note(self._case.label, "sampling", found.size, found.median, found.precision)
            )


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


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, CudaError):
        return error.code == OUT_OF_MEMORY
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__


def _in_words(error: BaseException, path: Path) -> str:
    if isinstance(error, KmeterError):
        return str(error)
    if _is_out_of_memory(error):
        return f"out of memory: {told(error, path)}"
    return told(error, path)
