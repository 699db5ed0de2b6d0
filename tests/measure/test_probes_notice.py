"""Every probe notices a kernel that does nothing: on a GPU whose kernels are hollow, all must fail.

Only data.cu works here, in NumPy: what fills arrays and counts what is wrong in them.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

np = pytest.importorskip("numpy")

from devices import H100_SXM  # noqa: E402

from kmeter.measure import gpu as real  # noqa: E402
from kmeter.measure.compiler import Source  # noqa: E402
from kmeter.measure.events import Event, Finished  # noqa: E402
from kmeter.measure.plan import MIB, GpuFacts, Options  # noqa: E402
from kmeter.measure.probes import Probe, latency, probes  # noqa: E402
from kmeter.measure.runner import run_probes  # noqa: E402
from kmeter.measure.telemetry import Sampler  # noqa: E402
from kmeter.model.ceiling import Ceiling, Conditions, Status  # noqa: E402

FACTS = GpuFacts((9, 0), 4, 4 * MIB, 512 * MIB, 512 * MIB, 232448, 1e9, 63e9)
OPTIONS = Options(quick=True, repeat=1, array_bytes=MIB)
NEED_CUPY = ("launch", "matmul", "host", "peer")
"""Probes that launch nothing of their own, or nothing that can be checked."""


class Array(np.ndarray):  # type: ignore[misc, name-defined, unused-ignore]
    """NumPy's array with the names that CuPy adds."""

    def get(self) -> Any:
        return np.asarray(self).copy()

    @property
    def data(self) -> Any:
        return type("Memory", (), {"ptr": self.ctypes.data})


def random_words(count: int, seed: int) -> Any:
    z = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z >> np.uint64(32)).astype(np.uint32)


def random_floats(count: int, seed: int) -> Any:
    signed = random_words(count, seed).view(np.int32) >> 8
    return (signed * np.float64(2.0**-23)).astype(np.float32)


def fill_words(out: Any, n: Any, seed: Any) -> None:
    out[:] = random_words(int(n), int(seed))


def fill_floats(out: Any, n: Any, seed: Any) -> None:
    out[:] = random_floats(int(n), int(seed))


def sum_of_words(n: Any, seed: Any, total: Any) -> None:
    total[0] += random_words(int(n), int(seed)).sum(dtype=np.uint32)


def sum_of_products(n: Any, seed: Any, total: Any) -> None:
    a, b = (random_floats(int(n), int(seed) + i).astype(np.float64) for i in (0, 1))
    total[0] += a @ b


def count_wrong_words(got: Any, n: Any, seed: Any, wrong: Any) -> None:
    wrong[0] += (got != random_words(int(n), int(seed))).sum()


def count_wrong_written(got: Any, n: Any, seed: Any, wrong: Any) -> None:
    expected = np.arange(int(n), dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(seed)
    wrong[0] += (got != expected).sum()


def count_other_words(got: Any, n: Any, value: Any, wrong: Any) -> None:
    wrong[0] += (got != value).sum()


def count_wrong_floats(got: Any, n: Any, x: Any, y: Any, seed: Any, wrong: Any) -> None:
    a, b = (random_floats(int(n), int(seed) + i).astype(np.float64) for i in (0, 1))
    wrong[0] += (~(np.abs(got - (x * a + y * b)) < 1e-6)).sum()


class Kernel:
    most_threads = 1024

    def __init__(self, name: str) -> None:
        self._work: Callable[..., None] | None = globals().get(name)

    def __call__(self, grid: int, block: int, arguments: Sequence[Any], shared: int = 0) -> None:
        if self._work:
            self._work(*arguments)

    def bind(self, grid: int, block: int, arguments: Sequence[Any], shared: int = 0) -> real.Launch:
        return lambda: self(grid, block, arguments)

    def allow_shared(self, size: int) -> None: ...

    def instructions(self, name: str) -> int:
        return 10**6


class Program:
    def __getitem__(self, name: str) -> Kernel:
        return Kernel(name)


class HollowGpu:
    facts = FACTS
    stream = type("Stream", (), {"ptr": 0})

    def empty(self, size: int, dtype: str = "u1") -> Any:
        return np.zeros(size, dtype).view(Array)

    def zeros(self, size: int, dtype: str) -> Any:
        return self.empty(size, dtype)

    def put(self, array: Any) -> Any:
        return np.array(array).view(Array)

    def program(self, file: str, **constants: int) -> Program:
        return Program()

    def programs(self, sources: Sequence[Source]) -> list[Program]:
        return [Program() for _ in sources]

    def seconds(self, launch: real.Launch, times: int = 1, *, lead: Any = None) -> float:
        launch()
        return 1.0

    def synchronize(self) -> None: ...

    def note_memory(self) -> None: ...

    def release(self) -> None: ...


class NoSampler:
    def start(self) -> None: ...

    def stop(self) -> Conditions:
        return Conditions()


def run(probe: Probe) -> Ceiling:
    events: list[Event] = []
    run_probes(
        cast("real.Gpu", HollowGpu()), H100_SXM, cast("Sampler", NoSampler()), [probe], OPTIONS,
        events.append,
    )  # fmt: skip
    assert isinstance(events[-1], Finished)
    return events[-1].ceiling


@pytest.mark.parametrize(
    "probe",
    [probe for probe in probes() if not probe.name.startswith(NEED_CUPY)],
    ids=lambda probe: probe.name,
)
def test_a_kernel_that_does_nothing_is_no_ceiling(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency, "HOPS", 72)
    monkeypatch.setattr("kmeter.measure.probes.tensor.REST_S", 0.0)
    monkeypatch.setattr("cupy.cuda.runtime.memcpyAsync", lambda *_: None)
    ceiling = run(probe)
    assert ceiling.status is Status.FAILED, ceiling.reason
    assert any(word in ceiling.reason for word in ("wrong", "not written", "disagree")), ceiling
    assert ceiling.value is None


@pytest.mark.parametrize("places", [64, 8192, 2**22])
def test_no_chase_ends_where_it_began(places: int) -> None:
    for warm in (0, places):
        hops = (latency.HOPS + warm) * latency.LAUNCHES
        assert hops % places
    assert latency.HOPS * latency.SHARED_STEP % latency.SHARED_PLACES
