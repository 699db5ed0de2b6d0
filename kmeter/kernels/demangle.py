"""C++ names as they were written, by the host's own C++ library where it has one."""

import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

_MANGLED = re.compile(r"_Z[!-~]+")
_REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9]*_")
_FEW_REFERENCES, _SHORT = 20, 1000
"""What a name may repeat of itself before it could grow without bounds: two references may double it."""
_EXPANSION = re.compile(r"Dp|sp")
"""Of a pack, for each member of which what follows is repeated: one within another is a power."""
_MOST_NAME, _MOST_LETTERS = 2**16, 2**25
"""Letters of one name, and of all that are spelled at once."""
_LIMITS = (2**28, 3)
"""Bytes and seconds of a process that reads other names."""


def demangled(names: Iterable[str]) -> dict[str, str]:
    """By its linker's name, each name as C++ spells it; one that is no C++ name stays what it is.

    Names that repeat much of themselves are read by a process with bounds on its memory and time:
    a hostile one would take all there is.
    """
    wanted = [name for name in dict.fromkeys(names) if _MANGLED.fullmatch(name)]
    plain = [name for name in wanted if _is_plain(name)]
    found = dict(zip(plain, _spelled_within(plain), strict=True))
    return found | _spelled_elsewhere([name for name in wanted if not _is_plain(name)])


def _is_plain(name: str) -> bool:
    return (
        len(name) <= _SHORT
        and len(_REFERENCE.findall(name)) <= _FEW_REFERENCES
        and len(_EXPANSION.findall(name)) <= 1
    )


def _spelled_within(names: Iterable[str]) -> Iterator[str]:
    """Each name as C++ spells it; one that becomes too long stays, and so do all after too many letters."""
    letters = 0
    for name in names:
        text = _spelled(name) if letters < _MOST_LETTERS else name
        letters += len(text)
        yield text if len(text) <= _MOST_NAME else name


@lru_cache(maxsize=1)
def _library() -> Any:
    for name in ("libstdc++.so.6", "libc++abi.dylib", "libc++abi.so.1"):
        try:
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
        except (OSError, AttributeError):
            continue
        return library
    return None


def _spelled(name: str) -> str:
    library = _library()
    if library is None:
        return name
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode("utf-8", "replace") if status.value == 0 else name
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))


def _spelled_elsewhere(names: Sequence[str]) -> dict[str, str]:
    """The names that a process of its own could read in time; the others as they are.

    It imports nothing but the standard library, and nothing from the folder it is started in.
    """
    fitting = [name for name in names if len(name) <= _MOST_NAME]
    if not fitting or _library() is None:
        return {}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", __file__],
            input=json.dumps(fitting).encode(),
            capture_output=True,
            timeout=3 * _LIMITS[1],
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return dict(zip(fitting, map(str, lines), strict=False))


def _serve() -> None:
    """Names in, a line for each out."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_LIMITS[0], _LIMITS[0]))
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMITS[1], _LIMITS[1]))
    except (ImportError, ValueError, OSError):
        return
    for text in _spelled_within(json.loads(sys.stdin.buffer.read())):
        sys.stdout.write(json.dumps(text) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
