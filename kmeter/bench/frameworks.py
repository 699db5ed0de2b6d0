"""The frameworks that a user's file may work with: their stream, their random numbers, their memory.

Only what the file has imported is asked; kmeter imports none of them.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy

from kmeter.errors import UsageError

Module = Any


class Framework(NamedTuple):
    """What differs between them; each function takes the imported module."""

    name: str
    stream: Callable[[Module], int | None] = lambda _: None
    """The current stream's handle; None where it has no say."""
    on_stream: Callable[[Module, int], Any] | None = None
    """A context manager in which that stream is the current one."""
    seed: Callable[[Module, int], None] = lambda _, seed: None
    free: Callable[[Module], None] = lambda _: None
    """Give unused memory back to the device."""


def _torch_stream(torch: Module) -> int | None:
    if not torch.cuda.is_available():
        return None
    return int(torch.cuda.current_stream().cuda_stream)


def _torch_on_stream(torch: Module, stream: int) -> Any:
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def _torch_free(torch: Module) -> None:
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _cupy_stream(cupy: Module) -> int | None:
    return int(cupy.cuda.get_current_stream().ptr) if cupy.cuda.is_available() else None


def _cupy_seed(cupy: Module, number: int) -> None:
    if cupy.cuda.is_available():
        cupy.random.seed(number)


def _cupy_free(cupy: Module) -> None:
    if not cupy.cuda.is_available():
        return
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def _warp_stream(warp: Module) -> int | None:
    return int(warp.get_stream().cuda_stream) if warp.is_cuda_available() else None


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        "torch",
        stream=_torch_stream,
        on_stream=_torch_on_stream,
        seed=lambda torch, seed: torch.manual_seed(seed),
        free=_torch_free,
    ),
    Framework(
        "cupy",
        stream=_cupy_stream,
        on_stream=lambda cupy, stream: cupy.cuda.ExternalStream(stream),
        seed=_cupy_seed,
        free=_cupy_free,
    ),
    Framework("warp", stream=_warp_stream),
    Framework("numba"),
    Framework("triton"),
    Framework("jax"),
    Framework("cuda"),
    Framework("numpy", seed=lambda module, seed: module.random.seed(seed % 2**32)),
)


def imported() -> Iterator[tuple[Framework, Module]]:
    """The frameworks that are loaded in this process."""
    for framework in FRAMEWORKS:
        module = sys.modules.get(framework.name)
        if module is not None:
            yield framework, module


def versions() -> Mapping[str, str]:
    """Versions of the loaded frameworks that say one."""
    found = ((f.name, getattr(module, "__version__", None)) for f, module in imported())
    return {name: str(version) for name, version in found if version}


def current_stream(given: Any = None) -> int:
    """The handle of the stream that work is given to: the user's, or the frameworks' current one.

    0 is the legacy default stream. Where several frameworks are loaded and differ, the one that is
    not on the default stream counts.
    """
    if given is not None:
        return stream_handle(given)
    found = [framework.stream(module) for framework, module in imported()]
    return next((stream for stream in found if stream), 0)


def stream_handle(stream: Any) -> int:
    """The driver's handle of any framework's stream object, or of a number.

    Raises UsageError for what is no stream.
    """
    if hasattr(stream, "__cuda_stream__"):  # the protocol of CUDA's Python libraries
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, attribute, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    try:
        return int(stream)
    except (TypeError, ValueError):
        raise UsageError(f"{type(stream).__name__} is no CUDA stream that is understood") from None


@contextmanager
def on_stream(stream: int) -> Iterator[None]:
    """Make a stream the current one of every framework that has such a thing."""
    with ExitStack() as stack:
        for framework, module in imported():
            if framework.on_stream is not None and framework.stream(module) is not None:
                stack.enter_context(framework.on_stream(module, stream))
        yield


def seed(number: int) -> None:
    """Begin every random number generator anew, Python's and the frameworks'."""
    random.seed(number)
    numpy.random.seed(number % 2**32)
    for framework, module in imported():
        framework.seed(module, number)


def spare_what_is_loaded() -> None:
    """Let collections of garbage pass over what the imports left: a framework's takes 0.1 s each time."""
    import gc

    gc.freeze()


def free_memory() -> None:
    """Give memory that the frameworks keep for later back to the device."""
    import gc

    gc.collect()
    for framework, module in imported():
        framework.free(module)
