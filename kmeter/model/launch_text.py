"""Launches as people write them: ``16x16`` threads, ``48KiB`` of shared memory."""

from math import prod

from kmeter.errors import UsageError
from kmeter.model.launch import Launch
from kmeter.units import parse_size, quoted


def parse_launch(
    block: str,
    regs: int,
    smem: str,
    dynamic_smem: str,
    carveout: int | None,
    barriers: int,
    max_threads: int,
) -> Launch:
    """The launch of these texts; raises UsageError for what no kernel can have."""
    sides = parse_sides(block, "block")
    threads = prod(sides)
    if threads > 1024:
        raise UsageError(f"a block has at most 1024 threads, not {threads}")
    if len(sides) == 3 and sides[2] > 64:
        raise UsageError(f"a block has at most 64 threads in z, not {sides[2]}")
    if not 0 <= regs <= 255:
        raise UsageError(f"a thread has at most 255 registers, and no fewer than 0, not {regs}")
    if carveout is not None and not 0 <= carveout <= 100:
        raise UsageError(f"a carve-out is between 0 and 100 %, not {carveout}")
    if not 0 <= barriers <= 16:
        raise UsageError(f"a block has at most 16 named barriers, and no fewer than 0: {barriers}")
    return Launch(
        block_size=threads,
        registers_per_thread=regs,
        static_shared_bytes=parse_size(smem),
        dynamic_shared_bytes=parse_size(dynamic_smem),
        carveout_percent=carveout,
        barriers=barriers,
        max_threads_per_block=max_threads,
    )


_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
"""A grid's limits in x, y and z, for every compute capability from 3.0 on."""


def parse_blocks(text: str) -> int:
    """The blocks of a grid: ``4096``, ``64x64``."""
    sides = parse_sides(text, "grid")
    for name, side, most in zip("xyz", sides, _MOST_BLOCKS, strict=False):
        if side > most:
            raise UsageError(f"a grid has at most {most} blocks in {name}, not {side}")
    return prod(sides)


def parse_sides(text: str, what: str) -> list[int]:
    """``256``, ``16x16`` or ``8x8x4`` → how many there are in x, y and z."""
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) > 3:
        raise UsageError(f"{quoted(text)}: a {what} has at most 3 dimensions")
    return [parse_positive(side, f"--{what}") for side in sides]


def parse_positive(text: str, option: str) -> int:
    """A whole number of 1 or more; ``option`` is what it is called."""
    digits = text.strip()
    if not digits.isascii() or not digits.isdecimal() or not digits.strip("0"):
        raise UsageError(f"{option} takes whole numbers of 1 or more, not {quoted(text)}")
    if len(digits) > 18:
        raise UsageError(f"{option}: {quoted(text)} is too large")
    return int(digits)
