"""Who times a kernel rightly? kmeter's engines and other harnesses beside CUPTI's own records.

    python tests/gpu/timing_accuracy.py OUT.json

For each kernel of timed_kernels.py: CUPTI's duration and an event pair around the very same launches, in
each state of L2; five whole runs of kmeter's engines; Triton's do_bench, torch's Timer, cupyx and, where it
is installed, NVBench's Python package. Prints a table; needs cupy, torch, triton and cupti-python.
"""

import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kmeter.bench import frameworks
from kmeter.bench.cases import Case, cases_of
from kmeter.bench.loading import load
from kmeter.measure.cuda_context import CudaContext
from kmeter.measure.engines.cupti import CuptiEngine
from kmeter.measure.engines.events import EventEngine
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.graph import GraphEngine, NotCapturableError
from kmeter.measure.engines.kernels import EngineKernels
from kmeter.model.benchmark import CacheState

ROUNDS, RUNS = 64, 5
KERNELS = Path(__file__).parent.parent / "data" / "bench" / "timed_kernels.py"
STATES = (CacheState.COLD, CacheState.CLEAN, CacheState.WARM)


class Bench:
    """The card, and each engine's median of one call."""

    def __init__(self) -> None:
        self.context = CudaContext(0)
        self.kernels = EngineKernels(self.context)

    def pair_and_records(self, call: Callable[[], object], state: CacheState) -> tuple[float, ...]:
        """Medians of CUPTI's span and of an event pair around the very same launches, seconds."""
        flush = Flush(self.context, self.kernels, state)
        engine = CuptiEngine(self.context, self.kernels, flush, 0)
        events = EventEngine(self.context, self.kernels, flush, 0)
        pairs: list[float] = []

        def between_events() -> None:
            start, end = events._events(1)[0]
            self.context.record(start, 0)
            call()
            self.context.record(end, 0)

        spans = []
        for _ in range(ROUNDS):
            spans += engine.sample([between_events], 1)[0]
            start, end = events._events(1)[0]
            pairs.append(self.context.seconds_between(start, end))
        overhead = events.overhead_s
        events.close()
        engine.close()
        flush.close()
        return statistics.median(spans), statistics.median(pairs), overhead

    def engine(self, kind: Any, call: Callable[[], object], state: CacheState) -> float:
        """Median of an engine's samples."""
        flush = Flush(self.context, self.kernels, state)
        engine = kind(self.context, self.kernels, flush, 0)
        found: list[float] = engine.sample([call], ROUNDS)[0]
        engine.close()
        flush.close()
        return statistics.median(found)

    def graph(self, case: Case) -> float | None:
        """Median of a graph of the call on rotating buffers."""
        made = [case.arguments() for _ in range(4)]
        calls = [arguments.given_to(case.benchmark.function, {}) for arguments in made]
        try:
            engine = GraphEngine(self.context, self.kernels, frameworks.on_stream, [calls])
        except NotCapturableError as error:
            print(f"  {case.name}: {error}", file=sys.stderr)
            return None
        found = statistics.median(engine.sample([calls[0]], ROUNDS)[0])
        engine.close()
        return found


def do_bench(call: Callable[[], object]) -> float:
    """Triton's, in seconds."""
    from triton.testing import do_bench as triton_do_bench

    return float(triton_do_bench(call, return_mode="median")) * 1e-3


def torch_timer(call: Callable[[], object]) -> float:
    """torch.utils.benchmark's."""
    import torch
    from torch.utils.benchmark import Timer

    found = Timer("call()", globals={"call": call}).blocked_autorange().median
    torch.cuda.synchronize()
    return float(found)


def cupyx(call: Callable[[], object]) -> float:
    """CuPy's own benchmark function: its GPU times."""
    from cupyx.profiler import benchmark

    return float(statistics.median(benchmark(call, n_repeat=100, n_warmup=10).gpu_times[0]))


OTHERS: dict[str, Callable[[Callable[[], object]], float]] = {
    "Triton do_bench": do_bench,
    "torch Timer": torch_timer,
    "cupyx": cupyx,
}


def nvbench(cases: Sequence[Case]) -> dict[str, float]:
    """NVBench's cold measurement of each through its Python package, which runs once a process."""
    from cuda import bench

    def declare(number: int, call: Callable[[], object]) -> None:
        def state_of(state: Any) -> None:
            with frameworks.on_stream(state.get_stream().addressof()):
                call()
                state.exec(lambda _: call(), batched=False)

        bench.register(state_of).set_name(f"call{number}")

    for number, case in enumerate(cases):
        declare(number, case.arguments().given_to(case.benchmark.function, {}))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.json"
        bench.run_all_benchmarks(["nvbench", "--timeout", "2", "--quiet", "--json", str(file)])
        found = json.loads(file.read_text())["benchmarks"]
    return dict(zip((case.name for case in cases), map(_nvbench_seconds, found), strict=True))


def _nvbench_seconds(benchmark: dict[str, Any]) -> float:
    summaries = benchmark["states"][0]["summaries"]
    times = {item["tag"]: item["data"][0]["value"] for item in summaries if item["data"]}
    return float(times["nv/cold/time/gpu/mean"])


def measured(case: Case, bench: Bench) -> dict[str, Any]:
    """Everything of one kernel, seconds."""
    arguments = case.arguments()
    call = arguments.given_to(case.benchmark.function, {})
    for _ in range(5):
        call()
    bench.context.synchronize()
    found: dict[str, Any] = {"name": case.name}
    for state in STATES:
        span, pair, overhead = bench.pair_and_records(call, state)
        found[f"cupti_{state}"], found[f"pair_{state}"] = span, pair
        found[f"overhead_{state}"] = overhead
        found[f"events_{state}"] = [bench.engine(EventEngine, call, state) for _ in range(RUNS)]
        found[f"records_{state}"] = [bench.engine(CuptiEngine, call, state) for _ in range(RUNS)]
    found["graph"] = bench.graph(case)
    return found | dict(attempts(call))


def attempts(call: Callable[[], object]) -> Iterator[tuple[str, float | str]]:
    """The others' answers, or what they raised."""
    for name, harness in OTHERS.items():
        try:
            yield name, harness(call)
        except Exception as error:
            yield name, f"{type(error).__name__}: {error}"


def main() -> int:
    """Measure all, write OUT.json and print microseconds."""
    out = Path(sys.argv[1])  # before a file is loaded, which sees arguments of its own
    bench = Bench()
    rows = []
    cases = cases_of(load(KERNELS))
    for case in cases:
        start = time.perf_counter()
        row = measured(case, bench)
        rows.append(row)
        out.write_text(json.dumps(rows, indent=1))
        told = {key: value for key, value in row.items() if isinstance(value, float)}
        middles = {
            key: statistics.median(value) for key, value in row.items() if isinstance(value, list)
        }
        line = "  ".join(f"{key} {value * 1e6:.2f}" for key, value in {**told, **middles}.items())
        print(f"{row['name']} ({time.perf_counter() - start:.1f} s): {line}", flush=True)
    if importlib.util.find_spec("cuda.bench") is not None:
        for row, (name, seconds) in zip(rows, nvbench(cases).items(), strict=True):
            row["NVBench"] = seconds
            print(f"NVBench: {name} {seconds * 1e6:.2f}", flush=True)
        out.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
