"""A CUDA graph of the call on rotating buffers: no launch from the host, and L2 as in a long run."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from kmeter.errors import KmeterError
from kmeter.measure.cuda_context import CudaContext, Handle
from kmeter.measure.engines import GPU_TICK_S, SHORTEST_S, Call, turns
from kmeter.measure.engines.events import EMPTY_KERNEL_S
from kmeter.measure.engines.kernels import EngineKernels
from kmeter.model.samples import quantile

_CALIBRATION_REPLAYS = 24
UseStream = Callable[[Handle], AbstractContextManager[object]]
"""Makes a stream the frameworks' current one for a while."""


class NotCapturableError(KmeterError):
    """The call cannot become a graph: it works elsewhere than on the stream, or waits for the GPU."""


class GraphEngine:
    """Replays graphs of calls. Each call is given as its rotation: the same work on other buffers."""

    name = "graph"
    resolution_s = GPU_TICK_S

    def __init__(
        self,
        context: CudaContext,
        kernels: EngineKernels,
        use_stream: UseStream,
        rotations: Sequence[Sequence[Call]],
    ) -> None:
        """Raises NotCapturableError where one of them gives the stream nothing that a graph holds."""
        self._context, self._kernels, self._use_stream = context, kernels, use_stream
        self._stream = context.new_stream()
        self._pair = (context.new_event(), context.new_event())
        self._graphs: list[Handle] = []
        self.results: list[list[object]] = []
        """What each call of each rotation returned while it was captured: replays write into it."""
        self._rotations = rotations  # they hold the arguments that the graphs read
        self._lengths = [len(rotation) for rotation in rotations]
        try:
            self._executables = [self._captured(rotation) for rotation in rotations]
            empty = [self._captured([self._empty_kernel] * n) for n in self._lengths]
        except BaseException:
            self.close()
            raise
        self.results = self.results[: len(rotations)]
        self._overheads = [
            max(0.0, self._reading(graph, length) - EMPTY_KERNEL_S)
            for graph, length in zip(empty, self._lengths, strict=True)
        ]
        self.overhead_s = self._overheads[0]

    def _empty_kernel(self) -> None:
        self._kernels.launch("nothing", stream=self._stream)

    def _captured(self, rotation: Sequence[Call]) -> Handle:
        results: list[object] = []

        def work() -> None:
            results.extend(call() for call in rotation)

        try:
            with self._use_stream(self._stream):
                # As often as it will be captured: the stream's memory pools are filled then.
                _ = [call() for call in rotation]
                self._context.wait_for_stream(self._stream)
                graph = self._context.capture(self._stream, work)
        except KmeterError as error:
            raise NotCapturableError(f"no graph can be made of it: {error}") from None
        self._graphs.append(graph)
        if self._context.node_count(graph) < len(rotation):
            raise NotCapturableError("no graph can be made of it: it works on another stream")
        self.results.append(results)
        return self._context.instantiate(graph)

    def _reading(self, executable: Handle, length: int) -> float:
        readings = sorted(self._replayed(executable) / length for _ in range(_CALIBRATION_REPLAYS))
        return quantile(readings, 0.5)

    def _replayed(self, executable: Handle) -> float:
        start, end = self._pair
        self._context.record(start, self._stream)
        self._context.launch_graph(executable, self._stream)
        self._context.record(end, self._stream)
        self._context.wait_for_event(end)
        return self._context.seconds_between(start, end)

    def replay(self, index: int) -> None:
        """Run a rotation once, to its end."""
        self._replayed(self._executables[index])

    def sample(self, calls: Sequence[Call], rounds: int) -> list[list[float]]:
        """Seconds of each call: the n-th stands for the n-th rotation, whose mean is a sample."""
        taken: list[list[float]] = [[] for _ in calls]
        for number in range(rounds):
            for index, _ in turns(calls, number):
                seconds = self._replayed(self._executables[index]) / self._lengths[index]
                taken[index].append(max(SHORTEST_S, seconds - self._overheads[index]))
        return taken

    @property
    def calls_wait(self) -> bool:
        """It does not matter here."""
        return False

    def remarks(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        for graph in self._graphs:
            self._context.destroy_graph(graph)
        for executable in getattr(self, "_executables", ()):
            self._context.destroy_executable(executable)
        for event in self._pair:
            self._context.destroy_event(event)
        self._context.destroy_stream(self._stream)
