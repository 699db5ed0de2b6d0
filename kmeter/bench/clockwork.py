"""Choosing a timing engine for one case, and what it needs."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from kmeter.bench import frameworks
from kmeter.bench.argument_sets import views_of
from kmeter.bench.cases import Arguments
from kmeter.bench.workbench import Workbench
from kmeter.errors import KmeterError, UsageError
from kmeter.measure.cuda_context import CudaContext
from kmeter.measure.engines import Call, Engine
from kmeter.measure.engines.cupti import CuptiEngine
from kmeter.measure.engines.events import EventEngine
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.graph import GraphEngine
from kmeter.measure.engines.host import HostEngine
from kmeter.measure.engines.kernels import EngineKernels
from kmeter.model.benchmark import CacheState

_GPU_TIMERS = frozenset({"events", "graph", "cupti"})
_MOST_BUFFERS = 64
_LEAST_IN_GRAPH = 16
"""Calls of a graph, over which its launch is spread."""
_FEW, _SHORT_S = 8, 10e-6


class Clockwork(NamedTuple):
    """An engine, ready, and the state of the caches that it brings about."""

    engine: Engine
    cache_state: CacheState
    cache_note: str
    close: Callable[[], None]
    graph_of: Arguments | None = None
    """The first arguments of a graph's rotation."""
    second: Engine | None = None
    """CUPTI's, where it is installed and nobody chose: the first one is checked against it."""
    note: str = ""
    """Why it is not the engine that was asked for, or what ``auto`` found."""

    def suited_to(self, call: Call) -> "Clockwork":
        """CUPTI's records first for a short call, of which an event pair's own cost is a large part.

        Not for a longer one: what CUPTI does to time a kernel slows one of many blocks.
        """
        if self.second is None or median(self.engine.sample([call], _FEW)[0]) >= _SHORT_S:
            return self
        return self._replace(engine=self.second, second=self.engine)


def works_on_gpu(arguments: Arguments, result: object, timer: str) -> bool:
    """Whether a call is GPU work: its arrays lie there, or its timer says so."""
    if timer == "host":
        return False
    return timer in _GPU_TIMERS or any(
        view.on_gpu for view in views_of([*arguments.values, result])
    )


def host_clockwork(bench: Workbench, empty: Call) -> Clockwork:
    """The host's clock; where a GPU is in use each sample waits for it."""
    engine = HostEngine(bench.settle if bench.is_used else None, empty)
    return Clockwork(
        engine, CacheState.UNKNOWN, "the host's clock says nothing of L2", engine.close
    )


def gpu_clockwork(
    bench: Workbench, timer: str, cache: CacheState, stream: int, rotations: "Rotations"
) -> Clockwork:
    """The engine of that name; ``auto`` is events, with CUPTI's beside it where that is installed.

    Raises UsageError or KmeterError where the named one cannot work.
    """
    context, kernels = bench.context(), bench.kernels()
    if timer == "graph":
        return _graph(bench, rotations)
    flush = Flush(context, kernels, cache)
    engines: list[Engine] = []
    note = ""
    if timer in {"auto", "events"}:
        known_s = bench.event_overheads_s.get(flush.achieved)
        events = EventEngine(context, kernels, flush, stream, known_s)
        bench.event_overheads_s[flush.achieved] = events.overhead_s
        engines.append(events)
    if timer in {"auto", "cupti"}:
        found, note = _cupti(context, kernels, flush, stream, is_asked_for=timer == "cupti")
        engines += [found] if found is not None else []

    def close() -> None:
        for engine in engines:
            engine.close()
        flush.close()

    second = engines[1] if len(engines) > 1 else None
    return Clockwork(engines[0], flush.achieved, flush.note, close, second=second, note=note)


def _cupti(
    context: CudaContext,
    kernels: EngineKernels,
    flush: Flush,
    stream: int,
    *,
    is_asked_for: bool,
) -> tuple[Engine | None, str]:
    """CUPTI's engine, or None and what a reader should know of why; raises where it is asked for."""
    try:
        return CuptiEngine(context, kernels, flush, stream), ""
    except ImportError:
        if is_asked_for:
            way_out = "pip install 'kmeter[cupti]'"
            raise UsageError("the cupti timer needs cupti-python", way_out) from None
        return None, ""
    except Exception as error:  # CUPTI's own: another profiler observes this process
        if is_asked_for:
            raise KmeterError(f"CUPTI cannot observe: {error}") from None
        return None, f"CUPTI is installed and cannot observe ({error})"


class Rotations(NamedTuple):
    """How the graph engine gets the same work on other buffers."""

    functions: Sequence[Callable[[Arguments], Call]]
    """A kernel, and perhaps its reference: each binds arguments."""
    arguments: Callable[[], Arguments]


def _graph(bench: Workbench, rotations: Rotations) -> Clockwork:
    context = bench.context()
    l2 = (bench.card.device.l2_bytes if bench.card else None) or 0
    count = 2
    made = [rotations.arguments()]
    footprint = sum(view.span_bytes for view in views_of(list(made[0].values)))
    if footprint:
        count = max(2, min(_MOST_BUFFERS, -(-2 * l2 // footprint)))
    made += [rotations.arguments() for _ in range(count - 1)]
    often = -(-_LEAST_IN_GRAPH // count)
    bound = [[bind(arguments) for arguments in made] * often for bind in rotations.functions]
    engine = GraphEngine(context, bench.kernels(), frameworks.on_stream, bound)
    leaves_l2 = footprint * count >= 2 * l2 > 0
    amount = (
        f"{count} sets of arguments, {footprint * count >> 20} MiB in all, take turns in a graph"
    )
    state = CacheState.ROTATING if leaves_l2 else CacheState.WARM
    return Clockwork(engine, state, amount, engine.close, graph_of=made[0])
