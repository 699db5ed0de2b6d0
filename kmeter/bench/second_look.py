"""A second look at what was timed: a graph beside the plain call, one engine beside another."""

from collections.abc import Callable, Sequence

from kmeter.bench import arrays
from kmeter.bench.cases import Case
from kmeter.bench.clockwork import Clockwork
from kmeter.bench.compare import compare
from kmeter.bench.judge import Judge
from kmeter.bench.workbench import Workbench
from kmeter.measure.engines.graph import GraphEngine, NotCapturableError
from kmeter.model.samples import quantile
from kmeter.units import si

_CROSS_CHECKS = 16
_DISAGREEMENT, _DISAGREEMENT_S = 0.05, 0.5e-6
"""What two engines may differ by: a share, and what a launch varies by."""


def verify_graph(case: Case, clockwork: Clockwork, judge: Judge, bench: Workbench) -> None:
    """Hold a replay against the plain call: a graph that misses a kernel leaves poison behind.

    Raises NotCapturableError where it does.
    """
    engine, arguments = clockwork.engine, clockwork.graph_of
    if not isinstance(engine, GraphEngine) or arguments is None or judge.is_in_place:
        return
    context, benchmark = bench.context(), case.benchmark
    plain_result = arguments.given_to(benchmark.function, case.parameters)()
    bench.settle()
    right = [arrays.values_of(item, context) for item in judge.outputs_of(plain_result, arguments)]
    outputs = judge.outputs_of(engine.results[0][0], arguments)
    for item in outputs:
        arrays.poison(item, context)
    engine.replay(0)
    for item, wanted in zip(outputs, right, strict=True):
        got = arrays.values_of(item, context)
        found = compare(got, wanted, benchmark.tolerance, benchmark.unit)
        if found.reason:
            raise NotCapturableError(f"a graph of it misses some of its work: {found.reason}")


def cross_check(clockwork: Clockwork, call: Callable[[], object], samples: Sequence[float]) -> str:
    """What a second engine says where it disagrees with the first; nothing where it agrees."""
    if clockwork.second is None:
        return ""
    again = quantile(sorted(clockwork.second.sample([call], _CROSS_CHECKS)[0]), 0.5)
    median = quantile(sorted(samples), 0.5)
    if abs(again - median) <= _DISAGREEMENT * median + _DISAGREEMENT_S:
        return ""
    what = "CUPTI's records" if clockwork.second.name == "cupti" else clockwork.second.name
    why = " (CUPTI slows kernels of many blocks)" if clockwork.second.name == "cupti" else ""
    return f"{what} say {si(again, 's')}: the two timers disagree{why}"
