"""Files that commands write: whole, through links, and never in place of a device."""

import os
from pathlib import Path

import pytest

from kmeter.cli.files import write_whole
from kmeter.errors import UsageError


def test_an_old_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    path.write_text("old and longer than the new")
    write_whole(str(path), "new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.svg"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(str(link), "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(str(pipe), "text")
    assert os.read(reader, 100) == b"text"
    assert pipe.is_fifo()
    os.close(reader)


@pytest.mark.parametrize("path", ["/no/such/folder/x", "/proc/x", "."])
def test_what_cannot_be_written_says_so(path: str) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(path, "text")


def test_a_full_device_says_so(tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full here")
    with pytest.raises(UsageError, match="No space left"):
        write_whole("/dev/full", "text")
    assert Path("/dev/full").is_char_device()
