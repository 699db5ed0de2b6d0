"""Files that commands write: whole, through links, and never in place of a device."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from running import MODULE

from kmeter.errors import UsageError
from kmeter.files import write_whole


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


def test_the_mode_of_an_old_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(str(path), "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_loop_of_links_says_so(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(str(loop), "text")


ROOFLINE = [sys.executable, "-c", MODULE, "roofline", "-d", "rtx-4090", "--ai", "1"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_stdout_that_is_a_file_keeps_what_it_has(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text("precious\n")
    with log.open("a") as stream:
        subprocess.run([*ROOFLINE, "--csv", name], stdout=stream, check=True)
    text = log.read_text()
    assert text.startswith("precious\nname,arithmetic_intensity")
    assert "memory-bound" in text


def test_stdout_that_is_a_pipe_is_written_to() -> None:
    command = [*ROOFLINE, "--svg", "/dev/stdout"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.startswith(b"<svg")


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", [["gpus", "--json"], ["--version"], ROOFLINE[3:]])
def test_a_stdout_that_takes_nothing_is_one_line(redirection: str, command: list[str]) -> None:
    call = shlex.join([sys.executable, "-c", MODULE, *command])
    done = subprocess.run(
        ["sh", "-c", f"{call} {redirection}"], stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


def test_a_full_device_says_so(tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full here")
    with pytest.raises(UsageError, match="No space left"):
        write_whole("/dev/full", "text")
    assert Path("/dev/full").is_char_device()
