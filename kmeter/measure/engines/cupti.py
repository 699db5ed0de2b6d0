"""CUPTI's activity records: when each kernel of a call began and ended, by the GPU's own clock.

Needs the package cupti-python (extra ``cupti``). One process can have one such observer at a time.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from kmeter.measure.cuda_context import CudaContext, Handle
from kmeter.measure.engines import Call
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.gated import GatedEngine
from kmeter.measure.engines.kernels import PREFIX, EngineKernels, Gate
from kmeter.model.launched_kernel import LaunchedKernel

_BUFFER_BYTES = 8 * 2**20
_FORCED = 1
"""CUPTI_ACTIVITY_FLAG_FLUSH_FORCED."""
_MARK = PREFIX + "nothing"


class Activity(NamedTuple):
    """A kernel, copy or fill as the GPU did it, nanoseconds."""

    start: int
    end: int
    name: str
    kernel: LaunchedKernel | None = None
    """None for a copy, a fill and kmeter's own."""


class Recorder:
    """The one observer of a process: CUPTI takes callbacks once."""

    def __init__(self) -> None:
        """Raises ImportError without the package."""
        from cupti import cupti

        self._cupti = cupti
        kinds = cupti.ActivityKind
        self._kinds = (kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET)
        self._seen: list[Activity] = []
        cupti.activity_register_callbacks(_buffer_wanted, self._hear)

    def _hear(self, activities: list[Any]) -> None:
        self._seen += [_activity(item) for item in activities if item.kind in self._kinds]

    def start(self) -> None:
        """Begin to observe; raises CUPTI's own error where it may not."""
        for kind in self._kinds:
            self._cupti.activity_enable(kind)

    def stop(self) -> None:
        """Observe no more."""
        for kind in self._kinds:
            self._cupti.activity_disable(kind)

    def take(self) -> list[Activity]:
        """Everything that was seen since it was last asked; the device is idle."""
        self._cupti.activity_flush_all(_FORCED)
        records, self._seen = self._seen, []
        return records


def _activity(item: Any) -> Activity:
    name = getattr(item, "name", "") or ""
    registers = getattr(item, "registers_per_thread", None)
    if registers is None or name.startswith(PREFIX):
        return Activity(item.start, item.end, name)
    kernel = LaunchedKernel(
        name,
        registers,
        item.static_shared_memory,
        item.dynamic_shared_memory,
        (item.block_x, item.block_y, item.block_z),
        (item.grid_x, item.grid_y, item.grid_z),
    )
    return Activity(item.start, item.end, name, kernel)


@cache
def _recorder() -> Recorder:
    return Recorder()


class CuptiEngine(GatedEngine):
    """Times from the start of a call's first kernel to the end of its last."""

    name = "cupti"
    overhead_s = 0.0
    _last: Sequence[Activity] = ()
    """The records of the calls that were sampled last."""

    def __init__(
        self, context: CudaContext, kernels: EngineKernels, flush: Flush, stream: Handle
    ) -> None:
        """Raises ImportError without the package, and CUPTI's own error where it may not observe."""
        self._records = _recorder()
        self._context, self._kernels, self._flush, self._stream = context, kernels, flush, stream
        self._gate = Gate(kernels)
        self._records.start()
        self._records.stop()

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call on the GPU. Observed are these alone: observing costs other timers."""
        self._records.start()
        try:
            return super().sample(calls, rounds)
        finally:
            self._records.stop()

    def _block(self, order: Sequence[tuple[int, Call]]) -> list[tuple[int, float]]:
        self._records.take()  # what others did meanwhile
        with self._gate.held(self._stream):
            for _, call in order:
                self._flush(self._stream)
                self._kernels.launch("nothing", stream=self._stream)
                call()
                self._kernels.launch("nothing", stream=self._stream)
        self._context.synchronize()
        self._last = self._records.take()
        found = list(spans(self._last))
        if len(found) != len(order):
            raise RuntimeError(f"CUPTI told of {len(found)} calls where {len(order)} were made")
        return [(index, seconds) for (index, _), seconds in zip(order, found, strict=True)]

    @property
    def launched(self) -> tuple[LaunchedKernel, ...]:
        """The kernels of the call that was sampled last."""
        return kernels_of_a_call(self._last)

    def close(self) -> None:
        self._gate.close()


def _buffer_wanted() -> tuple[int, int]:
    """The size of a buffer, and no limit of records in it."""
    return _BUFFER_BYTES, 0


def spans(records: Sequence[Activity]) -> Iterator[float]:
    """Seconds from the first start to the last end between each mark and the next, 0 for nothing.

    Marks come in pairs: what stands before the first of a pair is the flush.
    """
    inside = False
    within: list[Activity] = []
    for record in in_order(records):
        if record.name != _MARK:
            within.append(record)
            continue
        if inside:
            begins = min((r.start for r in within), default=0)
            yield (max((r.end for r in within), default=0) - begins) * 1e-9
        inside, within = not inside, []


def in_order(records: Sequence[Activity]) -> list[Activity]:
    """By when they began."""
    return sorted(records, key=lambda record: record[:3])


def kernels_of_a_call(records: Sequence[Activity]) -> tuple[LaunchedKernel, ...]:
    """What stands between the first two marks, each kernel once."""
    ordered = in_order(records)
    marks = [index for index, record in enumerate(ordered) if record.name == _MARK]
    if len(marks) < 2:
        return ()
    within = ordered[marks[0] + 1 : marks[1]]
    return tuple(dict.fromkeys(record.kernel for record in within if record.kernel is not None))
