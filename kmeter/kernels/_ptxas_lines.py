"""What a line of ``ptxas -v`` or ``nvlink -v`` says, line by line and without what it belongs to."""

import re
from typing import NamedTuple

from kmeter.kernels._log_lines import ENTRY, FRAME, PROPERTIES, is_cut
from kmeter.kernels._shared_reserve import number


class Entry(NamedTuple):
    """A kernel is compiled; the name is empty where the line is broken."""

    name: str
    architecture: str | None


class Properties(NamedTuple):
    """The numbers that follow are this function's, a kernel's or not."""

    name: str
    linked: bool = False
    target: str | None = None


class Frame(NamedTuple):
    """A function's stack and spills."""

    stack_bytes: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None


class Used(NamedTuple):
    """A kernel's resources, without its name."""

    registers: int | None
    shared_bytes: int | None
    barriers: int | None
    cumulative_stack_bytes: int | None
    stack_bytes: int | None = None
    linked: bool = False
    target: str | None = None
    argument_bytes: int | None = None
    """Of the shared memory: what 1.x keeps for a kernel's arguments."""


class Failed(NamedTuple):
    """A kernel was not compiled: its numbers do not come."""


class Gap(NamedTuple):
    """Lines were left out here."""


Line = Entry | Properties | Frame | Used | Failed | Gap

_INFO = re.compile(r"\b(?:info|ptxas|nvlink)\s*:\s*(?:\([A-Z][0-9]+\)\s*)?$")
_TARGET = re.compile(r"\(target:\s*(\w{1,24})\)\s*$")
_ARCHITECTURE = re.compile(r"'\s*for\s*'(\w{1,24})'?\s*$")
_STACK = re.compile(
    r"(?<![0-9])([0-9]+) bytes stack frame"
    r"(?:,\s*([0-9]+)\s*bytes\s*spill\s*stores(?:,\s*([0-9]+)\s*bytes\s*spill\s*loads)?)?"
)
_USED = re.compile(r"\b([Uu])sed [0-9]+ registers?\b")
_ITEM = re.compile(r"(?:[Uu]sed)?([0-9]+)(?:\+([0-9]+))?([a-z]\S*)")
_FAILED = re.compile(r"\bptxas (?:[^:;]{0,256}; )?(?:error|fatal) *:")
_GAP = re.compile(r"[\[(<\s-]*(?:\.{2,}|…|\. \. \.|snip)[\])>\s-]*")


def line_of(text: str) -> Line | None:
    """What ``text`` says of kernels, None where it says nothing."""
    if ENTRY in text:
        return _entry(text)
    if PROPERTIES in text:
        return _properties(text)
    if FRAME in text:
        return _frame(text)
    match = _USED.search(text)
    if match is not None and _is_said(text[: match.start()]):
        return _used(text[match.start() :], match[1] == "u")
    if _FAILED.search(text) is not None:
        return Failed()
    short = text.strip()
    return Gap() if len(short) < 20 and _GAP.fullmatch(short) else None


def _is_said(before: str) -> bool:
    """Whether a compiler says it: a sentence about a compiler may use the same words."""
    return _INFO.search(before[-64:]) is not None


def _entry(text: str) -> Entry | None:
    before, _, rest = text.partition(ENTRY)
    if not _is_said(before):
        return None
    rest = rest.rstrip()
    architecture = _ARCHITECTURE.search(rest[-64:])
    if architecture:
        return Entry(rest[: len(rest) - len(architecture[0])], architecture[1])
    name, closed, after = rest.rpartition("'")
    return Entry(name if closed and not after.strip() else "", None)


def _properties(text: str) -> Properties | None:
    before, _, rest = text.partition(PROPERTIES)
    if not _is_said(before):
        return None
    target = _TARGET.search(rest[-48:])
    name = _without_project(rest[: rest.rfind("(target:")] if target else rest).strip()
    quoted = name.startswith("'")
    linked = "nvlink" in before[-64:] or (quoted and "ptxas" not in before[-64:])
    if quoted:
        name = name[1:].rpartition("'")[0]
    return Properties(name, linked, target[1] if target else None)


def _without_project(text: str) -> str:
    """MSBuild ends a line with the project it comes from."""
    line = text.rstrip()
    return line[: line.rfind(" [")] if line.endswith("proj]") and " [" in line else line


def _frame(text: str) -> Frame | None:
    match = _STACK.search(text)
    return Frame(number(match[1]), number(match[2]), number(match[3])) if match else None


def _used(text: str, linked: bool) -> Used:
    target = _TARGET.search(text[-48:])
    line = text[: text.rfind("(target:")] if target else _without_project(text)
    items = ["".join(item.split()) for item in line.split(",")]
    amounts = {match[3]: match for match in map(_ITEM.fullmatch, reversed(items)) if match}
    shared = amounts.get("bytessmem")
    return Used(
        registers=_amount(amounts, "registers", "register"),
        shared_bytes=_sum(shared) if shared else None if is_cut(line) else 0,
        barriers=_amount(amounts, "barriers", "barrier"),
        cumulative_stack_bytes=_amount(amounts, "bytescumulativestacksize"),
        stack_bytes=_amount(amounts, "stack", "bytesstack"),
        linked=linked,
        target=target[1] if target else None,
        argument_bytes=number(shared[2]) if shared else None,
    )


def _amount(amounts: dict[str, re.Match[str]], *names: str) -> int | None:
    return next((number(amounts[name][1]) for name in names if name in amounts), None)


def _sum(shared: re.Match[str]) -> int | None:
    """Declared, and what 1.x keeps beside it: a block needs both."""
    declared, kept = number(shared[1]), number(shared[2] or "0")
    return None if declared is None or kept is None else declared + kept
