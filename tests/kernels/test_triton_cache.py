import json
import os
from pathlib import Path
from typing import Any

import pytest

from kernels.test_elf_image import Part, Symbol, image
from kmeter.errors import UsageError
from kmeter.kernels import triton_cache
from kmeter.kernels.triton_cache import contents_of_cache, kernels_of_cache

IMAGE = image([Part(".text.k", bytes(16), info=20 << 24)], [Symbol("k")], flags=80)


def kept(folder: Path, said: bytes | None = b"{}", name: str = "k", raw: bytes = IMAGE) -> Path:
    """A folder with a kernel in it, as Triton keeps one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.cubin").write_bytes(raw)
    if said is not None:
        (folder / f"{name}.json").write_bytes(said)
    return folder


def test_the_launch_stands_beside_the_image(tmp_path: Path) -> None:
    kept(tmp_path / "hash", b'{"num_warps": 4, "shared": 2048, "name": "k"}')
    (found,) = kernels_of_cache(tmp_path)
    assert (found.required_block, found.dynamic_shared_bytes) == ((128, 1, 1), 2048)
    assert (found.said_by, found.source, found.note) == ("Triton", "hash", "")


def test_the_newest_comes_first(tmp_path: Path) -> None:
    for index, name in enumerate("abc"):
        file = kept(tmp_path / name) / "k.cubin"
        os.utime(file, (1000 + index % 2, 1000 + index % 2))
    assert [kernel.source for kernel in kernels_of_cache(tmp_path)] == ["b", "a", "c"]


@pytest.mark.parametrize(
    "said",
    [
        None, b"", b"{", b"[]", b"null", b"3", b'"text"', b"\xff\xfe", b'{"shared": "\xc3("}', b"[" * 100_000,
        b'{"shared":' * 50_000, b'{"shared": ' + b"9" * 5000 + b"}", b'{"shared": 1e999}',
        b" " * (2**22 + 1),
    ],
)  # fmt: skip
def test_a_description_that_is_broken(tmp_path: Path, said: bytes | None) -> None:
    (found,) = kernels_of_cache(kept(tmp_path, said))
    assert (found.required_block, found.dynamic_shared_bytes) == (None, None)
    assert "cannot be read" in found.note


@pytest.mark.parametrize(
    "value", [-1, 2**31, 10**30, 1.5, True, None, "4", [4], {"warps": 4}, 0.0, float(2**70)]
)
def test_values_that_nothing_can_have(tmp_path: Path, value: Any) -> None:
    said = json.dumps({"num_warps": value, "shared": value}).encode()
    (found,) = kernels_of_cache(kept(tmp_path, said))
    assert (found.required_block, found.dynamic_shared_bytes) == (None, None)


@pytest.mark.parametrize("warps", [0, 33, 2**31 - 1])
def test_warps_that_no_block_has(tmp_path: Path, warps: int) -> None:
    (found,) = kernels_of_cache(kept(tmp_path, b'{"num_warps": %d, "shared": 0}' % warps))
    assert (found.required_block, found.dynamic_shared_bytes) == (None, 0)


def test_a_broken_image_is_left_out(tmp_path: Path) -> None:
    kept(tmp_path, raw=IMAGE[:100], name="broken")
    kept(tmp_path, raw=b"", name="empty")
    with pytest.raises(UsageError, match="holds no compiled kernel"):
        kernels_of_cache(tmp_path)
    kept(tmp_path)
    assert len(kernels_of_cache(tmp_path)) == 1


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    folder = kept(tmp_path / "a")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    (folder / "loop.cubin").symlink_to("loop.cubin")
    (folder / "up.cubin").symlink_to(tmp_path)
    (folder / "folder.cubin").mkdir()
    assert len(kernels_of_cache(tmp_path)) == 1


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    folder = kept(tmp_path, None)
    os.mkfifo(folder / "k.json")
    os.mkfifo(folder / "pipe.cubin")
    (folder / "zero.cubin").symlink_to("/dev/zero")
    assert [kernel.dynamic_shared_bytes for kernel in kernels_of_cache(tmp_path)] == [None]


def test_folders_that_are_too_deep_are_not_looked_into(tmp_path: Path) -> None:
    kept(tmp_path / "1/2/3/4/5/6")
    kept(tmp_path / "1/2/3/4/5/6/7")
    assert [kernel.source for kernel in kernels_of_cache(tmp_path)] == ["6"]


def test_images_that_are_too_many_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        kept(tmp_path, name=name)
    monkeypatch.setattr(triton_cache, "_MOST_IMAGES", 3)
    assert len(kernels_of_cache(tmp_path)) == 3


def test_many_links_to_one_file_have_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = kept(tmp_path)
    for index in range(10):
        (folder / f"link{index}.cubin").symlink_to("k.cubin")
    assert len(kernels_of_cache(tmp_path)) == 11
    monkeypatch.setattr(triton_cache, "_MOST_BYTES", 4 * len(IMAGE))
    assert len(kernels_of_cache(tmp_path)) == 4
    monkeypatch.setattr(triton_cache, "_MOST_KERNELS", 2)
    assert len(kernels_of_cache(tmp_path)) == 2


@pytest.mark.parametrize("name", ["missing", "a\0b", "n" * 5000])
def test_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        kernels_of_cache(tmp_path / name)


def test_a_folder_without_kernels(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no compiled kernel"):
        kernels_of_cache(tmp_path)


def test_an_image_that_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    whole = (Path(__file__).parents[1] / "data/kernels/cubin/130/plain.sm_86.cubin").read_bytes()
    for name, data in (("a", whole), ("b", whole[:3000])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cubin").write_bytes(data)
    found = contents_of_cache(tmp_path)
    assert len(found.kernels) == 5
    assert found.remarks == [f"left out: {tmp_path / 'b' / 'k.cubin'} is broken: it is cut off"]
