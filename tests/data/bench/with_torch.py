"""PyTorch alone."""

import torch

import kmeter


@kmeter.benchmark(
    "torch add",
    args=lambda: tuple(torch.randn(1 << 24, device="cuda") for _ in range(2)),
    ref=torch.add,
    bytes_per_call=lambda x, y: 3 * x.numel() * x.element_size(),
)
def add(x, y):
    return x + y


@kmeter.benchmark(
    "torch bf16 softmax",
    args=lambda: (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16),),
    ref=lambda x: torch.softmax(x.float(), -1).bfloat16(),
)
def softmax(x):
    return torch.softmax(x, -1)


@kmeter.benchmark(
    "torch in place", args=lambda: (torch.randn(1 << 24, device="cuda"),), ref=torch.Tensor.neg_
)
def negate(x):
    x.neg_()


@kmeter.benchmark(
    "torch in a graph",
    args=lambda: tuple(torch.randn(1 << 24, device="cuda") for _ in range(2)),
    ref=torch.add,
    timer="graph",
)
def graphed(x, y):
    return x + y
