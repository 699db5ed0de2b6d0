"""Kernels of whatever a user names: a compiled file, a text, a cache's folder."""

from pathlib import Path

from kmeter.kernels.compiled_file import Contents, contents_of
from kmeter.kernels.triton_cache import contents_of_cache


def kernels_of(path: str | Path, architecture: str | None = None) -> Contents:
    """What a file or folder holds; ``architecture`` is for a text that does not say it.

    Raises UsageError, naming it, where it holds no kernel.
    """
    path = Path(path)
    if _is_folder(path):
        return contents_of_cache(path)
    return contents_of(path, architecture)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (
        OSError,
        ValueError,
    ):  # a name that is too long, or has a NUL in it: read and told there
        return False
