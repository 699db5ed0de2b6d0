"""``kmeter tui``: what it takes and what it refuses; tests/tui drives the dashboard itself."""

import pytest
from running import Run

from kmeter.cli._address import parse_address
from kmeter.cli._serve import PORT
from kmeter.errors import ExitCode, UsageError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--demo",), "the dashboard needs a terminal"),
        (("--pane", "nothing"), "--pane is one of device"),
        (("--demo", "--replay", "x"), "two sessions"),
        (("--demo", "-d", "0"), "a session reads no GPU"),
        (("-i", "1ms"), "at least 100 ms"),
        (("--serve", "--serve-at", "here:0"), "--serve-at takes HOST:PORT"),
    ],
)
def test_what_makes_no_sense(run_process: Run, arguments: tuple[str, ...], says: str) -> None:
    finished = run_process("tui", *arguments)
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8001", ("127.0.0.1", 8001)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("box", ("box", 8000)),
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("[::1]:8000", ("::1", 8000)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text, "--serve-at", PORT) == address


@pytest.mark.parametrize("text", ["", ":", "box:", "box:99999", "0", "9" * 5000])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text, "--serve-at", PORT)
