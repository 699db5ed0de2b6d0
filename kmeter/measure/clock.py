"""The clock of an SM, as kernels count it themselves."""

from kmeter.measure.gpu import Gpu

LEAST_NANOSECONDS = 5_000_000
"""What the GPU's timer needs for better than 1 %: it moves in steps of up to 32 us."""


class ClockReader:
    """Cycles and nanoseconds that ``tell_clock`` of common.cuh added since the last reset."""

    def __init__(self, gpu: Gpu) -> None:
        self.elapsed = gpu.zeros(2, "u8")

    def reset(self) -> None:
        """Forget the launches so far."""
        self.elapsed.fill(0)

    @property
    def hz(self) -> float | None:
        """Cycles a second; None for too short a time to tell."""
        cycles, nanoseconds = (int(value) for value in self.elapsed.get())
        return cycles / nanoseconds * 1e9 if nanoseconds >= LEAST_NANOSECONDS else None

    @property
    def cycles(self) -> int:
        """Cycles of the measured parts."""
        return int(self.elapsed.get()[0])
