"""CUDA events around each call, behind a gate that hides the launch, less the pair's own cost."""

from collections.abc import Iterator, Sequence

from kmeter.measure.cuda_context import CudaContext, Handle
from kmeter.measure.engines import Call
from kmeter.measure.engines.flush import Flush
from kmeter.measure.engines.gated import GatedEngine
from kmeter.measure.engines.kernels import EngineKernels, Gate
from kmeter.model.samples import quantile

EMPTY_KERNEL_S = 0.4e-6
"""What an empty kernel adds to an event pair's reading; the rest is the pair's own cost. So it is on an
H200: kernels of 1 µs to 0.5 ms read 2.5 µs more than CUPTI says they take, an empty one reads 2.9 µs.
Assumed to be the same on every GPU."""
_CALIBRATION_ROUNDS = 64


class EventEngine(GatedEngine):
    """Times what a call gives to a stream, from its beginning to its end on the GPU."""

    name = "events"

    def __init__(
        self,
        context: CudaContext,
        kernels: EngineKernels,
        flush: Flush,
        stream: Handle,
        overhead_s: float | None = None,
    ) -> None:
        """``overhead_s`` is an event pair's own cost where it was measured before, after such a flush."""
        self._context, self._kernels, self._flush, self._stream = context, kernels, flush, stream
        self._gate = Gate(kernels)
        self._pairs: list[tuple[Handle, Handle]] = []
        self.overhead_s = 0.0
        self.overhead_s = self._calibrated() if overhead_s is None else overhead_s

    def _calibrated(self) -> float:
        """What an event pair reads around an empty kernel, less what that kernel adds."""
        readings = self.sample([self._empty_kernel], _CALIBRATION_ROUNDS)[0]
        return max(0.0, quantile(sorted(readings), 0.5) - EMPTY_KERNEL_S)

    def _empty_kernel(self) -> None:
        self._kernels.launch("nothing", stream=self._stream)

    def _block(self, order: Sequence[tuple[int, Call]]) -> Iterator[tuple[int, float]]:
        pairs = self._events(len(order))
        with self._gate.held(self._stream):
            for (_, call), (start, end) in zip(order, pairs, strict=True):
                self._flush(self._stream)
                self._context.record(start, self._stream)
                call()
                self._context.record(end, self._stream)
        self._context.synchronize()  # the whole device: what went to other streams must not pile up
        for (index, _), (start, end) in zip(order, pairs, strict=True):
            yield index, self._context.seconds_between(start, end)

    def _events(self, count: int) -> list[tuple[Handle, Handle]]:
        while len(self._pairs) < count:
            self._pairs.append((self._context.new_event(), self._context.new_event()))
        return self._pairs[:count]

    def close(self) -> None:
        for pair in self._pairs:
            for event in pair:
                self._context.destroy_event(event)
        self._pairs = []
        self._gate.close()
