"""A build's output as lines that can be read: without colours, and whole where a terminal broke them."""

import re
from collections.abc import Iterator

ENTRY = "Compiling entry function '"
PROPERTIES = "Function properties for"
FRAME = "bytes stack frame"

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_MESSAGE = re.compile(r"(?=(?:ptxas|nvlink) (?:info|warning|error|fatal))")
_ENTRY_WITHOUT_END = re.compile(r"'\s*(?:f|fo|for|for\s*'\w*)\s*$")
_USED = re.compile(r"\b[Uu]sed [0-9]+ registers")
_ITEM = re.compile(r"(?:used)?[0-9]*\+?[0-9]*(.*)")
_BEFORE_SHARED = (
    "registers",
    "barriers",
    "stack",
    "bytescumulativestacksize",
    "byteslmem",
    "bytessmem",
)
"""Items of a line of numbers, without spaces, up to shared memory's."""
_MOST_PIECES = 64
"""Lines that one line was broken into."""
_LONGEST_PIECE = 512


def readable_lines(text: str) -> list[str]:
    """The lines of ``text``, one message each."""
    plain = _COLOUR.sub("", text.lstrip("\ufeff"))
    lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return list(_joined([message for line in lines for message in _messages(line)]))


def _messages(line: str) -> list[str]:
    """Where processes wrote into one line, each one's message; what stands before stays with the first."""
    parts = _MESSAGE.split(line)
    return [parts[0] + parts[1], *parts[2:]] if len(parts) > 1 and _is_prefix(parts[0]) else parts


def _is_prefix(part: str) -> bool:
    return FRAME not in part and "registers" not in part


def _joined(lines: list[str]) -> Iterator[str]:
    entry_name = ""
    at = 0
    while at < len(lines):
        whole, at = _whole(lines, at, entry_name)
        if ENTRY in whole:
            entry_name = whole.partition(ENTRY)[2].partition("'")[0]
        yield whole


def _whole(lines: list[str], at: int, entry_name: str) -> tuple[str, int]:
    """The line at ``at`` with the pieces that follow it, and where the next one is."""
    whole = lines[at]
    for following in range(at + 1, min(at + _MOST_PIECES, len(lines))):
        piece = lines[following]
        if not _can_continue(piece) or not _is_broken(whole, piece, entry_name):
            return whole, following
        whole = f"{whole.rstrip()}{piece.strip()}"
    return whole, min(at + _MOST_PIECES, len(lines))


def _can_continue(piece: str) -> bool:
    """A piece of a broken line is no message of its own."""
    if len(piece) > _LONGEST_PIECE or FRAME in piece:
        return False
    words = piece.replace(":", " ").split()
    return bool(words) and not {"info", "warning", "error", "...", "…", "[...]"} & set(words[:8])


def _is_broken(whole: str, piece: str, entry_name: str) -> bool:
    if "nvlink" in whole and ("properties" in whole or _USED.search(whole)):
        return piece.rstrip().endswith(")") and not whole.rstrip().endswith(")")
    if ENTRY in whole:
        return _is_broken_entry(whole.partition(ENTRY)[2], piece)
    if PROPERTIES in whole:
        return _is_broken_name(whole.partition(PROPERTIES)[2].strip(), piece.strip(), entry_name)
    if FRAME in whole:
        return "spill loads" not in whole and "spill" in f"{whole[-16:]} {piece[:64]}"
    if _USED.search(whole) is None:
        return False
    return piece.lstrip().startswith(",") or is_cut(whole)


def is_cut(numbers: str) -> bool:
    """Whether a line of numbers ends within an item, with which shared memory's may be lost."""
    item = "".join(numbers[numbers.rfind(",") + 1 :].split()).lower()
    match = _ITEM.fullmatch(item)
    kind = match[1] if match else item
    return any(whole.startswith(kind) and whole != kind for whole in _BEFORE_SHARED)


def _is_broken_entry(rest: str, piece: str) -> bool:
    if "'" not in rest:
        return len(piece.split()) == 1 or "'" in piece
    return _ENTRY_WITHOUT_END.search(rest[-64:]) is not None or (
        rest.rstrip().endswith("'") and piece.lstrip().startswith("for")
    )


def _is_broken_name(name: str, piece: str, entry_name: str) -> bool:
    """Whether the name goes on: it is told by the entry's, which was named just before."""
    if not name:
        return True
    return len(name) < len(entry_name) and entry_name.startswith(name + piece)
