"""A load whose work is known, for a session of ``kmeter top`` beside it.

    python tests/gpu/live_load.py PHASES.json [SCALE]

Phases follow each other, each on one unit; what each did is counted by CUDA events and written with its
beginning and end (UTC), FLOP/s and bytes/s, so that what was seen from outside can be held against it.
Needs PyTorch and CuPy.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cupy as cp
import pynvml
import torch

N = 8192
FLOATS = 1 << 28
THREADS, BLOCKS_PER_SM, ROUNDS = 256, 8, 20_000
AHEAD = 8
"""Calls in the queue: the GPU never waits, and the end of a phase is near."""

FMAS = r"""
extern "C" __global__ void fmas_TYPE(TYPE* out, TYPE x, int rounds) {
  TYPE a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5, g = x + 6, h = x + 7;
  for (int i = 0; i < rounds; ++i) {
    a = a * (TYPE).999 + (TYPE).5; b = b * (TYPE).999 + (TYPE).5; c = c * (TYPE).999 + (TYPE).5; d = d * (TYPE).999 + (TYPE).5;
    e = e * (TYPE).999 + (TYPE).5; f = f * (TYPE).999 + (TYPE).5; g = g * (TYPE).999 + (TYPE).5; h = h * (TYPE).999 + (TYPE).5;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}
"""
TRIAD = r"""
extern "C" __global__ void triad(float4* a, const float4* b, const float4* c, float s) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  float4 x = b[i], y = c[i];
  a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
}
"""


class Work:
    """A call, and what it amounts to."""

    def __init__(self, call: Callable[[], Any], flop: float = 0, dram_bytes: float = 0) -> None:
        self.call, self.flop, self.dram_bytes = call, flop, dram_bytes


def fmas(kind: str) -> Work:
    code = FMAS.replace("TYPE", kind)
    kernel = cp.RawKernel(code, f"fmas_{kind}", options=("--fmad=true",))
    blocks = torch.cuda.get_device_properties(0).multi_processor_count * BLOCKS_PER_SM
    dtype = {"float": cp.float32, "double": cp.float64}[kind]
    rounds = ROUNDS if kind == "float" else ROUNDS // 2
    out = cp.empty(blocks * THREADS, dtype)
    return Work(
        lambda: kernel((blocks,), (THREADS,), (out, dtype(0.3), cp.int32(rounds))),
        flop=blocks * THREADS * rounds * 8 * 2,
    )


def triad() -> Work:
    kernel = cp.RawKernel(TRIAD, "triad")
    a, b, c = (cp.random.rand(FLOATS, dtype=cp.float32) for _ in range(3))
    return Work(
        lambda: kernel((FLOATS // 4 // 256,), (256,), (a, b, c, cp.float32(3))),
        flop=2 * FLOATS,
        dram_bytes=12 * FLOATS,
    )


def product(dtype: torch.dtype, *, tf32: bool = False) -> Work:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(N, N, device="cuda").to(dtype) for _ in range(2))
    c = torch.empty_like(a)

    def call() -> None:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.mm(a, b, out=c)

    return Work(call, flop=2 * N**3)


def half(work: Work) -> Work:
    """The work, and about as long a pause after it, in which one warp waits."""

    def call() -> None:
        work.call()
        torch.cuda._sleep(3_000_000)

    return Work(call, work.flop, work.dram_bytes)


def softmax() -> Work:
    x = torch.randn(65536, 4096, device="cuda", dtype=torch.float32)
    y = torch.empty_like(x)
    return Work(lambda: torch.softmax(x, 1, out=y), dram_bytes=2 * x.nbytes)


def from_host() -> Work:
    pinned = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    return Work(lambda: there.copy_(pinned, non_blocking=True), dram_bytes=1 << 28)


PHASES: tuple[tuple[str, float, Callable[[], Work] | None], ...] = (
    ("idle", 5, None),
    ("triad, fp32", 15, triad),
    ("FMAs, fp32", 15, lambda: fmas("float")),
    ("matrix product, bf16", 20, lambda: product(torch.bfloat16)),
    ("matrix product, bf16, half of the time", 12, lambda: half(product(torch.bfloat16))),
    ("softmax, fp32", 10, softmax),
    ("FMAs, fp64", 10, lambda: fmas("double")),
    ("matrix product, tf32", 12, lambda: product(torch.float32, tf32=True)),
    ("copies from the host", 10, from_host),
    ("idle", 6, None),
)


class Clock:
    """Samples the SM clock beside a phase."""

    def __init__(self) -> None:
        pynvml.nvmlInit()
        self._handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        self._seen: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self._seen.append(pynvml.nvmlDeviceGetClockInfo(self._handle, pynvml.NVML_CLOCK_SM))

    def mean_hz(self) -> float:
        self._over.set()
        self._thread.join()
        return 1e6 * sum(self._seen) / max(1, len(self._seen))


def run(work: Work, seconds: float) -> tuple[int, float]:
    """Calls for so long, always some ahead; how many there were, and their time by events."""
    torch.cuda.set_stream(torch.cuda.default_stream())
    first, marks = torch.cuda.Event(enable_timing=True), []
    calls, end = 0, time.perf_counter() + seconds
    first.record()
    while time.perf_counter() < end:
        work.call()
        calls += 1
        mark = torch.cuda.Event(enable_timing=True)
        mark.record()
        marks.append(mark)
        if len(marks) > AHEAD:
            marks.pop(0).synchronize()
    torch.cuda.synchronize()
    return calls, first.elapsed_time(marks[-1]) / 1e3


def main() -> None:
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    made = {name: make() for name, _, make in PHASES if make is not None}
    for each in made.values():
        each.call()
    torch.cuda.synchronize()
    told = []
    for name, seconds, _ in PHASES:
        work: Work | None = made.get(name)
        began, clock = datetime.now(UTC), Clock()
        if work is None:
            time.sleep(seconds * scale)
            calls, spent = 0, seconds * scale
        else:
            calls, spent = run(work, seconds * scale)
        row: dict[str, Any] = {
            "name": name,
            "begin": began.isoformat(timespec="milliseconds"),
            "end": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "calls": calls,
            "sm_clock_hz": clock.mean_hz(),
        }
        if work is not None:
            row["flop_per_s"] = calls * work.flop / spent
            row["dram_bytes_per_s"] = calls * work.dram_bytes / spent
        told.append(row)
        print(row, flush=True)
    Path(sys.argv[1]).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
