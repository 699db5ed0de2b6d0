"""The kernels in what ``ptxas -v`` and ``nvlink -v`` say, found in the output of a build.

A line of numbers names no function: it belongs to the one that was named before, unless compilers
ran side by side. What cannot be told whose it is stays unknown. nvlink's numbers replace ptxas':
registers and stack of a kernel that calls into another file are final when it is linked.
"""

import re

from kmeter.kernels._kernel_drafts import Draft, as_kernels
from kmeter.kernels._log_lines import readable_lines
from kmeter.kernels._ownership import Claim, Claims
from kmeter.kernels._ptxas_lines import (
    Entry,
    Failed,
    Frame,
    Gap,
    Line,
    Properties,
    Used,
    line_of,
)
from kmeter.kernels._shared_reserve import generation
from kmeter.model.compiled_kernel import CompiledKernel

_PROCESS = re.compile(r"\s*(?:([0-9]{1,6})>|(#[0-9]{1,6})\s)")
"""MSBuild and BuildKit say in front whose line it is."""


def kernels_of_log(text: str, architecture: str | None = None) -> list[CompiledKernel]:
    """Every kernel that ``text`` names, in its order; none where it holds no such lines.

    A number that the text does not say of the kernel is None, and so is one that may be another's:
    the note says which. A kernel that is compiled twice is listed twice. ``architecture`` is that of kernels
    for which the text says none.
    """
    lines = readable_lines(text)
    said = [
        (at, line, found) for at, line in enumerate(lines) if (found := line_of(line)) is not None
    ]
    kinds = _kinds([found for _, _, found in said])
    drafts: list[Draft] = []
    processes: dict[str, _Process] = {}
    process = ""
    for at, line, found in said:
        match = _PROCESS.match(line)
        process = match[0].strip() if match else process
        processes.setdefault(process, _Process(kinds, drafts)).read(found, at)
    for each in processes.values():
        each.finish()
    return as_kernels(drafts, architecture)


def _kinds(lines: list[Line]) -> set[str]:
    """Which lines of a kernel the text has at all: some are lost to a filter, or older than CUDA 4."""
    present = {type(line).__name__ for line in lines if not isinstance(line, Properties)}
    named = {"Properties" for line in lines if isinstance(line, Properties) and not line.linked}
    return present | named


class _Process:
    """What one compiler wrote, or several whose lines cannot be told apart."""

    def __init__(self, kinds: set[str], drafts: list[Draft]) -> None:
        self._kinds = kinds
        self._drafts = drafts
        self._frames: Claims[Frame] = Claims()
        self._used: Claims[Used] = Claims()
        self._linked: dict[str | None, Claims[Used]] = {}
        self._unnamed: dict[str, list[Draft]] = {}
        """Kernels by name whose properties have not come."""

    def read(self, line: Line, at: int) -> None:
        match line:
            case Entry():
                self._entry(line, at)
            case Properties(linked=True):
                self._linked_properties(line)
            case Properties():
                self._properties(line, at)
            case Frame():
                self._frames.give(line, at)
            case Used(linked=True):
                self._linked.setdefault(line.target, Claims()).give(line, at)
            case Used():
                self._used.give(line, at)
            case Failed():
                self._used.fail()
            case Gap():
                self.finish()

    def finish(self) -> None:
        """The text ends here, or leaves lines out."""
        self._frames.finish()
        for claims in (self._used, *self._linked.values()):
            claims.finish()
        self._linked.clear()
        self._unnamed.clear()

    def _entry(self, line: Entry, at: int) -> None:
        has_properties = (generation(line.architecture) or 20) >= 20
        has_frame = has_properties and "Frame" in self._kinds
        is_named = has_properties and "Properties" in self._kinds
        draft = Draft(line.name, line.architecture, Claim(ready=not is_named), has_frame)
        self._drafts.append(draft)
        self._used.open(draft.used)
        if is_named:
            self._unnamed.setdefault(line.name, []).append(draft)
        elif has_frame:
            self._open_frame([draft], at)

    def _properties(self, line: Properties, at: int) -> None:
        """Its own, where a kernel of that name waits for them; else a device function's."""
        named = self._unnamed.pop(line.name, [])
        if not named:
            self._used.doubt()
        waiting = [draft for draft in named if self._used.is_waiting(draft.used)]
        self._open_frame(waiting or named[-1:], at)

    def _open_frame(self, owners: list[Draft], at: int) -> None:
        """Several owners are a kernel for several architectures, compiled side by side."""
        claim: Claim[Frame] = Claim(uncertain=len(owners) > 1)
        for draft in owners:
            draft.frame, draft.properties_line = claim, at
            self._used.set_ready(draft.used)
        self._frames.open(claim)

    def _linked_properties(self, line: Properties) -> None:
        draft = Draft(line.name, line.target, Claim(), linked=True)
        self._drafts.append(draft)
        self._linked.setdefault(line.target, Claims()).open(draft.used)
