"""Folders that Triton and torch.inductor keep compiled kernels in: an image, and JSON of how it is launched."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.kernels.compiled_file import Contents, contents_of
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.launch import WARP_SIZE

_MOST_JSON_BYTES = 2**22
_MOST_WARPS = 32
_MOST_DEPTH = 6
_MOST_IMAGES, _MOST_BYTES, _MOST_KERNELS = 200_000, 2**34, 2**20
"""Of a whole cache; what is older is left out."""


def kernels_of_cache(folder: Path) -> list[CompiledKernel]:
    """Every kernel in a cache, the newest first; raises UsageError where the folder has none."""
    return contents_of_cache(folder).kernels


def contents_of_cache(folder: Path) -> Contents:
    """The same, with a remark on images that cannot be read at all; raises UsageError."""
    images = sorted(islice(_images(folder, 0), _MOST_IMAGES), key=_age)
    unread: list[str] = []
    every = (kernel for image in _affordable(images) for kernel in _kernels(image, unread))
    found = list(islice(every, _MOST_KERNELS))
    if not found:
        raise UsageError(
            f"{folder} holds no compiled kernel", "A Triton cache has .cubin files in it"
        )
    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
    return Contents(found, [f"left out: {unread[0]}{more}"] if unread else [])


def _images(folder: Path, depth: int) -> Iterator[Path]:
    """Files of images below a folder; links to folders are not followed."""
    try:
        with os.scandir(folder) as opened:
            entries = sorted(opened, key=lambda entry: entry.name)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {folder}: {reason}") from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth < _MOST_DEPTH:
                yield from _images(Path(entry.path), depth + 1)
        elif entry.name.endswith(".cubin"):
            yield Path(entry.path)


def _age(image: Path) -> tuple[float, str]:
    """The newest first, those of one moment by their names."""
    try:
        return -image.stat().st_mtime, str(image)
    except OSError:
        return 0.0, str(image)


def _affordable(images: Iterable[Path]) -> Iterator[Path]:
    """The first ones: many links may lead to one large file."""
    left = _MOST_BYTES
    for image in images:
        with suppress(OSError):
            size = image.stat().st_size
            if size <= left:
                left -= size
                yield image


def _kernels(image: Path, unread: list[str]) -> list[CompiledKernel]:
    try:
        kernels = contents_of(image).kernels
    except UsageError as error:
        unread.append(error.message)
        return []
    said = _said(image.with_suffix(".json"))
    return [_launched(kernel, said, image) for kernel in kernels]


def _said(path: Path) -> dict[str, Any]:
    """Triton's own words on a kernel; nothing where they cannot be read."""
    if not path.is_file():  # a pipe would be waited for
        return {}
    try:
        said = msgspec.json.decode(read_bounded(path, _MOST_JSON_BYTES, "kernel's description"))
    except (UsageError, msgspec.DecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _launched(kernel: CompiledKernel, said: dict[str, Any], image: Path) -> CompiledKernel:
    """The kernel with the block and the shared memory that Triton launches it with."""
    warps, shared = _count(said.get("num_warps")), _count(said.get("shared"))
    block = kernel.required_block
    if block is None and warps is not None and 0 < warps <= _MOST_WARPS:
        block = (warps * WARP_SIZE, 1, 1)
    note = "" if shared is not None else "Triton's file on its shared memory cannot be read"
    return kernel._replace(
        required_block=block,
        dynamic_shared_bytes=shared,
        said_by="Triton",
        note=kernel.note or note,
        source=image.parent.name,
    )


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if is_count else None
