"""Errors that know what to tell the user and which exit code they end a command with."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means; the same for every command."""

    OK = 0
    GATE_FAILED = 1
    USAGE = 2
    NO_GPU = 3
    CANNOT_TELL = 4
    INTERRUPTED = 130


class KmeterError(Exception):
    """One line for the user: what is wrong, and the way out."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class UsageError(KmeterError):
    """An option, a size or a file that cannot be what was meant."""


class UnknownTargetError(UsageError):
    """A device name that no source knows, or that several devices share."""


class UnknownArchitectureError(UsageError):
    """A compute capability without a row in the table."""


class InvalidLaunchError(UsageError):
    """A launch that means nothing: no threads, a negative size, a carve-out above 100 %."""


class GateFailedError(KmeterError):
    """A result that misses what an option demands of it."""

    exit_code = ExitCode.GATE_FAILED


class CannotTellError(KmeterError):
    """Nobody can tell, and ``--strict`` wants to know."""

    exit_code = ExitCode.CANNOT_TELL


class NoGpuError(KmeterError):
    """A GPU or its driver is needed and there is none."""

    exit_code = ExitCode.NO_GPU


def first_line_of(error: Exception) -> str:
    """What a library's error begins with, or its type where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def words_of(error: Exception) -> str:
    """Any error as a line: kmeter's own says what is wrong, another's type says half of it."""
    return str(error) if isinstance(error, KmeterError) else f"{type(error).__name__}: {error}"
