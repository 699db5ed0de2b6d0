"""Every kernel in a file, whatever holds it: an image, fat binaries, PTX, a library, an archive, a text."""

import re
import stat
from pathlib import Path
from typing import NamedTuple

from kmeter.errors import UsageError
from kmeter.files import read_bounded
from kmeter.kernels.cubin import kernels_of_image
from kmeter.kernels.elf_image import MAGIC as ELF_MAGIC
from kmeter.kernels.elf_image import BrokenFileError, ElfImage
from kmeter.kernels.fatbin import ELF, LTO, PTX, BombError, Entry, entries_of, find_magic
from kmeter.kernels.fatbin import MAGIC as FATBIN_MAGIC
from kmeter.kernels.host_file import ARCHIVE, THIN_ARCHIVE, members_of, parts_of_elf
from kmeter.kernels.ptx import is_ptx, kernels_of_ptx
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.units import quoted

_MOST_BYTES = 2**33
_MOST_TEXT_BYTES = 2**27
_MOST_GROWTH, _MOST_INFLATED = 100, 2**28
"""What all entries together may hold once they are not compressed: a multiple of the file, and bytes beside."""
_MOST_KERNELS = 2**20
_MOST_NUMBER = 999
"""Of an architecture."""
_MOST_NESTED = 2
"""Archives within one another."""
_ALIGNMENT = 8
_ERROR = re.compile(r"^[^\n]{0,400}\b(?:error|fatal)\b[^\n]*", re.IGNORECASE | re.MULTILINE)
_LONGEST_COMPLAINT = 120
_SLACK = 2**16
"""Bytes that a file may grow by while it is read."""


class Contents(NamedTuple):
    """What a file holds."""

    kernels: list[CompiledKernel]
    remarks: list[str]
    """What it holds beside them: PTX alone, an intermediate language, an image that is broken."""


def contents_of(path: Path, architecture: str | None = None) -> Contents:
    """The kernels of a file; ``architecture`` is for a text that does not say it.

    Raises UsageError, naming the file, where it cannot be read or is of no known kind.
    """
    try:
        raw = read_bounded(path, _bound_of(path), "file of kernels")
        return contents_of_bytes(raw, architecture)
    except BrokenFileError as error:
        raise UsageError(f"{path} is broken: {error.message}", error.hint) from None
    except UsageError as error:
        if str(path) in error.message:
            raise
        raise UsageError(f"{path}: {error.message}", error.hint) from None


def _bound_of(path: Path) -> int:
    """What may be read of it; raises UsageError for a pipe or device, which may have no end."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {path}: {reason}") from None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{path} is no regular file", "Standard input is read as -")
    if found.st_size > _MOST_BYTES:
        raise UsageError(f"{path} is larger than any file of kernels")
    return min(_MOST_BYTES, found.st_size + _SLACK)


def contents_of_bytes(raw: bytes, architecture: str | None = None) -> Contents:
    """The same of bytes."""
    view = memoryview(raw)
    if raw.startswith(THIN_ARCHIVE):
        raise UsageError("it is a thin archive, which only names its members", "Give the members")
    if raw.startswith((ELF_MAGIC, ARCHIVE, FATBIN_MAGIC)):
        collected = _Collected(len(raw))
        collected.take(view)
        return collected.contents()
    if find_magic(view, 0) >= 0:  # a library of another system
        collected = _Collected(len(raw))
        collected.take_fatbins(view, "")
        return collected.contents()
    return contents_of_text(raw, architecture)


def contents_of_text(raw: bytes, architecture: str | None = None) -> Contents:
    """The kernels that PTX, ``ptxas -v`` or ``cuobjdump --dump-resource-usage`` tell of.

    Raises UsageError where it is none of them.
    """
    from kmeter.kernels.ptxas_log import kernels_of_log
    from kmeter.kernels.resource_usage import is_usage, kernels_of_usage

    if len(raw) > _MOST_TEXT_BYTES:
        raise UsageError("it is larger than any compiler's text")
    text = raw.decode("utf-8-sig", "replace")
    if is_ptx(text):
        return Contents(kernels_of_ptx(text), [])
    read = kernels_of_usage if is_usage(text) else kernels_of_log
    kernels = read(text, architecture)
    if not kernels:
        raise UsageError(
            f"no kernel in it{_complaint(text)}",
            "Known are cubins, fat binaries, host files, PTX and ptxas -v's words",
        )
    return Contents(kernels, [])


def _complaint(text: str) -> str:
    """The first error among a compiler's words, which is why there is no kernel."""
    found = _ERROR.search(text)
    return f", but {quoted(found[0].strip(), _LONGEST_COMPLAINT)}" if found else ""


class _Collected:
    """What was found so far."""

    def __init__(self, file_bytes: int) -> None:
        self.kernels: list[CompiledKernel] = []
        self._remarks: dict[str, int] = {}
        self._ptx: set[str] = set()
        self._inflatable = _MOST_GROWTH * file_bytes + _MOST_INFLATED

    def contents(self) -> Contents:
        """All of it; raises UsageError where there is nothing."""
        if self._ptx and not self.kernels:
            names = ", ".join(sorted(self._ptx))
            self._remark(f"PTX alone ({names}): it has no registers until the driver compiles it")
        if not self.kernels and not self._remarks:
            raise UsageError("it holds no kernel for a GPU")
        remarks = [
            text if often == 1 else f"{text} ({often} times)"
            for text, often in self._remarks.items()
        ]
        return Contents(self.kernels, remarks)

    def _remark(self, text: str) -> None:
        self._remarks[text] = self._remarks.get(text, 0) + 1

    def take(self, data: memoryview, name: str = "", depth: int = 0) -> None:
        """An image, a host file, an archive or fat binaries."""
        if data[:8] == ARCHIVE:
            if depth == _MOST_NESTED:
                raise BrokenFileError("it has archives within archives")
            for member in members_of(data):
                self.take(member.data, member.name, depth + 1)
        elif data[:4] != ELF_MAGIC:
            self.take_fatbins(data, name)
        elif ElfImage(data).is_cuda:
            self._take_images(data, "", name)
        else:
            for part in parts_of_elf(data, name):
                self.take_fatbins(part.data, part.name)

    def take_fatbins(self, data: memoryview, name: str) -> None:
        """Every entry of every fat binary in the bytes."""
        for entry in entries_of(data):
            if entry.kind in {PTX, ELF, LTO} and entry.number > _MOST_NUMBER:
                raise BrokenFileError("an entry of a fat binary is for no architecture")
            if entry.kind == PTX:
                self._ptx.add(entry.architecture)
            elif entry.kind == LTO:
                self._remark(
                    f"code for linking alone ({entry.architecture}): it is not compiled yet"
                )
            elif entry.kind == ELF:
                self._take_images(self._inflated(entry), entry.suffix, name)

    def _inflated(self, entry: Entry) -> memoryview:
        """As it was before it was compressed; raises BombError where all that was so is too much."""
        if entry.is_compressed:
            self._inflatable -= entry.raw_bytes
        if self._inflatable < 0:
            raise BombError("its fat binaries say that they hold more than any such file does")
        return memoryview(entry.data())

    def _take_images(self, data: memoryview, suffix: str, name: str) -> None:
        """One image, or several of them one after another."""
        if data[:4] != ELF_MAGIC:
            self._remark("an image that is broken: it is no ELF image")
        while data[:4] == ELF_MAGIC:
            image = ElfImage(data)
            found = kernels_of_image(image, suffix)
            self.kernels += [kernel._replace(source=name) for kernel in found] if name else found
            if len(self.kernels) > _MOST_KERNELS:
                raise BrokenFileError("it has too many kernels")
            data = data[-(-image.end // _ALIGNMENT) * _ALIGNMENT :]


__all__ = ["BrokenFileError", "Contents", "contents_of", "contents_of_bytes", "contents_of_text"]
