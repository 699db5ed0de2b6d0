"""One case from its arguments to its row, whatever happens to it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kmeter.bench import arrays, frameworks
from kmeter.bench.cases import Arguments, Case
from kmeter.bench.clockwork import (
    Clockwork,
    Rotations,
    gpu_clockwork,
    host_clockwork,
    works_on_gpu,
)
from kmeter.bench.events import Event, Lap, Note
from kmeter.bench.judge import Judge
from kmeter.bench.loading import told
from kmeter.bench.sampling import take
from kmeter.bench.settings import Settings
from kmeter.bench.workbench import Workbench
from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import OUT_OF_MEMORY, CudaError
from kmeter.measure.engines.events import SHORTEST_S
from kmeter.measure.engines.graph import GraphEngine
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
_LAP_S = 0.05
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
    settings: Settings,
    bench: Workbench,
    sampler: Sampler,
    emit: Callable[[Event], None],
    path: Path,
) -> Ran:
    """Try, time and judge one case; never raises but for KeyboardInterrupt."""
    empty = Row(case.name, plain(case.parameters), tags=case.benchmark.tags)
    start = _now()
    run = _Run(case, settings, bench, sampler, emit)
    try:
        row, is_last, lacked_memory = run.timed(empty), False, False
    except KeyboardInterrupt:
        raise
    except BaseException as error:
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


class _Run:
    """The steps of one case, which share its arguments."""

    def __init__(
        self,
        case: Case,
        settings: Settings,
        bench: Workbench,
        sampler: Sampler,
        emit: Callable[[Event], None],
    ) -> None:
        self._case, self._settings, self._bench = case, settings, bench
        self._sampler, self._emit = sampler, emit
        self._judge = Judge(case, bench.context_or_none, bench.settle)
        self._clockwork: Clockwork | None = None
        self._last: Any = None
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
        is_lazy = any(arrays.is_lazy(item) for item in arrays.flattened(result))
        del probe, result
        check = self._judge.before()
        if check is not None and not check.passed:
            return replace(row, outcome=Outcome.WRONG, reason=check.reason, check=check)
        arguments = self._judge.timed_arguments()
        calls = self._calls(arguments, is_lazy=is_lazy)
        self._clockwork = self._chosen_clockwork(timer, row, is_gpu_work=is_gpu_work)
        row = self._sampled(row, calls, is_gpu_work=is_gpu_work)
        check = self._judge.after(self._last, arguments, check)
        return self._judged(replace(row, check=check, notes=(*row.notes, *self._notes)))

    def _counted(self, row: Row, arguments: Arguments) -> Row:
        benchmark = self._case.benchmark
        return replace(
            row,
            bytes_per_call=self._case.amount(benchmark.bytes_per_call, arguments),
            flop_per_call=self._case.amount(benchmark.flops_per_call, arguments),
            roofs=self._bench.roofs(benchmark.unit, benchmark.peak_tflops),
        )

    def _calls(self, arguments: Arguments, *, is_lazy: bool) -> list[Callable[[], object]]:
        """The kernel, whose last result is kept, and its reference."""
        call = self._bound(self._case.benchmark.function, arguments)
        if is_lazy:
            call = _looked_at(call)
            self._notes.append("its result is computed when it is looked at: that is in the time")

        def kept() -> object:
            self._last = call()
            return self._last

        calls = [kept]
        if self._case.benchmark.ref is not None:
            calls.append(self._bound(self._case.benchmark.ref, arguments))
        return calls

    def _bound(self, function: Callable[..., Any], arguments: Arguments) -> Callable[[], object]:
        return arguments.given_to(function, self._case.parameters)

    # ---- timing ---------------------------------------------------------------------------

    def _chosen_clockwork(self, timer: str, row: Row, *, is_gpu_work: bool) -> Clockwork:
        if not is_gpu_work:
            return host_clockwork(self._bench, on_gpu=timer == "host")
        functions = [self._case.benchmark.function]
        if self._case.benchmark.ref is not None:
            functions.append(self._case.benchmark.ref)
        rotations = Rotations(
            [partial(self._bound, function) for function in functions],
            self._case.arguments,
            row.bytes_per_call,
        )
        stream = frameworks.current_stream(self._case.benchmark.stream)
        return gpu_clockwork(self._bench, timer, self._settings.cache, stream, rotations)

    def _sampled(
        self, row: Row, calls: Sequence[Callable[[], object]], *, is_gpu_work: bool
    ) -> Row:
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
        host_s = self._launch_s(calls[0]) if is_gpu_work else None
        if is_gpu_work:
            self._verify_graph(engine)
        energy_j = self._lap(calls[0], taken.samples[0], host_s)
        notes = [*engine.remarks(), *([clockwork.note] if clockwork.note else [])]
        return replace(
            row,
            engine=engine.name,
            cache_state=clockwork.cache_state,
            cache_note=clockwork.cache_note,
            samples_s=tuple(taken.samples[0]),
            reference_samples_s=tuple(taken.samples[1]) if len(taken.samples) > 1 else (),
            throttled=taken.throttled,
            stopped_by=taken.stopped_by,
            overhead_s=engine.overhead_s,
            host_s=host_s,
            conditions=conditions,
            energy_j=energy_j,
            notes=tuple(notes),
        )

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

    def _lap(
        self, call: Callable[[], object], samples: Sequence[float], host_s: float | None
    ) -> float | None:
        """Calls back to back while the parent's clock runs; joules of one, where asked for."""
        each_s = max(quantile(sorted(samples), 0.5), host_s or 0.0, SHORTEST_S)
        lap_s = _ENERGY_LAP_S if self._settings.energy else _LAP_S
        count = max(1, min(_MOST_LAP_CALLS, round(lap_s / each_s)))
        self._bench.settle()
        before = self._sampler.energy_j() if self._settings.energy else None
        self._emit(Lap(self._case.label, 0))
        for _ in range(count):
            call()
        self._bench.settle()
        self._emit(Lap(self._case.label, count))
        if before is None:
            return None
        after = self._sampler.energy_j()
        return None if after is None else (after - before) / count

    def _verify_graph(self, engine: object) -> None:
        """A graph that misses a kernel leaves its poisoned output as it is."""
        if not isinstance(engine, GraphEngine) or self._judge.is_in_place:
            return
        context = self._bench.context()
        outputs = list(arrays.flattened(engine.results[0]))
        if not outputs:
            return
        before = [arrays.values_of(item, context)[0].tobytes() for item in outputs]
        if not all(arrays.poison(item, context) for item in outputs):
            return
        engine.replay(0)
        after = [arrays.values_of(item, context)[0].tobytes() for item in outputs]
        if before != after:
            raise KmeterError(
                "a graph of it misses some of its work: its replay gives another result"
            )

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


def plain(parameters: Any) -> dict[str, Any]:
    """Parameters as JSON can hold them: numbers and text stay, others become their text."""
    return {
        key: value if isinstance(value, str | int | float | bool) else str(value)
        for key, value in parameters.items()
    }


def replaced_clocks() -> bool:
    """Whether the file has put other functions in the place of Python's clocks."""
    now = (time.perf_counter, time.perf_counter_ns, time.monotonic, time.time)
    return any(a is not b for a, b in zip(now, _CLOCKS, strict=True))


def _looked_at(call: Callable[[], object]) -> Callable[[], object]:
    """The call, and a look at what it returns."""

    def looked() -> object:
        result = call()
        for item in arrays.flattened(result):
            if arrays.view_of(item) is None and hasattr(item, "__array__"):
                item.__array__()
        return result

    return looked


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
