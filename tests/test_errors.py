"""An error is one line that names the way out, and knows its exit code."""

import pytest

from kmeter import errors
from kmeter.errors import ExitCode, KmeterError


def test_message_and_hint_make_one_line() -> None:
    assert str(KmeterError("no such card", "Try h100-sxm")) == "no such card. Try h100-sxm"
    assert str(KmeterError("no such card")) == "no such card"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError, ExitCode.USAGE),
        (errors.UnknownTargetError, ExitCode.USAGE),
        (errors.UnknownArchitectureError, ExitCode.USAGE),
        (errors.InvalidLaunchError, ExitCode.USAGE),
        (errors.NoGpuError, ExitCode.NO_GPU),
    ],
)
def test_exit_code(error: type[KmeterError], code: ExitCode) -> None:
    assert error("it went wrong").exit_code == code


def test_exit_codes_are_the_documented_ones() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0, "GATE_FAILED": 1, "USAGE": 2, "NO_GPU": 3, "CANNOT_TELL": 4, "INTERRUPTED": 130,
    }  # fmt: skip
