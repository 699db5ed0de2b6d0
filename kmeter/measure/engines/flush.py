"""What L2 holds before a kernel is timed: emptied by writing, by reading, or left as it is."""

import ctypes

from kmeter.measure.cuda_context import CudaContext, CudaError, Handle
from kmeter.measure.engines import Call
from kmeter.measure.engines.kernels import EngineKernels
from kmeter.model.benchmark import CacheState

_TIMES_L2 = 2
"""L2 keeps no strict order: twice its size passes through it."""
_LEAST_BYTES = 64 * 2**20
_L2_CACHE_SIZE = 38
"""CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE."""
_READ_BLOCK, _READ_GRID = 256, 2048


class Flush:
    """Brings L2 into a state; ``achieved`` and ``note`` say which one it really is."""

    def __init__(
        self,
        context: CudaContext,
        kernels: EngineKernels,
        wanted: CacheState,
        l2_bytes: int | None = None,
    ) -> None:
        """``l2_bytes`` is the driver's figure where it is left out."""
        self._context, self._kernels = context, kernels
        self._l2_bytes = context.attribute(_L2_CACHE_SIZE) if l2_bytes is None else l2_bytes
        self.size_bytes = max(_LEAST_BYTES, _TIMES_L2 * self._l2_bytes)
        self.achieved, self.note, self._buffer = wanted, "", 0
        self._value = 0
        self.marking: dict[Call, bool] = {}
        """Whether a call was seen to profit from lines that it marked to stay in L2."""
        if wanted is CacheState.WARM:
            self.note = "calls follow each other, nothing is flushed"
            return
        self._take()

    def _take(self) -> None:
        wanted = self.achieved
        try:
            self._buffer = self._context.allocate(self.size_bytes + 16)
        except CudaError as error:
            self.achieved = CacheState.WARM
            self.note = f"no flush: {self.size_bytes >> 20} MiB for it could not be had ({error})"
            return
        self._context.fill(self._buffer, 1, self.size_bytes, 0)
        self._context.synchronize()
        how = "written" if wanted is CacheState.COLD else "read"
        self.note = (
            f"before each call {self.size_bytes >> 20} MiB were {how}, L2 has "
            f"{self._l2_bytes >> 20} MiB"
        )

    def __call__(self, stream: Handle) -> None:
        """Give the flush to the stream; it is no part of any time."""
        if self.achieved is CacheState.COLD:
            # Neither zeros nor the same bytes again: both could be compressed or elided.
            self._value = self._value % 251 + 1
            self._context.fill(self._buffer, self._value, self.size_bytes, stream)
        elif self.achieved is CacheState.CLEAN:
            self._kernels.launch(
                "read_all", ctypes.c_uint64(self._buffer), ctypes.c_uint64(self.size_bytes // 16),
                ctypes.c_uint64(self._buffer + self.size_bytes),
                stream=stream, grid=_READ_GRID, block=_READ_BLOCK,
            )  # fmt: skip

    @property
    def may_miss_lines(self) -> bool:
        """Whether lines that a kernel marks to stay in L2 could survive a flush."""
        return self.achieved is not CacheState.WARM and self._context.persisting_l2_bytes() > 0

    def release_lines(self) -> None:
        """Make lines that were marked to stay ordinary ones: the host does that, not the stream."""
        if self.achieved is not CacheState.WARM:
            self._context.reset_persisting_l2()

    def close(self) -> None:
        if self._buffer:
            self._context.free(self._buffer)
            self._buffer = 0
