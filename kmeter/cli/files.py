"""Files that a command writes: whole or not at all."""

import os
import tempfile
from pathlib import Path

from kmeter.errors import UsageError


def write_whole(path: str, text: str) -> None:
    """Write ``text`` to ``path``; a regular file by way of a temporary one beside it.

    A device or pipe is written to as it is, a link is followed. Raises UsageError where the folder
    is missing or may not be written.
    """
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, "utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
