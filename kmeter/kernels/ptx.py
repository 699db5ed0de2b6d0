"""PTX: entry points with their bounds and shared memory. Registers are given only when it is compiled."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod

from kmeter.errors import UsageError
from kmeter.kernels._shared_reserve import LARGEST
from kmeter.model.compiled_kernel import CompiledKernel, Dimensions

_TARGET = re.compile(r"^[ \t]*\.target\s+(sm_[0-9]{2,3}[af]?)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
"""One that does not end goes on to the text's end, so that no part of the text is read twice."""
_BRACE, _WORD = re.compile(r"[{}]"), re.compile(r"[\w$%]+")
_ENTRY = re.compile(r"\.entry\s+([A-Za-z_$%][\w$]*)")
_DIRECTIVE = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxnreg|reqnctapercluster|maxclusterrank)\s+"
    r"(\d{1,99})(?:\s*,\s*(\d{1,99}))?(?:\s*,\s*(\d{1,99}))?"
)
_SHARED = re.compile(
    r"\.shared\s+(?:\.align\s+\d{1,9}\s+)?(?:\.v(\d)\s+)?\.[a-z]+(\d{1,3})\s+([\w$%]+)\s*((?:\[\d{0,99}\]){0,99})"
)
_MOST_KERNELS = 2**18
_CALL = re.compile(r"\bcall(?:\.uni)?\b")
NOTE = "PTX has no registers yet: the driver or ptxas gives them"
NOTE_ON_CALLS = f"{NOTE}; functions that it may call use shared memory, too"


def is_ptx(text: str) -> bool:
    """Whether a text begins as PTX does."""
    return ".version" in text[:20000] and _TARGET.search(text[:200000]) is not None


def kernels_of_ptx(text: str) -> list[CompiledKernel]:
    """Every entry point, in order; raises UsageError where they are too many for one module."""
    text = _COMMENT.sub(" ", text)
    target = _TARGET.search(text)
    entries = list(islice(_ENTRY.finditer(text), _MOST_KERNELS + 1))
    if len(entries) > _MOST_KERNELS:
        raise UsageError("it has too many kernels for one module of PTX")
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    bodies = [
        (entry[1], *_body(text[entry.end() : end]))
        for entry, end in zip(entries, ends, strict=False)
    ]
    outside = _outside(text)
    shared = _shared_bytes(outside)
    kernels = [
        _kernel(name, head, inside, target[1] if target else None, shared)
        for name, head, inside in bodies
    ]
    elsewhere = _declarations(text) - _declarations(outside)
    if elsewhere == sum(_declarations(inside) for _, _, inside in bodies):
        return kernels
    return [
        kernel._replace(static_shared_bytes=None, note=NOTE_ON_CALLS) if _calls(inside) else kernel
        for kernel, (_, _, inside) in zip(kernels, bodies, strict=True)
    ]


def _declarations(text: str) -> int:
    """How many variables in shared memory it declares."""
    return sum(1 for _ in _SHARED.finditer(text))


def _calls(inside: str) -> bool:
    return _CALL.search(inside) is not None


def _body(text: str) -> tuple[str, str]:
    """What stands before an entry's braces, and what in them; the text goes on to the next entry."""
    depth, first = 0, len(text)
    for brace in _BRACE.finditer(text):
        depth += 1 if brace[0] == "{" else -1
        first = min(first, brace.start())
        if depth <= 0:
            return text[:first], text[first : brace.end()]
    return text[:first], text[first:]


def _outside(text: str) -> str:
    """The text without whatever stands in braces: variables of the whole module."""
    parts, depth, last = [], 0, 0
    for brace in _BRACE.finditer(text):
        if depth == 0:
            parts.append(text[last : brace.start()])
        depth = max(0, depth + (1 if brace[0] == "{" else -1))
        last = brace.end()
    return "".join([*parts, text[last:] if depth == 0 else ""])


def _kernel(
    name: str, head: str, inside: str, target: str | None, outside: Mapping[str, int]
) -> CompiledKernel:
    bounds = dict(_directives(head))
    threads, blocks = bounds.get("maxntid"), bounds.get("minnctapersm")
    rank = bounds.get("maxclusterrank")
    words = set(_WORD.findall(inside)) if outside else set()
    used = sum(outside[word] for word in words if word in outside)
    shared = sum(_shared_bytes(inside).values()) + used
    return CompiledKernel(
        name=name,
        architecture=target,
        static_shared_bytes=shared if shared <= LARGEST else None,
        max_threads_per_block=prod(threads) if threads else None,
        required_block=bounds.get("reqntid"),
        min_blocks_per_sm=blocks[0] if blocks else None,
        cluster=bounds.get("reqnctapercluster"),
        max_cluster_rank=rank[0] if rank else None,
        said_by="PTX",
        note=NOTE,
    )


def _directives(head: str) -> Iterator[tuple[str, Dimensions]]:
    for said in _DIRECTIVE.finditer(head):
        extents = int(said[2]), int(said[3] or 1), int(said[4] or 1)
        if prod(extents) <= LARGEST:
            yield said[1], extents


def _shared_bytes(text: str) -> dict[str, int]:
    """What each variable in shared memory takes; one without a size is as large as the launch says."""
    return {said[3]: _size(said[1], said[2], said[4]) for said in _SHARED.finditer(text)}


def _size(vector: str | None, bits: str, extents: str) -> int:
    count = int(vector or 1)
    for extent in re.findall(r"\[(\d*)\]", extents):
        count *= int(extent or 0)
    return int(bits) // 8 * count
