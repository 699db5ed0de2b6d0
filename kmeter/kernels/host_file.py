"""Files of the host that carry images for GPUs: executables, libraries, objects and archives of them."""

import io
from collections.abc import Iterator
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from kmeter.kernels.elf_image import BrokenFileError

ARCHIVE = b"!<arch>\n"
_FINAL, _UNLINKED = ".nv_fatbin", "__nv_relfatbin"
"""Sections of fat binaries: as they are loaded, and as they were before device code was linked."""
_MEMBER_HEADER = 60


class Part(NamedTuple):
    """A stretch of a file with fat binaries in it."""

    name: str
    """Of an archive's member; empty where the file is one piece."""
    data: memoryview


def parts_of_elf(data: memoryview, name: str = "") -> list[Part]:
    """Its sections of fat binaries; those before linking only where there are no others.

    Raises BrokenFileError.
    """
    try:
        file = ELFFile(io.BytesIO(data))
        found = {kind: list(_sections(file, data, kind)) for kind in (_FINAL, _UNLINKED)}
    except (ELFError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError):
        raise BrokenFileError("its table of sections cannot be read") from None
    return [Part(name, part) for part in found[_FINAL] or found[_UNLINKED]]


def _sections(file: ELFFile, data: memoryview, name: str) -> Iterator[memoryview]:
    for section in file.iter_sections():
        if section.name != name or not section["sh_size"]:
            continue
        first, last = section["sh_offset"], section["sh_offset"] + section["sh_size"]
        if last > len(data):
            raise BrokenFileError("it is cut off: a section of images ends beyond it")
        if section["sh_type"] != "SHT_NOBITS":
            yield data[first:last]


def members_of(data: memoryview) -> Iterator[Part]:
    """Members of an archive that ``ar`` made; raises BrokenFileError."""
    at, names = len(ARCHIVE), b""
    while at + _MEMBER_HEADER <= len(data):
        header = bytes(data[at : at + _MEMBER_HEADER])
        at += _MEMBER_HEADER
        if header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            raise BrokenFileError("a member of the archive has no header")
        size = int(header[48:58])
        if at + size > len(data):
            raise BrokenFileError("the archive is cut off")
        name = header[:16].rstrip()
        if name == b"//":
            names = bytes(data[at : at + size])
        elif name not in {b"/", b"/SYM64/"}:
            yield Part(_member_name(name, names), data[at : at + size])
        at += size + size % 2


def _member_name(name: bytes, names: bytes) -> str:
    """A name of more than 15 letters stands in a table of its own."""
    if name.startswith(b"/") and name[1:].isdigit():
        name = names[int(name[1:]) :].split(b"\n", 1)[0]
    return name.rstrip(b"/ ").decode("utf-8", "replace")
