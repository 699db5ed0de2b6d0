"""What was gathered of a kernel in a log, and the kernel that comes of it."""

from dataclasses import dataclass

from kmeter.kernels._linked_barriers import LinkedBarriers
from kmeter.kernels._ownership import Claim
from kmeter.kernels._ptxas_lines import Frame, Used
from kmeter.kernels._shared_reserve import generation, with_unknown_reserve, without_reserve
from kmeter.model.compiled_kernel import CompiledKernel


@dataclass(eq=False)
class Draft:
    """A kernel that was named, and what waits for its numbers."""

    name: str
    architecture: str | None
    used: Claim[Used]
    has_frame: bool = False
    """Whether ptxas says its stack in a log of that kind."""
    frame: Claim[Frame] | None = None
    properties_line: int = -1
    """Of the text, where its stack is announced."""
    linked: bool = False

    @property
    def is_in_order(self) -> bool:
        """Whether its stack came before its registers, as compilers say them."""
        return self.frame is not None and self.properties_line < self.frame.line < self.used.line

    @property
    def is_in_old_order(self) -> bool:
        return self.frame is not None and self.used.line < self.properties_line < self.frame.line


def as_kernels(drafts: list[Draft], architecture: str | None = None) -> list[CompiledKernel]:
    """The kernels of ``drafts`` in order; what nvlink says stands where ptxas' kernel stood."""
    named = [draft for draft in drafts if draft.name]
    _fill_in(named, architecture)
    architectures: dict[str, set[str | None]] = {}
    for draft in named:
        if not draft.linked:
            architectures.setdefault(draft.name, set()).add(draft.architecture)
    old_order = not any(draft.is_in_order for draft in named)
    kernels: dict[int, CompiledKernel] = {}
    compiled: dict[tuple[str, str | None], list[int]] = {}
    barriers = LinkedBarriers()
    for at, draft in enumerate(named):
        kernel = _linked(draft, architectures) if draft.linked else _compiled(draft, old_order)
        places = compiled.setdefault((kernel.name, kernel.architecture), [])
        if draft.linked:
            barriers.heard(kernel, {kernels[place].barriers for place in places})
            kernels[_only(places, kernels, at)] = kernel
        else:
            places.append(at)
            kernels[at] = kernel
    return [barriers.certain(kernels[at]) for at in sorted(kernels)]


def _fill_in(named: list[Draft], architecture: str | None) -> None:
    """The architecture that the caller knows, where the text says none of any kernel."""
    if architecture is not None and all(draft.architecture is None for draft in named):
        for draft in named:
            draft.architecture = architecture


def _only(places: list[int], kernels: dict[int, CompiledKernel], otherwise: int) -> int:
    """Where the linked kernel goes: the linker made one of all that were compiled before."""
    place = places[0] if places else otherwise
    for other in places[1:]:
        del kernels[other]
    places.clear()
    return place


def _compiled(draft: Draft, old_order: bool) -> CompiledKernel:
    used, frame = _trusted(draft, old_order), draft.frame.numbers if draft.frame else None
    return CompiledKernel(
        name=draft.name,
        architecture=draft.architecture,
        registers_per_thread=used.registers if used else None,
        static_shared_bytes=used.shared_bytes if used else None,
        barriers=used.barriers if used else None,
        stack_bytes=frame.stack_bytes if frame else None,
        cumulative_stack_bytes=used.cumulative_stack_bytes if used else None,
        spill_store_bytes=frame.spill_store_bytes if frame else None,
        spill_load_bytes=frame.spill_load_bytes if frame else None,
        said_by="ptxas",
        note=_note(draft, used),
    )


def _trusted(draft: Draft, old_order: bool) -> Used | None:
    """Its registers and shared memory, unless lines were lost before them: then they are another's."""
    is_whole = draft.is_in_order or (old_order and draft.is_in_old_order)
    is_doubtful = (
        draft.frame is not None
        and draft.frame.ambiguous
        and draft.properties_line < draft.used.line
    )
    return draft.used.numbers if is_whole or is_doubtful or not draft.has_frame else None


def _note(draft: Draft, used: Used | None) -> str:
    frame = draft.frame
    doubts = [
        (draft.used.ambiguous, "registers and shared memory"),
        (frame is not None and frame.ambiguous, "stack and spills"),
    ]
    if ambiguous := [words for is_so, words in doubts if is_so]:
        what = " and ".join(ambiguous).replace(" and shared", ", shared", len(ambiguous) - 1)
        return f"{what} are ambiguous: several compilers wrote at the same time"
    if used is None:
        return "the text has no line of registers that is surely this kernel's"
    if used.shared_bytes is None:
        return "the text does not say all of its shared memory"
    if used.argument_bytes:
        return f"{used.argument_bytes} bytes of its shared memory hold the arguments"
    return ""


def _linked(draft: Draft, architectures: dict[str, set[str | None]]) -> CompiledKernel:
    used, known = draft.used.numbers, architectures.get(draft.name, set())
    kernel = CompiledKernel(
        name=draft.name,
        architecture=draft.architecture or (next(iter(known)) if len(known) == 1 else None),
        registers_per_thread=used.registers if used else None,
        static_shared_bytes=used.shared_bytes if used else None,
        barriers=used.barriers if used else None,
        stack_bytes=used.stack_bytes if used else None,
        cumulative_stack_bytes=used.cumulative_stack_bytes if used else None,
        said_by="nvlink",
        note=_note(draft, used),
    )
    return _as_declared(kernel)


def _as_declared(kernel: CompiledKernel) -> CompiledKernel:
    """The reserve is in nvlink's numbers for 9.0 alone: for later ones it adds it after linking."""
    if generation(kernel.architecture) == 90:
        return kernel._replace(static_shared_bytes=without_reserve(kernel.static_shared_bytes))
    if kernel.architecture is None:
        return with_unknown_reserve(kernel, "if this is for 9.0, which the text does not say")
    return kernel
