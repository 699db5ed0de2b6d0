"""What PyTorch and the CUDA runtime deliver on this card, beside kmeter's ceilings in README's table.

    python tests/gpu/others_ceilings.py OUT.json

Each figure is the median of 15 samples by CUDA events, after a warm-up: bytes/s or FLOP/s.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

SAMPLES, GIB, N = 15, 2**30, 8192


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median time of one call, of several between two events."""
    for _ in range(3):
        work()
    found: list[float] = []
    for _ in range(SAMPLES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) * 1e-3 / repeats)
    return statistics.median(found)


def memory() -> Iterator[tuple[str, str, float]]:
    """Ceiling, what was called, bytes/s; arrays of 8 GiB."""
    from cupy.cuda import runtime

    size = 8 * GIB
    x, y = (torch.rand(size // 4, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    stream = torch.cuda.current_stream().cuda_stream
    to_device = 3

    def copy() -> None:
        runtime.memcpyAsync(out.data_ptr(), x.data_ptr(), size, to_device, stream)

    def fill() -> None:
        runtime.memsetAsync(out.data_ptr(), 1, size, stream)

    calls: list[tuple[str, str, int, Callable[[], object]]] = [
        ("dram-read", "sum", 1, x.sum),
        ("dram-write", "fill_", 1, lambda: out.fill_(1.5)),
        ("dram-write", "cudaMemsetAsync", 1, fill),
        ("dram-copy", "copy_", 2, lambda: out.copy_(x)),
        ("dram-copy", "cudaMemcpyAsync", 2, copy),
        ("dram-scale", "mul", 2, lambda: torch.mul(x, 1.5, out=out)),
        ("dram-add", "add", 3, lambda: torch.add(x, y, out=out)),
        ("dram-triad", "add alpha", 3, lambda: torch.add(x, y, alpha=1.5, out=out)),
        ("dram-dot", "dot", 2, lambda: torch.dot(x[: 2**31 - 1], y[: 2**31 - 1])),
    ]
    for ceiling, name, arrays, call in calls:
        yield ceiling, name, arrays * size / seconds(call, 3)


def matrices() -> Iterator[tuple[str, str, float]]:
    """Ceiling, what was called, FLOP/s (OP/s of int8); N x N x N."""
    torch.backends.cuda.matmul.allow_tf32 = True
    flop = 2 * N**3
    for ceiling, dtype in (
        ("tensor-fp64", torch.float64), ("tensor-tf32", torch.float32),
        ("tensor-fp16", torch.float16), ("tensor-bf16", torch.bfloat16),
    ):  # fmt: skip
        a, b = (torch.rand(N, N, device="cuda").to(dtype) for _ in range(2))
        yield ceiling, f"mm {N}", flop / seconds(partial(torch.mm, a, b), 10)
    f8 = [torch.rand(N, N, device="cuda").to(torch.float8_e4m3fn) for _ in range(2)]
    one = torch.ones((), device="cuda")

    def scaled() -> Any:
        return torch._scaled_mm(f8[0], f8[1].t(), one, one, out_dtype=torch.bfloat16)

    yield "tensor-fp8", f"_scaled_mm {N}", flop / seconds(scaled, 10)
    i8 = [torch.randint(0, 127, (N, N), dtype=torch.int8, device="cuda") for _ in range(2)]
    yield "tensor-int8", f"_int_mm {N}", flop / seconds(lambda: torch._int_mm(i8[0], i8[1].t()), 10)


def host() -> Iterator[tuple[str, str, float]]:
    """Ceiling, what was called, bytes/s; 256 MiB of pinned memory."""
    size = 256 * 2**20
    here = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(size, dtype=torch.uint8, device="cuda")
    yield "host-h2d", "copy_ pinned", size / seconds(lambda: there.copy_(here, True), 4)
    yield "host-d2h", "copy_ pinned", size / seconds(lambda: here.copy_(there, True), 4)


def main(file: str) -> None:
    """Measure all, one after another."""
    found: dict[str, dict[str, float]] = {}
    for part in (memory, matrices, host):
        for ceiling, name, rate in part():
            found.setdefault(ceiling, {})[name] = rate
            print(ceiling, name, f"{rate:.4g}", flush=True)
        torch.cuda.empty_cache()
    Path(file).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
