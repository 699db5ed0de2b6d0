"""Triton, on PyTorch's tensors."""

import torch
import triton
import triton.language as tl

import kmeter


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x, y = tl.load(x_ptr + at, mask=mask), tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x + y, mask=mask)


@kmeter.benchmark(
    "triton add",
    args=lambda: tuple(torch.randn(1 << 24, device="cuda") for _ in range(2)),
    ref=torch.add,
    params={"BLOCK": [256, 1024]},
    bytes_per_call=3 * 4 * (1 << 24),
)
def add(x, y, BLOCK):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), BLOCK=BLOCK)
    return out
