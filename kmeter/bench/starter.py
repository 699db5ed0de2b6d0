"""The commented file that ``kmeter bench --init`` writes: it runs as it is, also without a GPU."""

STARTER = '''"""A first benchmark. Run it:  kmeter bench {file}"""

import numpy as np

import kmeter

# On a GPU, make the arrays there, with what you work with:
#   import cupy as cp    ->  cp.random.random(n, dtype=cp.float32)
#   import torch         ->  torch.rand(n, device="cuda")


def arguments(n):
    """Fresh arguments for each trial: random, so that a wrong kernel cannot guess the result."""
    return (np.random.rand(n).astype(np.float32), np.random.rand(n).astype(np.float32))


@kmeter.benchmark(
    "add",
    args=arguments,
    ref=np.add,  # takes the same arguments and is right; leave it out and nothing is checked
    params={{"n": [1 << 16, 1 << 22]}},  # each value is a row;  -P n=65536  runs one of them
    bytes_per_call=lambda n: 3 * 4 * n,  # DRAM traffic: two arrays are read, one is written
    flops_per_call=lambda n: n,  # with both, the roofline judges
    # dtype="fp16-tensor",  # the compute roof; fp32 where it is left out
    # tolerance=1e-3,       # relative; by data type where it is left out
    # timer="graph",        # auto, events, graph, cupti or host
)
def add(x, y):
    return x + y
'''


def starter(file: str) -> str:
    """The text of the file."""
    return STARTER.format(file=file)
