"""Kernels of whatever a user names: a compiled file, a text, a cache's folder."""

from pathlib import Path

from kmeter.kernels.compiled_file import Contents, contents_of
from kmeter.kernels.triton_cache import kernels_of_cache


def kernels_of(path: Path, architecture: str | None = None) -> Contents:
    """What a file or folder holds; ``architecture`` is for a text that does not say it.

    Raises UsageError, naming it, where it holds no kernel.
    """
    if path.is_dir():
        return Contents(kernels_of_cache(path), [])
    return contents_of(path, architecture)
