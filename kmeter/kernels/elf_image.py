"""The ELF image that a GPU's driver loads: its sections and symbols, each within the bounds of the file.

Read with ``struct``: a library holds thousands of images, of hundreds of sections each.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from kmeter.errors import UsageError

MAGIC = b"\x7fELF"
CUDA_MACHINE = 190
"""EM_CUDA."""
RELOCATABLE = 1
"""ET_REL: not linked yet."""
_WITHOUT_BYTES = frozenset({0, 8, 0x7000000A})
"""SHT_NULL is a header alone; SHT_NOBITS has a size and no bytes, and so has what an image that is not
linked yet calls shared memory."""
_ELSEWHERE = 0xFFFF
"""SHN_XINDEX: the number stands in the first section's header."""
_ENTRY = 0x10
"""STO_CUDA_ENTRY in a symbol's ``st_other``: the function is a kernel."""
_FUNCTION = 2
"""STT_FUNC."""
_MOST_ROWS = 2**19
"""Of a table of sections or symbols."""
_MOST_SHARING = 4
"""How often the bytes of a table of names, or of an image, may be parts of it: names share their ends."""


class BrokenFileError(UsageError):
    """A file that is cut off, or whose numbers contradict each other."""


class Layout(NamedTuple):
    """Where a class of ELF keeps what is needed."""

    header: struct.Struct
    """From ``e_type`` on: type, machine, both tables' offsets, flags, their entries' sizes and counts."""
    section: struct.Struct
    symbol: struct.Struct


_LAYOUTS = {
    1: Layout(struct.Struct("<HH4x4xIIIHHHHHH"), struct.Struct("<10I"), struct.Struct("<IIIBBH")),
    2: Layout(
        struct.Struct("<HH4x8xQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
    ),
}
"""By EI_CLASS: 32 bits and 64."""


class Section(NamedTuple):
    """A section's header, its name read."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def is_in_file(self) -> bool:
        """Whether there are bytes of it."""
        return self.kind not in _WITHOUT_BYTES


class Symbol(NamedTuple):
    """A symbol: a function, of which some are kernels, or something else."""

    name: str
    is_function: bool
    is_kernel: bool
    section: int


class ElfImage:
    """One image; raises BrokenFileError for what does not fit into its bytes."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        if bytes(self._data[:4]) != MAGIC or len(self._data) < 52:
            raise BrokenFileError("it is no ELF image")
        self._layout = _LAYOUTS.get(self._data[4], _LAYOUTS[2])
        if self._data[4] not in _LAYOUTS or self._data[5] != 1:
            raise BrokenFileError("it is an ELF image of an unknown class or order of bytes")
        self.abi_version = self._data[8]
        (
            self.kind, self.machine, self._segments_at, self._sections_at, self.flags, _,
            self._segment_bytes, self._segment_count, self._section_bytes, self._section_count, self._names_index,
        ) = self._unpacked(self._layout.header, 16)  # fmt: skip

    def _unpacked(self, form: struct.Struct, offset: int) -> tuple[int, ...]:
        if offset + form.size > len(self._data):
            raise BrokenFileError("it is cut off")
        return form.unpack_from(self._data, offset)

    @property
    def is_cuda(self) -> bool:
        """Whether a GPU runs it."""
        return self.machine == CUDA_MACHINE

    @cached_property
    def end(self) -> int:
        """Where the last of its tables and sections ends: its size, as it says itself.

        Never within its header, so that what comes after it is nearer to the end of the file.
        """
        sections = self._sections_at + self._section_bytes * len(self.sections)
        segments = self._segments_at + self._segment_bytes * self._segment_count
        inside = (section.offset + section.size for section in self.sections if section.is_in_file)
        return max([16 + self._layout.header.size, sections, segments, *inside])

    def check_bounds(self) -> None:
        """Raise BrokenFileError where it is cut off, or its sections take more than there is of it."""
        if self.end > len(self._data):
            raise BrokenFileError("it is cut off")
        inside = sum(section.size for section in self.sections if section.is_in_file)
        if inside > _MOST_SHARING * self.end:
            raise BrokenFileError("its sections overlap")

    @cached_property
    def sections(self) -> list[Section]:
        """All of them, in their order."""
        form, count = self._layout.section, self._counted_sections()
        if not count:
            return []
        if self._section_bytes != form.size or count > _MOST_ROWS:
            raise BrokenFileError("its table of sections does not fit into it")
        rows = list(form.iter_unpack(self._slice(self._sections_at, count * form.size)))
        index = rows[0][6] if self._names_index == _ELSEWHERE else self._names_index
        if index >= count or rows[index][1] in _WITHOUT_BYTES:
            raise BrokenFileError("its sections have no names")
        names = _Names(self._slice(rows[index][4], rows[index][5]))
        return [
            Section(names.at(name), kind, flags, offset, size, link, info)
            for name, kind, flags, _, offset, size, link, info, _, _ in rows
        ]

    def _counted_sections(self) -> int:
        """How many there are: where they are too many for the header, the first one's size says so."""
        if self._section_count or not self._sections_at:
            return self._section_count
        return self._unpacked(self._layout.section, self._sections_at)[5]

    def _slice(self, offset: int, size: int) -> memoryview:
        if offset + size > len(self._data):
            raise BrokenFileError("it is cut off")
        return self._data[offset : offset + size]

    def view_of(self, section: Section) -> memoryview:
        """Its bytes, where they lie; none where it has none in the file."""
        return self._slice(section.offset, section.size) if section.is_in_file else self._data[:0]

    def data_of(self, section: Section) -> bytes:
        """The same as a copy."""
        return bytes(self.view_of(section))

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Of the table of symbols; none where there is none."""
        table = next((s for s in self.sections if s.name == ".symtab"), None)
        if table is None:
            return []
        if table.link >= len(self.sections):
            raise BrokenFileError("its symbols have no names")
        names = _Names(self.view_of(self.sections[table.link]))
        return [self._symbol(names, row) for row in self._rows(self.view_of(table))]

    @cached_property
    def kernel_names(self) -> frozenset[str]:
        """Of the functions that a launch may name."""
        return frozenset(symbol.name for symbol in self.symbols if symbol.is_kernel)

    def _rows(self, raw: memoryview) -> Iterator[tuple[int, int, int, int]]:
        """Name, info, other and section of each symbol."""
        form = self._layout.symbol
        if len(raw) > _MOST_ROWS * form.size:
            raise BrokenFileError("it has too many symbols")
        whole = raw[: len(raw) // form.size * form.size]
        for row in form.iter_unpack(whole):
            yield (row[0], *row[3:6]) if form.size == 16 else (row[0], *row[1:4])

    def _symbol(self, names: "_Names", row: tuple[int, int, int, int]) -> Symbol:
        name, info, other, section = row
        is_function = info & 0xF == _FUNCTION
        return Symbol(names.at(name), is_function, is_function and bool(other & _ENTRY), section)


class _Names:
    """A table of names, each of them read once: many sections may share one."""

    def __init__(self, table: memoryview) -> None:
        self._table = bytes(table)
        self._known: dict[int, str] = {}
        self._left = _MOST_SHARING * len(table)

    def at(self, offset: int) -> str:
        """One that begins there; raises BrokenFileError where it does not end in the table."""
        known = self._known.get(offset)
        if known is None:
            known = self._known[offset] = self._read(offset)
        return known

    def _read(self, offset: int) -> str:
        end = self._table.find(b"\0", offset)
        if offset > len(self._table) or end < 0:
            raise BrokenFileError("a name in it does not end")
        self._left -= end - offset
        if self._left < 0:
            raise BrokenFileError("its names overlap")
        return self._table[offset:end].decode("utf-8", "replace")
