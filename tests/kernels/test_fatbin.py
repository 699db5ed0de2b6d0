import struct
import time

import lz4.block
import pytest
import zstandard

from kmeter.kernels.elf_image import BrokenFileError
from kmeter.kernels.fatbin import ELF, LTO, MAGIC, PTX, BombError, Entry, entries_of, find_magic

LZ4, ZSTD = 0x2000, 0x8000
_ACCELERATED, _FAMILY = 0x100000, 0x200000


def fatbin(*entries: bytes) -> bytes:
    """One fat binary."""
    body = b"".join(entries)
    return MAGIC + struct.pack("<Q", len(body)) + body


def entry(
    payload: bytes,
    kind: int = ELF,
    number: int = 80,
    flags: int = 0,
    *,
    used: int | None = None,
    raw_bytes: int = 0,
    header: int = 64,
) -> bytes:
    """One entry: its payload is padded to 8 bytes."""
    padded = payload + bytes(-len(payload) % 8)
    compressed = used if used is not None else len(payload) if flags & (LZ4 | ZSTD) else 0
    head = struct.pack(
        "<HHIQII4xI8xQ8xQ",
        kind, 0x101, header, len(padded), compressed, 0, number, flags, raw_bytes,
    )  # fmt: skip
    return head + padded


def squeezed(data: bytes, flags: int, *, raw_bytes: int | None = None, number: int = 80) -> bytes:
    """An entry that is compressed."""
    payload = (
        lz4.block.compress(data, store_size=False)
        if flags & LZ4
        else zstandard.ZstdCompressor().compress(data)
    )
    size = len(data) if raw_bytes is None else raw_bytes
    return entry(payload, flags=flags, raw_bytes=size, number=number)


def entries(*raw: bytes) -> list[Entry]:
    return list(entries_of(memoryview(b"".join(raw))))


def test_entries_of_several_fat_binaries_with_something_between() -> None:
    first = fatbin(entry(b"image"), entry(b".version", PTX, 90, _ACCELERATED))
    second = fatbin(entry(b"ir", LTO, 100, _FAMILY))
    found = entries(b"before", first, bytes(5000), second, b"behind")
    assert [(e.kind, e.architecture) for e in found] == [
        (ELF, "sm_80"),
        (PTX, "compute_90a"),
        (LTO, "sm_100f"),
    ]
    assert bytes(found[0].data()) == b"image\0\0\0"


@pytest.mark.parametrize("flags", [LZ4, ZSTD])
def test_a_compressed_entry(flags: int) -> None:
    data = b"some image, some image" * 10
    (found,) = entries(fatbin(squeezed(data, flags)))
    assert found.is_compressed
    assert found.data() == data


@pytest.mark.parametrize("flags", [LZ4, ZSTD])
@pytest.mark.parametrize("size", [0, 2**16, 2**30 + 1, 2**63, 2**64 - 1])
def test_a_size_beyond_what_its_bytes_can_hold_is_a_bomb(flags: int, size: int) -> None:
    (found,) = entries(fatbin(squeezed(b"a" * 100, flags, raw_bytes=size)))
    with pytest.raises(BombError, match="say that they hold"):
        found.data()


@pytest.mark.parametrize("flags", [LZ4, ZSTD])
@pytest.mark.parametrize("size", [1, 99, 101, 2000])
def test_another_size_than_the_bytes_have(flags: int, size: int) -> None:
    (found,) = entries(fatbin(squeezed(b"a" * 100, flags, raw_bytes=size)))
    with pytest.raises(BrokenFileError):
        found.data()


@pytest.mark.parametrize("flags", [LZ4, ZSTD])
def test_bytes_that_are_not_compressed_though_they_say_so(flags: int) -> None:
    (found,) = entries(fatbin(entry(b"no such thing", flags=flags, raw_bytes=100, used=0)))
    with pytest.raises(BrokenFileError, match=r"cannot be decompressed|another size"):
        found.data()


def test_a_zstd_frame_that_wants_gigabytes_is_refused() -> None:
    frame = struct.pack("<I", 0xFD2FB528) + b"\x00\xa8" + b"\x01\x00\x00"  # a window of 2 GiB
    (found,) = entries(fatbin(entry(frame, flags=ZSTD, raw_bytes=100)))
    with pytest.raises(BrokenFileError, match="cannot be decompressed"):
        found.data()


@pytest.mark.parametrize("size", [1, 2**32, 2**63, 2**64 - 1])
def test_a_fat_binary_that_ends_beyond_the_file(size: int) -> None:
    with pytest.raises(BrokenFileError, match="cut off"):
        entries(MAGIC + struct.pack("<Q", size))


@pytest.mark.parametrize("header", [0, 1, 63, 2**32 - 1])
def test_an_entry_whose_header_leads_nowhere(header: int) -> None:
    with pytest.raises(BrokenFileError, match="entry of a fat binary is cut off"):
        entries(fatbin(entry(b"", header=header)))


def test_entries_without_bytes_come_to_an_end() -> None:
    assert len(entries(fatbin(*[entry(b"")] * 1000))) == 1000


def test_an_entry_does_not_reach_into_the_next_fat_binary() -> None:
    lying = entry(b"", header=64)[:8] + struct.pack("<Q", 200) + entry(b"")[16:]
    with pytest.raises(BrokenFileError, match="entry of a fat binary is cut off"):
        entries(fatbin(lying), fatbin(entry(bytes(200))))


def test_the_number_alone_is_no_fat_binary() -> None:
    assert find_magic(memoryview(b"\x3d" + MAGIC[:4] + b"\x75\x10\x48\x89" + bytes(99)), 0) == -1


@pytest.mark.parametrize("at", [0, 1, 60, 63, 64, 100, 2**16 - 1, 2**17 + 3, 300_001])
def test_where_a_fat_binary_begins(at: int) -> None:
    view = memoryview(bytes(at) + MAGIC + bytes(9))
    assert find_magic(view, 0) == at
    assert find_magic(view, at) == at
    assert find_magic(view, at + 1) == -1


def test_many_fat_binaries_are_found_in_time_that_grows_with_their_number() -> None:
    raw = fatbin() * 40_000
    begin = time.process_time()
    assert entries(raw) == []
    assert time.process_time() - begin < 1
