"""The dashboard in a real terminal: how it begins and ends, and what it leaves behind."""

import os
import re
import signal
import sys
from pathlib import Path

import fakes
import pytest
from fakes import FakeGpu
from terminal import Terminal

from kmeter.errors import ExitCode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

COLOUR = re.compile(rb"\x1b\[[0-9;:]*?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m")
F3 = "\x1bOR"
MOUSE_OFF, SCREEN_OFF = b"\x1b[?1000l", b"\x1b[?1049l"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


def machine(
    tmp_path: Path, libraries: Path, gpus: list[FakeGpu], nvml_lines: tuple[str, ...] = ()
) -> dict[str, str]:
    return fakes.environment(tmp_path, libraries, gpus, nvml_lines=nvml_lines)


def test_the_demo_plays_and_q_ends_it(home: dict[str, str]) -> None:
    with Terminal("tui", "--demo", "--speed", "60", environment=home) as terminal:
        terminal.wait_for("NVIDIA H200")
        terminal.wait_for("over 2:02/2:02")
        terminal.send("q")
        assert terminal.ended() == 0
        assert MOUSE_OFF in terminal.raw
        assert SCREEN_OFF in terminal.raw


def test_ctrl_c_ends_it_from_within_a_field(home: dict[str, str]) -> None:
    with Terminal("tui", "--demo", "--pane", "occupancy", environment=home) as terminal:
        terminal.wait_for("100 % occupancy")
        terminal.send("\x03")
        assert terminal.ended() == 0
        assert MOUSE_OFF in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_usable(home: dict[str, str], number: int) -> None:
    with Terminal("tui", "--demo", environment=home) as terminal:
        terminal.wait_for("held back")
        os.kill(terminal.pid, number)
        assert terminal.ended() == 128 + number
        assert MOUSE_OFF in terminal.raw
        assert SCREEN_OFF in terminal.raw


def test_no_colour_codes_at_all(home: dict[str, str]) -> None:
    with Terminal("tui", "--demo", environment={**home, "NO_COLOR": "1"}) as terminal:
        terminal.wait_for("held back")
        terminal.send("2")
        terminal.wait_for("occupancy:")
        terminal.send(F3)
        terminal.wait_for("ridge")
        terminal.send("q")
        terminal.ended()
        assert not COLOUR.findall(terminal.raw)


def test_ascii_alone_reaches_the_terminal(home: dict[str, str]) -> None:
    with Terminal("tui", "--demo", "--ascii", environment=home) as terminal:
        terminal.wait_for("held back")
        terminal.send("3")
        terminal.wait_for("ridge")
        terminal.send("q")
        terminal.ended()
        assert terminal.raw.isascii()


def test_a_locale_that_knows_no_more_gets_ascii(home: dict[str, str]) -> None:
    plain = {**home, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    with Terminal("tui", "--demo", environment=plain) as terminal:
        terminal.wait_for("held back")
        terminal.send("q")
        assert terminal.ended() == 0


def test_top_watches_the_gpus_of_a_machine(
    home: dict[str, str], tmp_path: Path, libraries: Path
) -> None:
    gpus = [FakeGpu(number=1, name="NVIDIA H200"), FakeGpu(number=2, name="NVIDIA H200")]
    told = machine(tmp_path, libraries, gpus)
    kept = tmp_path / "session.jsonl"
    with Terminal(
        "top", "-i", "200ms", "--record", str(kept), environment={**home, **told}, size=(120, 40)
    ) as terminal:
        terminal.wait_for("GPU 0 of 2: NVIDIA H200")
        terminal.send("g")
        terminal.wait_for("GPU 1 of 2")
        terminal.send("1")
        terminal.wait_for("compute capability")
        terminal.send("q")
        assert terminal.ended() == 0
    assert len(kept.read_bytes().splitlines()) >= 2


def test_a_hung_nvml_still_paints(home: dict[str, str], tmp_path: Path, libraries: Path) -> None:
    told = machine(tmp_path, libraries, [FakeGpu()], nvml_lines=("slow 60000",))
    with Terminal("top", environment={**home, **told}) as terminal:
        terminal.wait_for("waiting for the first reading")
        terminal.wait_for("no reading for")
        terminal.send("q")
        assert terminal.ended() == 0


def test_top_without_a_gpu_says_so(home: dict[str, str], tmp_path: Path, libraries: Path) -> None:
    with Terminal("top", environment={**home, **machine(tmp_path, libraries, [])}) as terminal:
        assert terminal.ended() == ExitCode.NO_GPU
        assert "--replayFILE" in "".join(terminal.text().split())
        assert SCREEN_OFF in terminal.raw


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("-d", "7"), "7"), (("--record", "/nowhere/at/all"), "cannotwrite")],
)
def test_what_cannot_be_is_a_line(
    home: dict[str, str], tmp_path: Path, libraries: Path,
    arguments: tuple[str, ...], says: str,
) -> None:  # fmt: skip
    told = machine(tmp_path, libraries, [FakeGpu()])
    with Terminal("top", *arguments, environment={**home, **told}) as terminal:
        assert terminal.ended() == ExitCode.USAGE
        assert says in "".join(terminal.text().split())


def test_the_dashboard_without_a_gpu_has_the_rest(
    home: dict[str, str], tmp_path: Path, libraries: Path
) -> None:
    told = machine(tmp_path, libraries, [])
    with Terminal("tui", "--pane", "occupancy", environment={**home, **told}) as terminal:
        terminal.wait_for("100 % occupancy")
        terminal.send(F3)
        terminal.wait_for("no roofline")
        terminal.send("q")
        assert terminal.ended() == 0


def test_a_gpu_is_lost_while_it_is_watched(
    home: dict[str, str], tmp_path: Path, libraries: Path
) -> None:
    gpus = [FakeGpu(number=1, name="NVIDIA H200"), FakeGpu(number=2, lost_after=120)]
    told = machine(tmp_path, libraries, gpus)
    with Terminal("top", "-i", "100ms", environment={**home, **told}, size=(120, 40)) as terminal:
        terminal.wait_for("GPU 0 of 2")
        terminal.wait_for("GPU lost")
        terminal.send("q")
        assert terminal.ended() == 0


def test_settings_that_cannot_be_kept_are_told_at_the_end(home: dict[str, str]) -> None:
    with Terminal("tui", "--demo", environment=home | {"XDG_CONFIG_HOME": "/dev/null"}) as terminal:
        terminal.wait_for("held back")
        terminal.send("q")
        assert terminal.ended() == 0
        assert "settingsarenotkept" in "".join(terminal.text().split())


def test_what_a_file_prints_stays_off_the_screen(home: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(
        "import os, sys, kmeter\n"
        "print('LOUD WORDS')\n"
        "os.write(1, b'RAW\\x1b[2J\\xff\\n')\n"
        "print('COMPLAINT', file=sys.stderr)\n"
        "@kmeter.benchmark(args=lambda: ())\n"
        "def quiet(): print('AND MORE')\n"
    )
    with Terminal("tui", "--demo", "--pane", "bench", environment=home) as terminal:
        terminal.wait_for("name a file")
        terminal.send(f"{file}\r")
        terminal.wait_for("1 of 1 rows")
        terminal.send("q")
        assert terminal.ended() == 0
        for words in (b"LOUD WORDS", b"RAW", b"COMPLAINT", b"AND MORE"):
            assert words not in terminal.raw
