"""``@kmeter.benchmark``: what a user says of a kernel, checked where it is said."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kmeter.errors import UsageError
from kmeter.model.compute_units import UNITS, unit_named
from kmeter.units import quoted

TIMERS = ("auto", "events", "graph", "cupti", "host")
"""Timing engines by the names that a user gives them."""

Function = TypeVar("Function", bound=Callable[..., Any])
Amount = float | Callable[..., float] | None
Tolerance = float | tuple[float, float] | None


@dataclass(frozen=True)
class Benchmark:
    """One decorated function; see ``benchmark`` for what the fields mean."""

    function: Callable[..., Any]
    name: str
    args: Callable[..., Any]
    ref: Callable[..., Any] | None = None
    bytes_per_call: Amount = None
    flops_per_call: Amount = None
    peak_tflops: float | None = None
    warmup: int | None = None
    iters: int | None = None
    dtype: str | None = None
    params: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tolerance: Tolerance = None
    timer: str = "auto"
    stream: Any = None
    tags: tuple[str, ...] = ()

    @property
    def unit(self) -> str | None:
        """The compute unit that ``dtype`` names; None where it names none."""
        return None if self.dtype is None else unit_named(self.dtype)


REGISTRY: list[Benchmark] = []
"""Every benchmark that was declared in this process, in order."""


def benchmark(
    name: str | None = None,
    *,
    args: Callable[..., Any],
    ref: Callable[..., Any] | None = None,
    bytes_per_call: Amount = None,
    flops_per_call: Amount = None,
    peak_tflops: float | None = None,
    warmup: int | None = None,
    iters: int | None = None,
    dtype: str | None = None,
    params: Mapping[str, Sequence[Any]] | None = None,
    tolerance: Tolerance = None,
    timer: str = "auto",
    stream: Any = None,
    tags: Iterable[str] = (),
) -> Callable[[Function], Function]:
    """Declare a function for ``kmeter bench``; the function itself is returned unchanged.

    ``args`` makes fresh arguments: a tuple, a dict of keywords, or a single one. ``ref`` takes the
    same and is right. ``bytes_per_call`` and ``flops_per_call`` are amounts of one call (bytes of
    DRAM traffic, FLOP), or functions of the arguments. ``peak_tflops`` (TFLOP/s) replaces the peak
    of the unit that ``dtype`` names, as ``fp16-tensor`` does. Each combination of ``params`` is a
    row; whichever of these functions takes a parameter of that name receives it.

    ``warmup`` calls come before the first sample and ``iters`` is the most samples; both are
    chosen where they are left out. ``tolerance`` is a relative one, or a pair of a relative and an
    absolute one; by data type where it is left out (fp64 1e-10, fp32 1e-4, fp16 5e-3, bf16 2e-2, fp8
    0.13, e5m2 0.26, of a typical value; integers are equal or wrong). ``tags`` are names by which
    ``kmeter bench FILE TAG`` runs it. ``timer`` is one of ``TIMERS``; ``stream`` is the CUDA stream that the function
    works on, where it is not its framework's current one. Raises UsageError for what cannot be.
    """
    if not callable(args):
        raise UsageError("args is a function that makes the arguments, such as lambda: (x, y)")
    if ref is not None and not callable(ref):
        raise UsageError("ref is a function of the same arguments")
    for key, value in (("bytes_per_call", bytes_per_call), ("flops_per_call", flops_per_call)):
        _demand_amount(key, value)
    _demand_amount("peak_tflops", peak_tflops)
    for key, count, least in (("warmup", warmup, 0), ("iters", iters, 1)):
        if count is not None and (not isinstance(count, int) or count < least):
            raise UsageError(f"{key} is a whole number of at least {least}, not {count!r}")
    if dtype is not None and unit_named(dtype) is None:
        raise UsageError(f"dtype {quoted(dtype)} names no unit", f"Known: {', '.join(UNITS[:12])}")
    if timer not in TIMERS:
        raise UsageError(f"timer is one of {', '.join(TIMERS)}, not {timer!r}")

    tags = (tags,) if isinstance(tags, str) else tuple(tags)
    words = (name, *tags, *(params or {}))
    if any(isinstance(word, str) and not word.isprintable() for word in words):
        raise UsageError("names, tags and parameters are printable text of one line")

    def declare(function: Function) -> Function:
        if not callable(function):
            raise UsageError(f"@benchmark is for a function, not {type(function).__name__}")
        REGISTRY.append(
            Benchmark(
                function=function,
                name=name or str(getattr(function, "__name__", type(function).__name__)),
                args=args,
                ref=ref,
                bytes_per_call=bytes_per_call,
                flops_per_call=flops_per_call,
                peak_tflops=peak_tflops,
                warmup=warmup,
                iters=iters,
                dtype=dtype,
                params=_parameters(params),
                tolerance=_tolerance(tolerance),
                timer=timer,
                stream=stream,
                tags=tags,
            )
        )
        return function

    if name is not None and not isinstance(name, str):
        raise UsageError("write @benchmark(args=...) with parentheses, a name first if you like")
    return declare


def _demand_amount(key: str, value: Any) -> None:
    if value is None or callable(value):
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < float("inf")
    ):
        raise UsageError(f"{key} is a number above 0 or a function that returns one, not {value!r}")


def _parameters(params: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for key, values in (params or {}).items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise UsageError(f"params: {key} has a list of values, not {values!r}")
        found[key] = tuple(values)
        if not found[key]:
            raise UsageError(f"params: {key} has no values")
    return found


def _tolerance(tolerance: Any) -> Tolerance:
    pair = tolerance if isinstance(tolerance, tuple | list) else (tolerance,)
    if tolerance is None:
        return None
    if not 1 <= len(pair) <= 2 or not all(
        isinstance(part, int | float) and 0 <= part < float("inf") for part in pair
    ):
        raise UsageError(f"tolerance is a relative one, or (relative, absolute), not {tolerance!r}")
    return (float(pair[0]), float(pair[1])) if len(pair) == 2 else float(pair[0])
