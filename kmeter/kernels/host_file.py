"""Files of the host that carry images for GPUs: executables, libraries, objects and archives of them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kmeter.kernels.elf_image import BrokenFileError, ElfImage

ARCHIVE, THIN_ARCHIVE = b"!<arch>\n", b"!<thin>\n"
_FINAL, _UNLINKED = ".nv_fatbin", "__nv_relfatbin"
"""Sections of fat binaries: as they are loaded, and as they were before device code was linked."""
_MEMBER_HEADER = 60
_BSD_NAME = re.compile(rb"#1/(\d{1,4})")
"""The member begins with its name, which has so many bytes."""
_LONG_NAME = re.compile(rb"[^\n\0]{0,4096}")
"""In the table of names, where one ends with its line, or with a NUL on Windows."""
_TABLES = {b"/", b"/SYM64/"}


class Part(NamedTuple):
    """A stretch of a file with fat binaries in it."""

    name: str
    """Of an archive's member; empty where the file is one piece."""
    data: memoryview


def parts_of_elf(data: memoryview, name: str = "") -> list[Part]:
    """Its sections of fat binaries; those before linking only where there are no others.

    Raises BrokenFileError.
    """
    image = ElfImage(data)
    found = [
        [image.view_of(section) for section in image.sections if section.name == kind]
        for kind in (_FINAL, _UNLINKED)
    ]
    parts = [Part(name, part) for part in found[0] or found[1] if part]
    if sum(len(part.data) for part in parts) > len(data):
        raise BrokenFileError("its sections overlap")
    return parts


def members_of(data: memoryview) -> Iterator[Part]:
    """Members of an archive that ``ar`` made; raises BrokenFileError."""
    at, names = len(ARCHIVE), b""
    while at + _MEMBER_HEADER <= len(data):
        header = bytes(data[at : at + _MEMBER_HEADER])
        at += _MEMBER_HEADER
        member = data[at : at + _size(header, len(data) - at)]
        name = header[:16].rstrip()
        if name == b"//":
            names = bytes(member)
        elif name not in _TABLES:
            yield _member(name, member, names)
        at += len(member) + len(member) % 2


def _size(header: bytes, most: int) -> int:
    digits = header[48:58].strip()
    if header[58:] != b"`\n" or not digits.isdigit():
        raise BrokenFileError("a member of the archive has no header")
    if int(digits) > most:
        raise BrokenFileError("the archive is cut off")
    return int(digits)


def _member(name: bytes, data: memoryview, names: bytes) -> Part:
    """A name of more than 15 letters stands in a table of its own, or before the member's bytes."""
    own = _BSD_NAME.fullmatch(name)
    if own:
        length = min(int(own[1]), len(data))
        name, data = bytes(data[:length]).split(b"\0", 1)[0], data[length:]
    elif name.startswith(b"/") and name[1:].isdigit():
        found = _LONG_NAME.match(names, min(int(name[1:]), len(names)))
        name = found[0] if found else b""
    return Part(name.rstrip(b"/ ").decode("utf-8", "replace"), data)
