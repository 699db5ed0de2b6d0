"""Units as profilers spell them: nsecond, ns, Kbyte, Gbyte/second, cycle/nsecond, Ghz.

Prefixes are decimal: a Kbyte of Nsight Compute is 1000 bytes.
"""

from enum import StrEnum

_PREFIXES = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
_LONG = {
    "second": "second",
    "byte": "byte",
    "bytes": "byte",
    "bit": "bit",
    "inst": "inst",
    "cycle": "cycle",
}
_SHORT = {"s": "second", "sec": "second", "B": "byte", "b": "bit", "hz": "hz", "Hz": "hz"}
_OF_ONE = {
    "", "thread", "warp", "block", "register", "sector", "request", "wavefront", "transaction",
    "instruction", "threads", "warps", "blocks", "registers", "sectors", "requests", "count",
}  # fmt: skip
_MINUTES = {"minute": 60.0, "hour": 3600.0}
_LONGEST = 60


class Kind(StrEnum):
    """What a value must be an amount of."""

    TIME = "time"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes per second"
    CYCLES = "cycles"
    CYCLES_PER_SECOND = "cycles per second"
    COUNT = "counts"
    COUNT_PER_CYCLE = "counts per cycle"


_KINDS = {
    "second": Kind.TIME,
    "byte": Kind.BYTES,
    "byte/second": Kind.BYTES_PER_SECOND,
    "cycle": Kind.CYCLES,
    "cycle/second": Kind.CYCLES_PER_SECOND,
    "hz": Kind.CYCLES_PER_SECOND,
    "1/second": Kind.CYCLES_PER_SECOND,
    "byte/block": Kind.BYTES,
    "1": Kind.COUNT,
    "1/1": Kind.COUNT,
    "1/cycle": Kind.COUNT_PER_CYCLE,
}
"""Of a unit in its base form."""


def scale_of(text: str, kind: Kind) -> float:
    """What one ``text`` is in the base unit of a kind.

    Raises ValueError, in words that follow the unit, for a unit of another kind or none at all.
    """
    parts = [_part(part) for part in text.strip().split("/")] if len(text) <= _LONGEST else []
    known = [part for part in parts if part is not None]
    if not 0 < len(known) == len(parts) <= 2:
        raise ValueError("is no unit that is known")
    if _KINDS.get("/".join(base for base, _ in known)) is not kind:
        raise ValueError(f"is no unit of {kind}")
    return known[0][1] / known[1][1] if len(known) == 2 else known[0][1]


def _part(text: str) -> tuple[str, float] | None:
    """The base form and the scale of what stands on one side of the ``/``."""
    if text in _OF_ONE:
        return "1", 1.0
    if text == "%":
        return "%", 0.01
    if text in _MINUTES:
        return "second", _MINUTES[text]
    for name, base in (_LONG | _SHORT).items():
        prefix = text.removesuffix(name)
        if text.endswith(name) and prefix in _PREFIXES:
            return ("1" if base == "inst" else base), _PREFIXES[prefix]
    return None
