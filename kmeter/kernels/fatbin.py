"""Fat binaries: images and PTX for several architectures one after another, some of them compressed."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.kernels.elf_image import BrokenFileError

MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)
"""With the version and the header's size: the number alone stands in the code of CUDA's libraries, too."""
_STRIDE = 2**16
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQII4xI8xQ8xQ")
"""Kind, version, header's size, payload's size with padding, compressed size, …, architecture, flags, raw size."""
PTX, ELF, LTO = 1, 2, 8
"""Kinds of entries; LTO is an intermediate language that is compiled while linking."""
_LZ4, _ZSTD = 0x2000, 0x8000
_ACCELERATED, _FAMILY = 0x100000, 0x200000
"""Flags of ``sm_90a`` and ``sm_100f``."""
_MOST_BYTES = 2**30
"""Of one entry, when it is not compressed any more."""
_MOST_RATIO = 256
"""What an entry may grow to, as a multiple: LZ4 reaches 255, images are compressed to a quarter."""


class BombError(UsageError):
    """An entry that says it grows beyond any image."""


class Entry(NamedTuple):
    """One of them, compressed or not."""

    kind: int
    number: int
    """``90`` of sm_90 or compute_90."""
    suffix: str
    """``a``, ``f`` or nothing."""
    payload: memoryview
    flags: int
    raw_bytes: int
    """The size that it says it has when it is not compressed."""

    @property
    def architecture(self) -> str:
        """``sm_90a``, or ``compute_90a`` for PTX."""
        return f"{'compute' if self.kind == PTX else 'sm'}_{self.number}{self.suffix}"

    @property
    def is_compressed(self) -> bool:
        """Whether there is more of it than lies in the file."""
        return bool(self.flags & (_LZ4 | _ZSTD))

    def data(self) -> bytes | memoryview:
        """As it was before it was compressed; raises BombError and BrokenFileError."""
        if not self.is_compressed:
            return self.payload
        if not 0 < self.raw_bytes <= min(_MOST_BYTES, _MOST_RATIO * len(self.payload)):
            raise BombError(
                f"{len(self.payload)} bytes of a fat binary say that they hold {self.raw_bytes}"
            )
        return _inflated(bytes(self.payload), self.raw_bytes, is_zstd=bool(self.flags & _ZSTD))


def entries_of(view: memoryview) -> Iterator[Entry]:
    """The entries of all fat binaries in a stretch of bytes; what lies between them is passed over.

    Raises BrokenFileError where one does not fit into it.
    """
    at = find_magic(view, 0)
    while at >= 0:
        _, _, header, size = _unpacked(_HEADER, view, at)
        end = at + header + size
        if header < _HEADER.size or end > len(view):
            raise BrokenFileError("a fat binary is cut off")
        yield from _entries(view, at + header, end)
        at = find_magic(view, end)


def find_magic(view: memoryview, at: int) -> int:
    """Where the next fat binary begins; below 0 where none does."""
    stride = _ENTRY.size
    while at < len(view):
        found = bytes(view[at : at + stride]).find(MAGIC)
        if found >= 0:
            return at + found
        at += stride - len(MAGIC) + 1
        stride = min(2 * stride, _STRIDE)
    return -1


def _entries(view: memoryview, at: int, end: int) -> Iterator[Entry]:
    while at + _ENTRY.size <= end:
        kind, _, header, size, used, _, number, flags, raw_bytes = _unpacked(_ENTRY, view, at)
        first, last = at + header, at + header + size
        if header < _ENTRY.size or last > end:
            raise BrokenFileError("an entry of a fat binary is cut off")
        is_compressed = flags & (_LZ4 | _ZSTD) and 0 < used <= size
        payload = view[first : first + used] if is_compressed else view[first:last]
        suffix = "a" if flags & _ACCELERATED else "f" if flags & _FAMILY else ""
        yield Entry(kind, number, suffix, payload, flags, raw_bytes)
        at = last


def _unpacked(form: struct.Struct, view: memoryview, at: int) -> tuple[int, ...]:
    try:
        return form.unpack_from(view, at)
    except struct.error:
        raise BrokenFileError("a fat binary is cut off") from None


def _inflated(payload: bytes, raw_bytes: int, *, is_zstd: bool) -> bytes:
    try:
        if is_zstd:
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(payload) as reader:
                data = reader.read(raw_bytes + 1)
        else:
            import lz4.block

            data = lz4.block.decompress(payload, uncompressed_size=raw_bytes)
    except Exception as error:  # each library's own
        raise BrokenFileError(f"an entry of a fat binary cannot be decompressed: {error}") from None
    if len(data) != raw_bytes:
        raise BrokenFileError("an entry of a fat binary has another size than it says")
    return bytes(data)
