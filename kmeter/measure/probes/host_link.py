"""The link to the host: copies one way and both, from pinned and pageable memory."""

from functools import partial
from typing import Any

import numpy as np

from kmeter.measure.gpu import Launch
from kmeter.measure.plan import MIB
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError
from kmeter.measure.probes._data import Data
from kmeter.model.ceiling import Measure

PINNED_BYTES = 512 * MIB
PAGEABLE_BYTES = 128 * MIB
COPIES = 3
"""Of a sample, one after another."""


class _Copies:
    """Host and device buffers with random data, and copies between them."""

    def __init__(self, lab: Lab, size: int, *, pinned: bool) -> None:
        import cupy

        self._runtime = cupy.cuda.runtime
        self._stream = lab.gpu.stream
        self.size = size
        self.data = Data(lab.gpu)
        self.on_device = self.data.words(size)
        self.host = self._host_array(size, pinned=pinned)
        self.on_device.get(out=self.host, stream=lab.gpu.stream)
        lab.gpu.synchronize()

    @staticmethod
    def _host_array(size: int, *, pinned: bool) -> Any:
        import cupyx

        make = cupyx.empty_pinned if pinned else np.empty
        array = make(size // 4, np.uint32)
        array.fill(1)  # touches every page
        return array

    def to_device(self, stream: Any = None) -> None:
        kind = self._runtime.memcpyHostToDevice
        self._copy(self.on_device.data.ptr, self.host.ctypes.data, kind, stream)

    def to_host(self, stream: Any = None) -> None:
        kind = self._runtime.memcpyDeviceToHost
        self._copy(self.host.ctypes.data, self.on_device.data.ptr, kind, stream)

    def _copy(self, to: int, source: int, kind: int, stream: Any) -> None:
        self._runtime.memcpyAsync(to, source, self.size, kind, (stream or self._stream).ptr)

    def check_device(self) -> None:
        self.data.poison(self.on_device)
        self.to_device()
        if self.data.wrong_words(self.on_device):
            raise ProbeFailedError("what arrived on the device is not what was sent")

    def check_host(self) -> None:
        sent = self.host.copy()
        self.host.fill(0)
        self.to_host()
        self._stream.synchronize()
        if not np.array_equal(self.host, sent):
            raise ProbeFailedError("what arrived on the host is not what was sent")


def _run(direction: str, pinned: bool, lab: Lab) -> Measured:
    size = PINNED_BYTES if pinned else PAGEABLE_BYTES
    if lab.options.quick:
        size //= 4
    copies = _Copies(lab, size, pinned=pinned)
    copy = copies.to_device if direction == "h2d" else copies.to_host
    samples = tuple(_rates(lab, copy, size))
    (copies.check_device if direction == "h2d" else copies.check_host)()
    return Measured(samples, f"cudaMemcpyAsync, {'pinned' if pinned else 'pageable'}", "", size)


def _rates(lab: Lab, copy: Launch, size: int) -> Any:
    for turn in range(3 if lab.options.quick else 7):
        yield size / lab.gpu.seconds(copy, COPIES, lead=copy)
        lab.tell(f"{turn + 1} samples")


def _run_both(lab: Lab) -> Measured:
    import cupy

    size = PINNED_BYTES // (4 if lab.options.quick else 1)
    there, back = _Copies(lab, size, pinned=True), _Copies(lab, size, pinned=True)
    other = cupy.cuda.Stream(non_blocking=True)

    def both() -> None:
        start = cupy.cuda.Event(disable_timing=True)
        start.record(lab.gpu.stream)
        other.wait_event(start)
        there.to_device()
        back.to_host(other)
        end = cupy.cuda.Event(disable_timing=True)
        end.record(other)
        lab.gpu.stream.wait_event(end)

    samples = tuple(_rates(lab, both, 2 * size))
    there.check_device()
    back.check_host()
    return Measured(samples, "cudaMemcpyAsync in two streams, pinned", "", 2 * size)


PROBES = (
    Probe(
        name="host-h2d", level="host link", measure=Measure.BYTES_PER_S,
        what="Copies from pinned host memory to the device.", run=partial(_run, "h2d", True),
        limit="pcie", counts="one way", seconds=1.5,
    ),
    Probe(
        name="host-d2h", level="host link", measure=Measure.BYTES_PER_S,
        what="Copies from the device to pinned host memory.", run=partial(_run, "d2h", True),
        limit="pcie", counts="one way", seconds=1.5,
    ),
    Probe(
        name="host-both", level="host link", measure=Measure.BYTES_PER_S,
        what="Copies in both directions at once, pinned.", run=_run_both,
        limit="pcie-both", counts="both ways together", seconds=2.5, in_quick=False,
    ),
    Probe(
        name="host-h2d-pageable", level="host link", measure=Measure.BYTES_PER_S,
        what="Copies from ordinary host memory, which the driver stages.",
        run=partial(_run, "h2d", False), limit="pcie", counts="one way", seconds=1.0,
        in_quick=False,
    ),
    Probe(
        name="host-d2h-pageable", level="host link", measure=Measure.BYTES_PER_S,
        what="Copies to ordinary host memory, which the driver stages.",
        run=partial(_run, "d2h", False), limit="pcie", counts="one way", seconds=1.0,
        in_quick=False,
    ),
)  # fmt: skip
