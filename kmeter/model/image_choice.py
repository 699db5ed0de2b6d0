"""Of the images of a kernel, the one that is asked for, or that a GPU's driver would load."""

import re
from collections.abc import Callable, Iterable
from functools import partial

from kmeter.model.architecture import compute_capability
from kmeter.model.compiled_kernel import CompiledKernel

_NAME = re.compile(r"sm_(\d+)(\d)([af]?)")
_LETTERS = {"": 0, "f": 1, "a": 2}


def architecture_name(text: str) -> str:
    """``sm_90a`` of any spelling, ``90a`` or ``compute_90a``; raises UsageError."""
    major, minor = compute_capability(text).split(".")
    letter = text.strip()[-1].lower()
    return f"sm_{major}{minor}{letter if letter in 'af' else ''}"


def images_called(kernels: Iterable[CompiledKernel], name: str) -> list[CompiledKernel]:
    """Those for the very architecture; where a kernel has none, those of its number with a letter."""
    return _best_of_each(kernels, partial(_nearness, wanted=name))


def images_for(kernels: Iterable[CompiledKernel], capability: str) -> list[CompiledKernel]:
    """What a driver loads on a GPU of that compute capability; a kernel that it cannot run is left out."""
    return _best_of_each(kernels, partial(_preference, capability=capability))


def _best_of_each(
    kernels: Iterable[CompiledKernel], preference: Callable[[str | None], int]
) -> list[CompiledKernel]:
    """Of the images of one kernel those with the highest preference above 0, in their order."""
    judged = [(kernel, preference(kernel.architecture)) for kernel in kernels]
    best: dict[tuple[str, str], int] = {}
    for kernel, rank in judged:
        key = kernel.name, kernel.source
        best[key] = max(best.get(key, 0), rank)
    return [kernel for kernel, rank in judged if 0 < rank == best[kernel.name, kernel.source]]


def _nearness(name: str | None, wanted: str) -> int:
    """2 for the very architecture, 1 for one of its number where no letter was asked for."""
    if name == wanted:
        return 2
    return int(name is not None and name.rstrip("af") == wanted)


def _preference(name: str | None, capability: str) -> int:
    """How gladly a driver takes an image: 0 for not at all; ``a`` is for one capability alone."""
    if name is None:
        return 1
    major, minor = map(int, capability.split("."))
    found = _NAME.fullmatch(name)
    if found is None or int(found[1]) != major or int(found[2]) > minor:
        return 0
    if found[3] == "a" and int(found[2]) != minor:
        return 0
    return 10 * (int(found[2]) + 1) + _LETTERS[found[3]]
