"""The ``kmeter`` command: its subcommands, and where errors become a line and an exit code."""

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._click.exceptions import ClickException

from kmeter import __version__
from kmeter.errors import ExitCode, KmeterError, UsageError
from kmeter.units import ascii_only, printable

# Each is the function, or Typer, of that name in kmeter/cli/NAME.py; `kmeter --help` keeps this order.
COMMANDS = (
    "info", "devices", "doctor", "occupancy", "roofline", "ceiling", "bench", "top", "tui", "gpus",
    "compare", "fleet",
)  # fmt: skip


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kmeter {__version__}")
        raise typer.Exit


def kmeter(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Is my CUDA kernel good, what holds it back, did my last change help?"""
    if context.invoked_subcommand is None:
        print(context.get_help())


def application(arguments: list[str]) -> typer.Typer:
    """The command line as far as ``arguments`` need it.

    Where they name a command, that one alone is imported and has its options read: every other
    would cost its start some milliseconds. Help, completion and a wrong name get them all.
    """
    app = typer.Typer(
        name="kmeter",
        help=kmeter.__doc__,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(kmeter)
    named = arguments[0] if arguments else ""
    for command in (named,) if named in COMMANDS else COMMANDS:
        _add(app, command, getattr(import_module(f"kmeter.cli.{command}"), command))
    return app


def _add(app: typer.Typer, name: str, found: Any) -> None:
    """A command, or one with commands of its own."""
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name)
    else:
        app.command()(found)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code. An error is one line on stderr."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except KmeterError as error:
        return _fail(str(error), error.exit_code)
    except ClickException as error:
        return _fail(" ".join(error.format_message().split()), ExitCode.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        _discard_stdout()
        return ExitCode.OK
    except OSError as error:
        _discard_stdout()
        return _fail(f"cannot read or write: {error.strerror or error}", ExitCode.USAGE)


def _run(arguments: list[str]) -> int:
    if sys.stdout is None:
        raise UsageError("stdout is closed")
    try:
        app = application(arguments)
        code = int(app(arguments, prog_name="kmeter", standalone_mode=False) or ExitCode.OK)
        if code == ExitCode.INTERRUPTED:  # Typer makes a code of a Ctrl-C
            raise KeyboardInterrupt
        return code
    finally:
        sys.stdout.flush()  # while its errors can still become a line


def _discard_stdout() -> None:
    """Nobody reads on. Python flushes stdout once more at exit: give it a place."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: ExitCode) -> int:
    if os.environ.get("KMETER_DEBUG"):
        raise  # noqa: PLE0704 - only called while an exception is handled
    if sys.stderr is None:
        return code
    encoding = sys.stderr.encoding or "ascii"
    line = f"kmeter: {printable(message)}"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = ascii_only(line)
    print(line, file=sys.stderr)
    return code
