import struct
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from kmeter.kernels.elf_image import BrokenFileError, ElfImage

FUNCTION, ENTRY = 0x12, 0x10
_NO_BITS = 8


class Part(NamedTuple):
    """A section to be: what is not given follows from its bytes."""

    name: str
    data: bytes = b""
    kind: int = 1
    flags: int = 0
    info: int = 0
    link: int = 0
    size: int | None = None
    offset: int | None = None
    name_at: int | None = None


class Symbol(NamedTuple):
    name: str
    info: int = FUNCTION
    other: int = ENTRY


class _Forms(NamedTuple):
    header: str
    section: str


_FORMS = {32: _Forms("<HHIIIIIHHHHHH", "<10I"), 64: _Forms("<HHIQQQIHHHHHH", "<IIQQQQIIQQ")}


def image(
    parts: Sequence[Part],
    symbols: Sequence[Symbol] | None = None,
    *,
    bits: int = 64,
    machine: int = 190,
    kind: int = 2,
    flags: int = 0x50,
    abi: int = 7,
    counted_in_first: bool = False,
) -> bytes:
    """An ELF file: its header, the sections' bytes, their names and their table."""
    parts = [Part("", kind=0), *parts]
    if symbols is not None:
        table, names = _symbols(symbols, bits)
        parts += [Part(".symtab", table, link=len(parts) + 1), Part(".strtab", names)]
    texts = dict.fromkeys(["", *(part.name for part in parts), ".shstrtab"])
    names, starts = _names(list(texts))
    parts.append(Part(".shstrtab", names))
    if counted_in_first:
        parts[0] = parts[0]._replace(size=len(parts), link=len(parts) - 1)
    forms = _FORMS[bits]
    body, rows = b"", b""
    begin = 16 + struct.calcsize(forms.header)
    for part in parts:
        at, size = begin + len(body), len(part.data) if part.size is None else part.size
        offset = at if part.offset is None else part.offset
        name_at = starts[part.name] if part.name_at is None else part.name_at
        rows += struct.pack(
            forms.section, name_at, part.kind, part.flags, 0, offset, size, part.link, part.info, 1, 0
        )  # fmt: skip
        body += part.data + bytes(-len(part.data) % 8)
    counts = (0, 0xFFFF) if counted_in_first else (len(parts), len(parts) - 1)
    header = struct.pack(
        forms.header, kind, machine, 1, 0, 0, begin + len(body), flags, begin, 0, 0,
        struct.calcsize(forms.section), *counts,
    )  # fmt: skip
    ident = b"\x7fELF" + bytes([bits // 32, 1, 1, 0x33, abi]) + bytes(7)
    return ident + header + body + rows


def _names(texts: Sequence[str]) -> tuple[bytes, dict[str, int]]:
    table, starts = b"", {}
    for text in texts:
        starts[text] = len(table)
        table += text.encode() + b"\0"
    return table, starts


def _symbols(symbols: Sequence[Symbol], bits: int) -> tuple[bytes, bytes]:
    names, starts = _names(["", *(symbol.name for symbol in symbols)])
    rows = [
        struct.pack("<IIIBBH", starts[name], 0, 0, info, other, 1)
        if bits == 32
        else struct.pack("<IBBHQQ", starts[name], info, other, 1, 0, 0)
        for name, info, other in symbols
    ]
    return bytes(len(rows[0]) if rows else 24) + b"".join(rows), names


@pytest.mark.parametrize("bits", [32, 64])
def test_sections_and_symbols_of_both_classes(bits: int) -> None:
    parts = [Part(".text.k", b"code", info=5, flags=3), Part(".bss", kind=_NO_BITS, size=2**20)]
    found = ElfImage(
        image(parts, [Symbol("k"), Symbol("f", other=0), Symbol("v", info=1)], bits=bits)
    )
    text = found.sections[1]
    assert (text.name, text.info, text.flags, found.data_of(text)) == (".text.k", 5, 3, b"code")
    assert found.data_of(found.sections[2]) == b""
    assert [(s.name, s.is_function, s.is_kernel) for s in found.symbols[1:]] == [
        ("k", True, True),
        ("f", True, False),
        ("v", False, False),
    ]
    assert found.kernel_names == {"k"}


@pytest.mark.parametrize("bits", [32, 64])
def test_more_sections_than_the_header_can_count(bits: int) -> None:
    raw = image([Part(".text.k", b"code")], bits=bits, counted_in_first=True)
    assert [s.name for s in ElfImage(raw).sections] == ["", ".text.k", ".shstrtab"]
    assert ElfImage(raw).end == len(raw)


def test_an_image_without_sections_has_none() -> None:
    raw = image([])[:64]
    raw = raw[:40] + bytes(8) + raw[48:60] + bytes(4)
    assert ElfImage(raw).sections == []
    assert ElfImage(raw).symbols == []
    assert ElfImage(raw).end == 64


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "no ELF"),
        (b"\x7fELF", "no ELF"),
        (bytes(64), "no ELF"),
        (b"\x7fELF\x03\x01" + bytes(58), "unknown class"),
        (b"\x7fELF\x02\x02" + bytes(58), "unknown class"),
        (b"\x7fELF\x02\x01" + bytes(46), "cut off"),
    ],
)
def test_no_image(raw: bytes, reason: str) -> None:
    with pytest.raises(BrokenFileError, match=reason):
        ElfImage(raw)


def _altered(raw: bytes, at: int, form: str, value: int) -> bytes:
    return raw[:at] + struct.pack(form, value) + raw[at + struct.calcsize(form) :]


@pytest.mark.parametrize("offset", [2**63, 2**64 - 1, 2**32])
@pytest.mark.parametrize("count", [0, 1, 0xFFFF])
def test_a_table_of_sections_beyond_the_file(offset: int, count: int) -> None:
    raw = _altered(_altered(image([]), 40, "<Q", offset), 60, "<H", count)
    with pytest.raises(BrokenFileError, match="cut off"):
        _ = ElfImage(raw).sections


def test_a_count_of_sections_is_not_believed() -> None:
    raw = image([Part("a")], counted_in_first=True)
    table = struct.unpack_from("<Q", raw, 40)[0]
    for count in (10, 2**19, 2**19 + 1, 2**64 - 1):
        with pytest.raises(BrokenFileError):
            _ = ElfImage(_altered(raw, table + 32, "<Q", count)).sections


@pytest.mark.parametrize("size", [0, 1, 63, 65, 0xFFFF])
def test_rows_of_sections_have_their_size(size: int) -> None:
    with pytest.raises(BrokenFileError, match="does not fit"):
        _ = ElfImage(_altered(image([]), 58, "<H", size)).sections


@pytest.mark.parametrize("index", [2, 0xFFFE, 0xFFFF])
def test_sections_without_names(index: int) -> None:
    raw = _altered(image([], counted_in_first=False), 62, "<H", index)
    with pytest.raises(BrokenFileError):
        _ = ElfImage(raw).sections


def test_names_that_lie_nowhere() -> None:
    raw = image([Part("a")])
    last = len(raw) - 64
    for kind in (0, _NO_BITS):
        with pytest.raises(BrokenFileError, match="no names"):
            _ = ElfImage(_altered(raw, last + 4, "<I", kind)).sections
    with pytest.raises(BrokenFileError, match="does not end"):
        _ = ElfImage(_altered(raw, last, "<I", 2**32 - 1)).sections


def test_symbols_whose_names_are_no_section() -> None:
    raw = image([Part(".symtab", bytes(48), link=99)])
    with pytest.raises(BrokenFileError, match="no names"):
        _ = ElfImage(raw).symbols


def test_half_a_symbol_at_the_end_is_none() -> None:
    raw = image([Part(".symtab", bytes(30), link=2), Part(".strtab", b"\0")])
    assert [symbol.name for symbol in ElfImage(raw).symbols] == [""]


def test_thousands_of_sections_that_share_one_name_read_it_once() -> None:
    long = "n" * 2**20
    raw = image([Part(long), *(Part("", name_at=1) for _ in range(10_000))])
    sections = ElfImage(raw).sections
    assert len(sections) == 10_003
    assert sections[2].name is sections[10_000].name


def test_thousands_of_names_within_one_are_refused() -> None:
    raw = image([Part("n" * 2**20), *(Part("", name_at=2 + i) for i in range(10_000))])
    with pytest.raises(BrokenFileError, match="names overlap"):
        _ = ElfImage(raw).sections


def test_too_many_symbols_are_refused() -> None:
    table = Part(".symtab", bytes(24 * (2**19 + 1)), link=2)
    with pytest.raises(BrokenFileError, match="too many symbols"):
        _ = ElfImage(image([table, Part(".strtab", b"\0")])).symbols


def test_bounds_of_an_image() -> None:
    raw = image([Part("a", bytes(100))])
    ElfImage(raw).check_bounds()
    with pytest.raises(BrokenFileError, match="cut off"):
        ElfImage(image([Part("a", size=2**40)])).check_bounds()
    many = [Part("a", bytes(1000)), *(Part("b", size=1000, offset=64) for _ in range(50))]
    with pytest.raises(BrokenFileError, match="sections overlap"):
        ElfImage(image(many)).check_bounds()
