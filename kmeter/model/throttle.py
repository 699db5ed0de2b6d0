"""Why a GPU holds its clocks down, in words."""

from collections.abc import Iterator, Mapping

REASONS: Mapping[int, str] = {
    0x1: "idle",
    0x2: "clocks set by an application",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}
"""nvmlClocksThrottleReasons of nvml.h."""


def throttle_words(mask: int) -> Iterator[str]:
    """The reasons in a mask; a bit without a name keeps its number."""
    for bit in (1 << n for n in range(mask.bit_length())):
        if mask & bit:
            yield REASONS.get(bit, f"reason 0x{bit:x}")
