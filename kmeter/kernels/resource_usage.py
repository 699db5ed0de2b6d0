"""The kernels in what ``cuobjdump --dump-resource-usage`` says of a cubin, program or library."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from kmeter.kernels._shared_reserve import (
    RESERVED_BYTES,
    generation,
    number,
    with_unknown_reserve,
    without_reserve,
)
from kmeter.model.compiled_kernel import CompiledKernel

_FUNCTION = "Function "
_REGISTERS = re.compile(r"\bREG:([0-9]+)\s")
_ITEM = re.compile(r"(?<!\S)([A-Z]+(?:\[[0-9]+\])?):([0-9]+)(?!\S)")
_ARCHITECTURE = re.compile(r"^\s*arch = (\w{1,24})\s*$")
_IMAGE = re.compile(r"^\s*(?:Fatbin (?:elf|ptx) code|member )")
_ARGUMENTS = "CONSTANT[0]"
_FIRST_RESERVED = 90


class _Function(NamedTuple):
    name: str
    amounts: dict[str, int | None]
    architecture: str | None
    image: int


def is_usage(text: str) -> bool:
    """Whether ``text`` has a function with its resources as cuobjdump writes them."""
    return next(iter(_functions(text)), None) is not None


def kernels_of_usage(text: str, architecture: str | None = None) -> list[CompiledKernel]:
    """Every kernel of every image in ``text``, in its order.

    ``architecture`` is what a text is about that says none, as that of a bare cubin. Device
    functions are left out: a kernel's arguments lie in constant bank 0, and they have none.
    """
    functions = list(_functions(text))
    says_arguments = any(_ARGUMENTS in each.amounts for each in functions)
    unlinked = {each.image for each in functions if _is_unlinked(each)}
    return [
        _kernel(each, architecture, each.image in unlinked)
        for each in functions
        if _is_kernel(each, says_arguments)
    ]


def _is_kernel(function: _Function, says_arguments: bool) -> bool:
    """Without its last columns, a text does not say where any function's arguments lie."""
    return _ARGUMENTS in function.amounts or not (says_arguments or "TEXTURE" in function.amounts)


def _is_unlinked(function: _Function) -> bool:
    """The linker adds the reserve: where a size is too small for it, the image is not yet linked."""
    return 0 < (function.amounts.get("SHARED") or 0) < RESERVED_BYTES


def _functions(text: str) -> Iterable[_Function]:
    """Each line of resources that stands below a function's name."""
    name, architecture, image = "", None, 0
    for line in text.replace("\r", "\n").split("\n"):
        if _IMAGE.match(line):
            name, architecture, image = "", None, image + 1
        elif match := _ARCHITECTURE.match(line):
            architecture = match[1]
        elif line.strip() == "Resource usage:":
            name, image = "", image + 1
        elif named := _named(line):
            name = named
        elif name and _REGISTERS.search(f"{line} "):
            yield _Function(name, _amounts(line), architecture, image)
            name = ""


def _named(line: str) -> str:
    """`` Function saxpy(int, float*):`` names its function up to the last colon."""
    text = line.strip()
    if not text.startswith(_FUNCTION) or not text.endswith(":"):
        return ""
    return text.removeprefix(_FUNCTION)[:-1].strip()


def _amounts(line: str) -> dict[str, int | None]:
    return {match[1]: number(match[2]) for match in _ITEM.finditer(line)}


def _kernel(function: _Function, otherwise: str | None, is_unlinked: bool) -> CompiledKernel:
    shared = function.amounts.get("SHARED")
    kernel = CompiledKernel(
        name=function.name,
        architecture=function.architecture or otherwise,
        registers_per_thread=function.amounts.get("REG"),
        static_shared_bytes=shared,
        stack_bytes=function.amounts.get("STACK"),
        said_by="cuobjdump",
    )
    known = generation(kernel.architecture)
    if is_unlinked:
        return kernel
    if known is None:
        return with_unknown_reserve(kernel, "if this is for 9.0 or later", ": say so with --arch")
    if known >= _FIRST_RESERVED:
        return kernel._replace(static_shared_bytes=without_reserve(shared))
    return kernel
