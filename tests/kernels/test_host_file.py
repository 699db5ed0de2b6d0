import time

import pytest

from kernels.test_elf_image import Part as Section
from kernels.test_elf_image import image
from kmeter.kernels.elf_image import BrokenFileError
from kmeter.kernels.host_file import ARCHIVE, Part, members_of, parts_of_elf

_NO_BITS, _X86 = 8, 62


def host(*sections: Section, kind: int = 3) -> bytes:
    """A library or, with a kind of 1, an object of the host."""
    return image(sections, machine=_X86, kind=kind, flags=0, abi=0)


def archive(*members: tuple[str, bytes]) -> bytes:
    """Made by ``ar``: a member's name as it stands in its header."""
    return ARCHIVE + b"".join(
        f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
        + data
        + b"\n" * (len(data) % 2)
        for name, data in members
    )


def members(raw: bytes) -> list[tuple[str, bytes]]:
    return [(part.name, bytes(part.data)) for part in members_of(memoryview(raw))]


def parts(raw: bytes, name: str = "") -> list[Part]:
    return parts_of_elf(memoryview(raw), name)


def test_the_linked_section_goes_before_the_others() -> None:
    raw = host(
        Section("__nv_relfatbin", b"old"), Section(".text", b"x"), Section(".nv_fatbin", b"new")
    )
    assert [(part.name, bytes(part.data)) for part in parts(raw, "a.o")] == [("a.o", b"new")]


def test_an_object_has_only_what_is_not_linked() -> None:
    assert [
        bytes(part.data) for part in parts(host(Section("__nv_relfatbin", b"old"), kind=1))
    ] == [b"old"]


@pytest.mark.parametrize(
    "section",
    [Section(".text", b"x"), Section(".nv_fatbin"), Section(".nv_fatbin", kind=_NO_BITS, size=9)],
)
def test_a_file_without_fat_binaries(section: Section) -> None:
    assert parts(host(section)) == []


@pytest.mark.parametrize(
    "section", [Section(".nv_fatbin", size=2**40), Section(".nv_fatbin", size=2**64 - 1)]
)
def test_a_section_that_ends_beyond_the_file(section: Section) -> None:
    with pytest.raises(BrokenFileError, match="cut off"):
        parts(host(section))


def test_thousands_of_sections_over_the_same_bytes_are_refused() -> None:
    whole = Section(".nv_fatbin", size=1000, offset=0)
    with pytest.raises(BrokenFileError, match="sections overlap"):
        parts(host(*[whole] * 2000))


def test_members_with_their_names() -> None:
    table = b"a_name_of_more_than_15_letters.o/\nanother_long_name_of_a_member.o/\n"
    raw = archive(
        ("/", b"symbols"), ("/SYM64/", b"more"), ("//", table), ("short.o/", b"odd"),
        ("/0", b"even"), ("/34", b""), ("plain", b"last"),
    )  # fmt: skip
    assert members(raw) == [
        ("short.o", b"odd"),
        ("a_name_of_more_than_15_letters.o", b"even"),
        ("another_long_name_of_a_member.o", b""),
        ("plain", b"last"),
    ]


def test_names_as_bsd_writes_them_stand_before_the_members() -> None:
    name = b"a_long_name_of_bsd.o"
    assert members(archive(("#1/20", name + b"data"), ("#1/8", b"b.o\0\0\0\0\0rest"))) == [
        (name.decode(), b"data"),
        ("b.o", b"rest"),
    ]


def test_names_as_windows_writes_them_end_with_a_nul() -> None:
    raw = archive(("//", b"first_long_name_here.obj\0second.obj\0"), ("/0", b"a"), ("/25", b"b"))
    assert [name for name, _ in members(raw)] == ["first_long_name_here.obj", "second.obj"]


@pytest.mark.parametrize(
    "name", ["/999999999999999", "/7", "/", "#1/9999", "#1/", "#1/0", "\udcff"]
)
def test_names_that_are_nowhere(name: str) -> None:
    header = name.encode("utf-8", "surrogateescape").ljust(16)
    raw = archive(("x", b"data"))
    assert len(members(raw[:8] + header + raw[24:])) == (name != "/")


def test_members_without_bytes_come_to_an_end() -> None:
    assert len(members(archive(*[("a", b"")] * 1000))) == 1000


@pytest.mark.parametrize("size", [b"", b"-1", b"+1", b"1_0", b"0x9", b"1e3", b"1 1", b"\xb2"])
def test_a_size_that_is_no_number(size: bytes) -> None:
    raw = archive(("a", b"data"))
    with pytest.raises(BrokenFileError, match="no header"):
        members(raw[:56] + size.ljust(10) + raw[66:])


def test_an_archive_that_is_cut_off() -> None:
    with pytest.raises(BrokenFileError, match="cut off"):
        members(archive(("a", b"data"))[:-1])
    with pytest.raises(BrokenFileError, match="no header"):
        members(ARCHIVE + bytes(60))
    assert members(ARCHIVE) == []


def test_thousands_of_members_that_share_one_name_take_no_time() -> None:
    raw = archive(("//", b"n" * 2**20), *[("/0", b"")] * 5000)
    begin = time.process_time()
    assert {len(name) for name, _ in members(raw)} == {4096}
    assert time.process_time() - begin < 2
