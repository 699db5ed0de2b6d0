"""Files from elsewhere: read as far as a file of that kind can go."""

from pathlib import Path

from kmeter.errors import UsageError


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
