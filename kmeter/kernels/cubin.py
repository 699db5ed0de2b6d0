"""Kernels of a linked or relocatable image for one architecture, as NVIDIA's assembler leaves it.

What stands where follows from images of CUDA 11.8, 12, 13.0 and 13.5 beside what ``ptxas -v`` and
``cuobjdump`` say of them. Nothing of it is documented by NVIDIA.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from kmeter.kernels._shared_reserve import LARGEST
from kmeter.kernels.elf_image import RELOCATABLE, BrokenFileError, ElfImage, Section
from kmeter.model.compiled_kernel import CompiledKernel, Dimensions

_TEXT, _SHARED, _INFO, _PARAMETERS = ".text.", ".nv.shared.", ".nv.info", ".nv.constant0."
_RESERVED_BYTES, _RESERVING = 1024, 90
"""From 9.0 on a linked section of shared memory begins with what the driver keeps for itself."""
_NEW_ABI = 8
"""EI_ABIVERSION from CUDA 13 on: the architecture has moved within ``e_flags``."""
_ACCELERATED = 0x800
"""Of ``e_flags`` before CUDA 13: the architecture's name ends in a."""
_COMMAND = re.compile(rb"-arch[= ]sm_(\d{2,3})([af]?)\b")
_TOOLS = ".note.nv.tkinfo"
_TO_BE_LINKED = re.compile(rb" -c[ \0]")
_UNKNOWN_SIZE = 0xFFFFFFFF
_MOST_REGISTERS = 255

# Attributes of .nv.info: a format, a kind, and a value or the size of a payload.
_BYTE, _PAYLOAD = 2, 4
_MAX_THREADS, _REQUIRED_BLOCK, _FRAME, _STACK = 0x05, 0x10, 0x11, 0x12
_REGISTERS, _CLUSTER, _MAX_CLUSTER_RANK, _BARRIERS = 0x2F, 0x3D, 0x3F, 0x4C

Attribute = tuple[int, ...]


class _Totals(NamedTuple):
    """What .nv.info says of every function, by its name."""

    registers: Mapping[str, int]
    frame: Mapping[str, int]
    stack: Mapping[str, int]
    """At least: calls through pointers are not in it, so that 0 says nothing."""


def kernels_of_cubin(data: bytes | memoryview, suffix: str = "") -> list[CompiledKernel]:
    """Its kernels in the order of their code; device functions are none.

    ``suffix`` is ``a`` or ``f`` where the container says so. Raises BrokenFileError.
    """
    return kernels_of_image(ElfImage(data), suffix)


class _Whole(NamedTuple):
    """What is the same for every kernel of an image."""

    image: ElfImage
    sections: Mapping[str, Section]
    totals: _Totals
    architecture: str
    stacks: Sequence[Mapping[str, int]]
    """The counts of which the largest is a kernel's stack."""


def kernels_of_image(image: ElfImage, suffix: str = "") -> list[CompiledKernel]:
    """The same of an image whose header is read."""
    if not image.is_cuda:
        raise BrokenFileError("it is an ELF image, and for no GPU")
    image.check_bounds()
    sections = {section.name: section for section in image.sections}
    totals = _totals(image, sections)
    architecture = _architecture(image, sections, suffix)
    whole = _Whole(image, sections, totals, architecture, _stacks(image, sections, totals))
    return [
        _kernel(whole, text)
        for text in sections.values()
        if text.name.startswith(_TEXT) and _is_kernel(image, sections, text.name[len(_TEXT) :])
    ]


def _is_kernel(image: ElfImage, sections: Mapping[str, Section], name: str) -> bool:
    """By its symbol; by its parameters where there are no symbols."""
    if image.symbols:
        return name in image.kernel_names
    return _PARAMETERS + name in sections


# ---- the architecture -----------------------------------------------------------------------


def _architecture(image: ElfImage, sections: Mapping[str, Section], suffix: str) -> str:
    """``sm_90a``. The letter stands in the header, in a list of properties or in the assembler's command."""
    is_new = image.abi_version >= _NEW_ABI
    number = image.flags >> 8 & 0xFF if is_new else image.flags & 0xFF
    if not is_new and image.flags & _ACCELERATED:
        suffix = suffix or "a"
    return f"sm_{number}{suffix or _suffix(image, sections, number)}"


def _suffix(image: ElfImage, sections: Mapping[str, Section], number: int) -> str:
    note = sections.get(_TOOLS)
    said = _COMMAND.search(image.data_of(note)) if note else None
    if said and int(said[1]) == number:
        return said[2].decode()
    properties = sections.get(".nv.compat")
    is_accelerated = properties and image.data_of(properties)[:3] == b"\x02\x09\x01"
    return "a" if is_accelerated else ""


# ---- one kernel -----------------------------------------------------------------------------


def _kernel(whole: _Whole, text: Section) -> CompiledKernel:
    image, totals = whole.image, whole.totals
    name = text.name[len(_TEXT) :]
    own = whole.sections.get(f"{_INFO}.{name}")
    said = dict(_attributes(image.data_of(own))) if own else {}
    rank = said.get(_MAX_CLUSTER_RANK)
    threads = _dimensions(said.get(_MAX_THREADS))
    return CompiledKernel(
        name=name,
        architecture=whole.architecture,
        registers_per_thread=_registers(totals, name, text),
        static_shared_bytes=_shared_bytes(whole, name),
        barriers=_barriers(image, said, text),
        stack_bytes=max((sizes[name] for sizes in whole.stacks if name in sizes), default=None),
        cumulative_stack_bytes=totals.stack.get(name) or None,
        max_threads_per_block=prod(threads) if threads else None,
        required_block=_dimensions(said.get(_REQUIRED_BLOCK)),
        cluster=_dimensions(said.get(_CLUSTER)),
        max_cluster_rank=rank[0] if rank else None,
        said_by="cubin",
        note="not linked yet: linking may change it" if image.kind == RELOCATABLE else "",
    )  # fmt: skip


def _registers(totals: _Totals, name: str, text: Section) -> int | None:
    """Of the list of all functions; before 9.0 the code's section says it, too."""
    found = totals.registers.get(name, text.info >> 24 or None)
    return found if found is not None and found <= _MOST_REGISTERS else None


def _stacks(
    image: ElfImage, sections: Mapping[str, Section], totals: _Totals
) -> Sequence[Mapping[str, int]]:
    """Frames; and with what they call where functions were linked in, as nvlink counts it."""
    return totals[1:] if _has_linked_functions(image, sections, totals) else (totals.frame,)


def _has_linked_functions(
    image: ElfImage, sections: Mapping[str, Section], totals: _Totals
) -> bool:
    """Whether it was linked of several: the assembler's command says so, or functions beside kernels do."""
    note = sections.get(_TOOLS)
    if note is not None:
        return _TO_BE_LINKED.search(image.data_of(note)) is not None
    return bool(totals.registers.keys() - image.kernel_names)


def _barriers(image: ElfImage, said: Mapping[int, Attribute], text: Section) -> int:
    """Of the kernel's own list from CUDA 13 on; before, of the flags of its code's section."""
    if image.abi_version >= _NEW_ABI:
        return (said.get(_BARRIERS) or (0,))[0]
    return text.flags >> 20 & 0x7F


def _shared_bytes(whole: _Whole, name: str) -> int | None:
    """None for a size that no memory has."""
    section = whole.sections.get(_SHARED + name)
    if section is None or section.size > LARGEST:
        return None if section else 0
    number = int(whole.architecture.removeprefix("sm_").rstrip("af"))
    is_reserved = number >= _RESERVING and whole.image.kind != RELOCATABLE
    return max(0, section.size - _RESERVED_BYTES) if is_reserved else section.size


def _dimensions(value: Attribute | None) -> Dimensions | None:
    if value is None or len(value) != 3 or prod(value) > LARGEST:
        return None
    return value[0], value[1], value[2]


# ---- attributes -----------------------------------------------------------------------------


def _totals(image: ElfImage, sections: Mapping[str, Section]) -> _Totals:
    info = sections.get(_INFO)
    found: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME: {}, _STACK: {}}
    for kind, value in _attributes(image.data_of(info)) if info else ():
        is_known = kind in found and len(value) == 2 and value[1] != _UNKNOWN_SIZE
        if is_known and value[0] < len(image.symbols):
            found[kind][image.symbols[value[0]].name] = value[1]
    return _Totals(found[_REGISTERS], found[_FRAME], found[_STACK])


def _attributes(data: bytes) -> Iterator[tuple[int, Attribute]]:
    """Kind and words of each; raises BrokenFileError where a payload does not fit."""
    at = 0
    while at + 4 <= len(data):
        form, kind, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form != _PAYLOAD:
            yield kind, (value & 0xFF if form == _BYTE else value,)
            continue
        if at + value > len(data):
            raise BrokenFileError("a list of a kernel's attributes is cut off")
        yield kind, struct.unpack_from(f"<{value // 4}I", data, at)
        at += value
