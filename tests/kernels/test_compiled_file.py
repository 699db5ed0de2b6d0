import os
import shutil
import struct
from pathlib import Path

import pytest

from kernels.answers import OWN
from kernels.test_elf_image import Part, Symbol, image
from kernels.test_fatbin import LZ4, ZSTD, entry, fatbin, squeezed
from kernels.test_host_file import archive, host
from kmeter.errors import UsageError
from kmeter.kernels import compiled_file
from kmeter.kernels.compiled_file import BrokenFileError, Contents, contents_of, contents_of_bytes
from kmeter.kernels.fatbin import LTO, PTX, BombError

PTX_TEXT = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n"


def little(name: str = "k", number: int = 80, kind: int = 2) -> bytes:
    """An image of one kernel."""
    code = Part(f".text.{name}", bytes(16), info=20 << 24)
    return image([code], [Symbol(name)], flags=number, kind=kind)


def found(contents: Contents) -> list[tuple[str, str | None, str]]:
    return [(kernel.name, kernel.architecture, kernel.source) for kernel in contents.kernels]


def test_images_one_after_another() -> None:
    raw = little("a") + bytes(-len(little("a")) % 8) + little("b", 90)
    assert found(contents_of_bytes(raw)) == [("a", "sm_80", ""), ("b", "sm_90", "")]


def test_fat_binaries_one_after_another_compressed_or_not() -> None:
    first = fatbin(entry(little("a")), squeezed(little("b"), LZ4))
    raw = first + bytes(64) + fatbin(squeezed(little("c", 90), ZSTD, number=90))
    assert [name for name, _, _ in found(contents_of_bytes(raw))] == ["a", "b", "c"]


def test_an_object_of_the_host_before_linking() -> None:
    raw = host(Part("__nv_relfatbin", fatbin(entry(little(kind=1)))), kind=1)
    (kernel,) = contents_of_bytes(raw).kernels
    assert (kernel.name, kernel.architecture) == ("k", "sm_80")
    assert "not linked yet" in kernel.note


def test_an_archive_of_everything() -> None:
    library = host(Part(".nv_fatbin", fatbin(entry(little("a")))))
    raw = archive(
        ("one.o/", library), ("two/", little("b")), ("text/", b"hello"), ("#1/8", b"three\0\0\0" + library)
    )  # fmt: skip
    assert found(contents_of_bytes(raw)) == [
        ("a", "sm_80", "one.o"),
        ("b", "sm_80", "two"),
        ("a", "sm_80", "three"),
    ]


def test_a_file_of_another_system_is_searched_through() -> None:
    raw = b"MZ" + bytes(70_000) + b"PE\0\0" + bytes(99) + fatbin(entry(little())) + bytes(500)
    assert found(contents_of_bytes(raw)) == [("k", "sm_80", "")]


def test_what_has_no_kernels_yet_is_said() -> None:
    alone = contents_of_bytes(fatbin(entry(b"x", PTX, 90), entry(b"x", PTX, 80)))
    assert alone == Contents(
        [], ["PTX alone (compute_80, compute_90): it has no registers until the driver compiles it"]
    )
    lto = contents_of_bytes(fatbin(entry(b"x", LTO), entry(b"y", LTO)))
    assert lto == Contents([], ["code for linking alone (sm_80): it is not compiled yet (2 times)"])


def test_an_entry_that_is_no_image_is_said() -> None:
    contents = contents_of_bytes(fatbin(entry(b"no image"), entry(little())))
    assert [kernel.name for kernel in contents.kernels] == ["k"]
    assert contents.remarks == ["an image that is broken: it is no ELF image"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no kernel in it"),
        (bytes(1000), "no kernel in it"),
        (b"!<thin>\n", "thin archive"),
        (b"!<arch>\n", "no kernel for a GPU"),
        (fatbin(), "no kernel for a GPU"),
        (host(), "no kernel for a GPU"),
        (fatbin(entry(b"", PTX, 2**32 - 1)), "no architecture"),
    ],
)
def test_nothing_in_it(raw: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        contents_of_bytes(raw)


def test_an_image_without_an_end_is_passed_once() -> None:
    header = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HH", 2, 190) + bytes(44)
    with pytest.raises(UsageError, match="no kernel"):
        contents_of_bytes(header * 1000)


def test_archives_within_archives_are_refused() -> None:
    raw = archive(("k", little()))
    assert len(contents_of_bytes(archive(("in", raw))).kernels) == 1
    for _ in range(2000):
        raw = archive(("in", raw))
    with pytest.raises(BrokenFileError, match="archives within archives"):
        contents_of_bytes(raw)


@pytest.mark.parametrize("flags", [LZ4, ZSTD])
def test_many_entries_are_a_bomb_together(flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = fatbin(*[squeezed(bytes(2000), flags)] * 100)
    (remark,) = contents_of_bytes(raw).remarks
    assert "(100 times)" in remark
    monkeypatch.setattr(compiled_file, "_MOST_GROWTH", 2)
    monkeypatch.setattr(compiled_file, "_MOST_INFLATED", 1000)
    with pytest.raises(BombError, match="more than any such file"):
        contents_of_bytes(raw)


def test_a_bomb_is_refused_before_it_is_decompressed() -> None:
    raw = fatbin(entry(bytes(2**22), flags=LZ4, raw_bytes=2**30))
    with pytest.raises(BombError, match="more than any such file"):
        contents_of_bytes(raw)


def test_too_many_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_file, "_MOST_KERNELS", 10)
    with pytest.raises(BrokenFileError, match="too many kernels"):
        contents_of_bytes(fatbin(*[entry(little())] * 11))


def test_a_text_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(contents_of_bytes(PTX_TEXT).kernels) == 1
    monkeypatch.setattr(compiled_file, "_MOST_TEXT_BYTES", 10)
    with pytest.raises(UsageError, match="larger than any compiler's text"):
        contents_of_bytes(PTX_TEXT)


# ---- paths ----------------------------------------------------------------------------------


def test_the_file_is_named_where_it_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "broken.cubin"
    shutil.copy(OWN / "cubin/118/plain.sm_61.cubin", file)
    os.truncate(file, 5000)
    with pytest.raises(UsageError, match=r"broken\.cubin is broken: it is cut off"):
        contents_of(file)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="empty: no kernel in it"):
        contents_of(tmp_path / "empty")


@pytest.mark.parametrize("name", ["missing", "a/b", "a\0b", "n" * 5000])
def test_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        contents_of(tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        contents_of(tmp_path)


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match="cannot read"):
        contents_of(tmp_path / "loop")


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match="is no regular file"):
            contents_of(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(UsageError, match="larger than any file of kernels"):
        contents_of(tmp_path / "sparse")
