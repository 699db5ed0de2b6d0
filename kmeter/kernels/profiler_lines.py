"""Lines of a profiler's text, and rows of the CSV among them.

A profiled program writes into the same stream: lines of any kind stand before, between and after
the rows, in any encoding. Lines are read one by one, so that memory does not grow with the file.
"""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from kmeter.errors import UsageError

LARGEST_BYTES = 256 * 2**20
"""Of a profiler's text."""
MOST_LAUNCHES = 2**19
"""Of a table."""
_LONGEST_ROW = 4 * 2**20
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


class Row(NamedTuple):
    """A row of a table."""

    line: int
    """Where it begins, from 1."""
    fields: list[str]
    at_end: bool
    """The last of the file, without the line's end: it may be cut."""

    def field(self, column: int | None) -> str:
        """The text in a column, without spaces around it; empty where the row is shorter."""
        if column is None or column >= len(self.fields):
            return ""
        return self.fields[column].strip()


class Lines(Iterator[str]):
    """The lines of a text in order, each with its end; ``number`` is that of the latest."""

    def __init__(self, raw: bytes, name: str) -> None:
        if len(raw) > LARGEST_BYTES:
            raise UsageError(f"{name} is larger than any profiler's text")
        self.name = name
        self.number = 0
        self._stream = io.BytesIO(_as_utf8(raw))

    def __next__(self) -> str:
        raw = self._stream.readline()
        if not raw:
            raise StopIteration
        self.number += 1
        return _decoded(raw)

    def row(self, first: str, delimiter: str) -> Row:
        """The row that begins with the line ``first``; further lines where a quoted field has them.

        Raises UsageError for a row that never ends.
        """
        start, read = self.number, _Read()
        try:
            fields = next(csv.reader(self._from(first, read), delimiter=delimiter))
        except (csv.Error, StopIteration):
            raise self._cut(start) from None
        if read.quotes % 2 and not self._more():
            raise self._cut(start)
        return Row(start, fields, at_end=not read.ended)

    def _from(self, first: str, read: "_Read") -> Iterator[str]:
        line: str | None = first
        while line is not None:
            read.count(line)
            if read.length > _LONGEST_ROW:
                raise csv.Error
            yield line
            line = next(self, None)

    def _more(self) -> bool:
        return self._stream.tell() < len(self._stream.getbuffer())

    def _cut(self, line: int) -> UsageError:
        return UsageError(f"{self.name}:{line}: the row does not end: the file is cut or damaged")


class _Read:
    """What a row's lines had in them."""

    def __init__(self) -> None:
        self.quotes = self.length = 0
        self.ended = False

    def count(self, line: str) -> None:
        self.quotes += line.count('"')
        self.length += len(line)
        self.ended = line.endswith("\n")


def row_in(line: str, delimiter: str) -> list[str]:
    """The fields of a line alone; none of one that is no CSV, or too long for a header."""
    if len(line) > _LONGEST_ROW:
        return []
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def printable(text: str) -> str:
    """A name without what would move a cursor or end a line."""
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text.strip()


def _as_utf8(raw: bytes) -> bytes:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            rest = raw.removeprefix(mark)
            return rest if encoding == "utf-8" else _recoded(rest, encoding)
    return _recoded(raw, "utf-16-le") if raw[1:2] == raw[3:4] == b"\0" else raw


def _recoded(raw: bytes, encoding: str) -> bytes:
    return raw.decode(encoding, "replace").encode("utf-8", "replace")


def _decoded(line: bytes) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    text = text.removeprefix("\ufeff")
    return text[:-2] + "\n" if text.endswith("\r\n") else text
