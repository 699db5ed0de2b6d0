"""The ``kmeter`` command: its subcommands, and where errors become a line and an exit code."""

import os
import sys
from typing import Annotated

import typer
from typer._click.exceptions import ClickException

from kmeter import __version__
from kmeter.cli.compare import compare
from kmeter.cli.devices import devices
from kmeter.cli.doctor import doctor
from kmeter.cli.gpus import gpus
from kmeter.cli.info import info
from kmeter.cli.occupancy import occupancy
from kmeter.cli.roofline import roofline
from kmeter.errors import ExitCode, KmeterError
from kmeter.units import ascii_only

app = typer.Typer(
    name="kmeter",
    help="Is my CUDA kernel good, what holds it back, did my last change help?",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (info, devices, doctor, occupancy, roofline, gpus, compare):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"kmeter {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def kmeter(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Is my CUDA kernel good, what holds it back, did my last change help?"""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code. An error is one line on stderr."""
    try:
        return int(app(argv, prog_name="kmeter", standalone_mode=False) or ExitCode.OK)
    except KmeterError as error:
        return _fail(str(error), error.exit_code)
    except ClickException as error:
        return _fail(" ".join(error.format_message().split()), ExitCode.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough. Python flushes stdout once more at exit: give it a place.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK


def _fail(message: str, code: ExitCode) -> int:
    if os.environ.get("KMETER_DEBUG"):
        raise  # noqa: PLE0704 - only called while an exception is handled
    encoding = sys.stderr.encoding or "ascii"
    line = f"kmeter: {message}"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = ascii_only(line)
    print(line, file=sys.stderr)
    return code
