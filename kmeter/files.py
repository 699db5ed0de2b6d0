"""Files from elsewhere, read as far as one of that kind can go; files of our own, written whole or not at all."""

import os
import re
import sys
import tempfile
from pathlib import Path

from kmeter.errors import UsageError
from kmeter.units import quoted

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,4})")
_STREAMS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}


def read_bounded(path: Path, most_bytes: int, kind: str) -> bytes:
    """The bytes of a file; raises UsageError where it cannot be read or is too large for a ``kind``."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > most_bytes:
        raise UsageError(f"{path} is larger than any {kind}")
    return raw


def write_whole(path: str, text: str) -> None:
    """Write ``text`` to ``path``; a regular file by way of a temporary one beside it.

    A device or pipe is written to as it is, a link is followed; ``-``, ``/dev/stdout`` and
    ``/dev/fd/N`` are what this process has open there. Raises UsageError where it may not be written.
    """
    try:
        descriptor = _descriptor(path)
        if descriptor is not None:
            _write_to_open(descriptor, text)
            return
        target = Path(path).resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, "utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {quoted(path, 200)}: {error.strerror}") from None
    except (RuntimeError, ValueError) as error:  # a loop of links, a NUL in the path
        raise UsageError(f"cannot write {quoted(path, 200)}: {quoted(str(error), 200)}") from None


def _descriptor(path: str) -> int | None:
    found = _DESCRIPTOR.fullmatch(path)
    return int(found[1]) if found else _STREAMS.get(path)


def _write_to_open(descriptor: int, text: str) -> None:
    """Write where the descriptor stands: opening its file anew would begin at 0 and cut it."""
    if sys.stdout is not None:
        sys.stdout.flush()
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as stream:
        stream.write(text)


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
