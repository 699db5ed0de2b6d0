"""A user's file: run as a module, and its errors told by the line in it that they come from."""

import importlib.util
import sys
import traceback
from pathlib import Path

from kmeter.bench.cases import printable
from kmeter.bench.registry import REGISTRY, Benchmark
from kmeter.errors import KmeterError, UsageError

_OF_KERNELMETER = "Its import becomes: import kmeter as km"


_loaded: list[str] = []
"""Modules that were made of files: two may have the same name."""


class UserFileError(UsageError):
    """The file cannot be run, told in one line that names the place in it."""


def load(path: Path) -> list[Benchmark]:
    """The benchmarks that a file declares, in order; raises UserFileError where it cannot be run."""
    if not _is_file(path):
        raise UsageError(f"there is no file {path}", "kmeter bench --init FILE writes a first one")
    REGISTRY.clear()
    name = f"kmeter_file_{path.stem}_{len(_loaded)}"
    _loaded.append(name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Triton, dataclasses and pickle look a function's module up
    sys.path.insert(0, str(path.resolve().parent))
    sys.argv = [str(path)]
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # a KeyboardInterrupt, too: Ctrl-C reaches the parent alone
        raise UserFileError(told(error, path)) from error
    if not REGISTRY:
        raise UsageError(
            f"{path} declares no benchmark", "Decorate a function with @kmeter.benchmark(args=...)"
        )
    return list(REGISTRY)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long
        return False


def told(error: BaseException, path: Path) -> str:
    """An error of the user's code in one line: ``bench.py:12: NameError: name 'x' is not …``."""
    where = place_of(error, path)
    if isinstance(error, ModuleNotFoundError):
        way_out = f". {_OF_KERNELMETER}" if error.name == "kernelmeter" else ""
        return f"{where}: it needs {error.name}, which is not installed here{way_out}"
    if isinstance(error, SystemExit):
        return f"{where}: it called sys.exit({'' if error.code is None else repr(error.code)})"
    if isinstance(error, KmeterError):
        return f"{where}: {error}"
    words = next((line.strip() for line in _text_of(error).splitlines() if line.strip()), "")
    words = printable(words)
    return f"{where}: {type(error).__name__}" + (f": {words[:300]}" if words else "")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the user's own exception, whose words raise another
        return ""


def place_of(error: BaseException, path: Path) -> str:
    """The line of the user's file that an error comes from: the innermost one in it."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_same(frame.filename, path)]
    return f"{path}:{own[-1].lineno}" if own else str(path)


def _is_same(filename: str, path: Path) -> bool:
    return filename == str(path) or Path(filename) == path.resolve()
