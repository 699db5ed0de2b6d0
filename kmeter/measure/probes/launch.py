"""What a launch costs by itself, in a stream and in a CUDA graph; launch.cu."""

import time
from collections.abc import Callable, Iterator
from ctypes import byref, c_int, c_uint, c_void_p
from functools import partial
from typing import Any

from kmeter.measure.probes import Lab, Measured, Probe
from kmeter.model.ceiling import Measure
from kmeter.sources._libcuda import load

STREAM_LAUNCHES = 800
"""Fewer than a stream holds before a launch has to wait for the GPU."""
GRAPH_NODES = 1000
SAMPLES = 15


def _run_stream(lab: Lab) -> Measured:
    """Seconds of the host for one launch among many.

    Python's call of the driver costs something too. As many calls with the same arguments of a
    function that does next to nothing, cuDriverGetVersion, are taken off.
    """
    driver, version = load(), c_int()
    function = lab.gpu.program("launch")["empty"].handle
    shape = (c_uint(1), c_uint(1), c_uint(1), c_uint(32), c_uint(1), c_uint(1), c_uint(0))
    rest = (*shape, c_void_p(lab.gpu.stream.ptr), c_void_p(), c_void_p())

    def many(call: Any, first: Any) -> None:
        for _ in range(STREAM_LAUNCHES):
            call(first, *rest)

    nothing = partial(many, driver.cuDriverGetVersion, byref(version))
    overhead = min(_host_seconds(lab, nothing))
    launches = partial(many, driver.cuLaunchKernel, c_void_p(function))
    return Measured(
        samples=tuple(seconds - overhead for seconds in _host_seconds(lab, launches)),
        how=f"cuLaunchKernel, {STREAM_LAUNCHES} empty kernels in a stream",
        note=f"less {overhead * 1e6:.2f} µs that a call from Python costs",
    )


def _run_graph(lab: Lab) -> Measured:
    """Seconds of the GPU for one empty kernel in a chain of a graph."""
    from cupy_backends.cuda.api import driver

    function, stream = lab.gpu.program("launch")["empty"].handle, lab.gpu.stream
    stream.begin_capture()
    for _ in range(GRAPH_NODES):
        driver.launchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream.ptr, 0, 0)
    graph = stream.end_capture()
    graph.launch(stream)
    lab.gpu.synchronize()
    samples = [lab.gpu.seconds(lambda: graph.launch(stream), 4) for _ in range(SAMPLES)]
    return Measured(
        samples=tuple(seconds / GRAPH_NODES for seconds in samples),
        how=f"a graph of {GRAPH_NODES} empty kernels, one after another",
    )


def _host_seconds(lab: Lab, work: Callable[[], None]) -> Iterator[float]:
    work()
    for _ in range(SAMPLES):
        lab.gpu.synchronize()
        start = time.perf_counter()
        work()
        yield (time.perf_counter() - start) / STREAM_LAUNCHES


PROBES = (
    Probe(
        name="launch-stream",
        level="launch",
        measure=Measure.SECONDS,
        what="How long the host takes to launch an empty kernel in a stream.",
        run=_run_stream,
        counts="one launch of many",
        seconds=0.5,
    ),
    Probe(
        name="launch-graph",
        level="launch",
        measure=Measure.SECONDS,
        what="How long an empty kernel takes inside a CUDA graph.",
        run=_run_graph,
        counts="one node of many",
        seconds=0.5,
    ),
)
