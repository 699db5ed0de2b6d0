"""A kernel as a compiler left it: what it needs of an SM, as far as the file that told of it says."""

from typing import NamedTuple

Dimensions = tuple[int, int, int]


class CompiledKernel(NamedTuple):
    """One kernel for one architecture. None is what the file does not say, which is not 0."""

    name: str
    """As the linker knows it, mangled."""
    architecture: str | None = None
    """``sm_90a``; None where a text has none."""
    registers_per_thread: int | None = None
    static_shared_bytes: int | None = None
    """As declared, without the share that is reserved on 9.0 and later."""
    dynamic_shared_bytes: int | None = None
    """What a framework will launch it with."""
    barriers: int | None = None
    stack_bytes: int | None = None
    """A thread's frame."""
    cumulative_stack_bytes: int | None = None
    """With the frames of what it calls."""
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    max_threads_per_block: int | None = None
    """The first number of ``__launch_bounds__``; more threads do not run."""
    required_block: Dimensions | None = None
    """Threads of the only block that runs (``__block_size__``, ``reqntid``)."""
    min_blocks_per_sm: int | None = None
    """The second number of ``__launch_bounds__``, which only PTX keeps."""
    cluster: Dimensions | None = None
    """Blocks of the only cluster that runs."""
    max_cluster_rank: int | None = None
    """Blocks of the largest cluster that runs."""
    said_by: str = ""
    """``cubin``, ``ptxas``, ``nvlink``, ``cuobjdump``, ``PTX``, ``Triton``, ``CuPy``, …"""
    note: str = ""
    """Why something of it is unknown, or what a reader of the numbers should know."""
    source: str = ""
    """Where its source stands, or what it came out of within a file."""
