"""``kmeter occupancy FILE...``: the kernels of compiled files, and what became of them between two builds."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kmeter import __version__
from kmeter.cli.output import show, show_json, warn
from kmeter.errors import GateFailedError, UsageError
from kmeter.kernels.compiled_file import Contents, contents_of_bytes
from kmeter.kernels.demangle import demangled
from kmeter.kernels.files import kernels_of
from kmeter.model.architecture import architecture
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.image_choice import architecture_name, images_called, images_for
from kmeter.model.kernel_change import GATES, KernelChange, kernel_changes, spill_bytes
from kmeter.model.kernel_occupancy import KernelOccupancy, LaunchWish, occupancies
from kmeter.model.launch_text import parse_launch
from kmeter.units import parse_fraction, percent, printable, quoted

_MOST_TEXT_BYTES = 2**28
Order = Callable[[KernelOccupancy], tuple[float, str]]


class FileQuestion(NamedTuple):
    """The options, as they were given."""

    files: Sequence[str]
    block: str | None
    dynamic_smem: str
    cc: str | None
    device: str | None
    carveout: int | None
    require: str | None
    kernel: str | None
    arch: str | None
    sort: str | None
    diff: str | None
    fail_on: str | None
    markdown: str | None
    sarif: str | None
    as_json: bool
    ascii_mode: bool


def answer(question: FileQuestion) -> None:
    """Read the files and show what is in them; raises UsageError, and GateFailedError."""
    gates, required, wish = _gates(question), _required(question), _wish(question)
    kernels, remarks = _chosen(question, question.files, wish)
    items = _sorted(occupancies(kernels, wish), question.sort)
    if question.diff is None:
        _show(question, items, remarks)
        _demand(items, required)
        return
    newer, newer_remarks = _chosen(question, [question.diff], wish)
    judged = occupancies(newer, wish)
    changes = kernel_changes(items, judged)
    _show_changes(question, changes, [*remarks, *newer_remarks], gates)
    _demand(judged, required)


def _demand(items: list[KernelOccupancy], required: float | None) -> None:
    """Raises GateFailedError where a kernel has less, or where that cannot be known."""
    if required is None:
        return
    known = [item.fraction for item in items if item.fraction is not None]
    below = [fraction for fraction in known if fraction < required]
    if below:
        raise GateFailedError(
            f"{len(below)} of {len(items)} kernels are below the {percent(required)} of --require, "
            f"the lowest at {percent(min(below))}"
        )
    if len(known) < len(items) or not items:
        unknown = len(items) - len(known)
        raise GateFailedError(
            f"the occupancy of {unknown} of {len(items)} kernels is unknown, and --require asks for it"
        )


# ---- reading and choosing -------------------------------------------------------------------


def _chosen(
    question: FileQuestion, files: Sequence[str], wish: LaunchWish
) -> tuple[list[CompiledKernel], list[str]]:
    found = [(file, _contents(file, question)) for file in files]
    several = len(found) > 1
    kernels = [
        kernel._replace(source=f"{file}: {kernel.source}".rstrip(": ")) if several else kernel
        for file, contents in found
        for kernel in contents.kernels
    ]
    remarks = [
        f"{printable(file)}: {remark}" if several else remark
        for file, contents in found
        for remark in contents.remarks
    ]
    named = _named(kernels, question.kernel)
    if kernels and not named:
        raise UsageError(
            f"none of {len(kernels)} kernels has {quoted(question.kernel or '')} in its name"
        )
    chosen = _of_architecture(named, question, wish)
    if named and not chosen:
        known = ", ".join(sorted({kernel.architecture or "unknown" for kernel in named}))
        wanted = question.arch or wish.compute_capability or ""
        raise UsageError(
            f"no kernel of {', '.join(map(quoted, files))} is for {wanted}", f"They are for {known}"
        )
    return chosen, remarks


def _contents(file: str, question: FileQuestion) -> Contents:
    if not file:
        raise UsageError("a file has a name, and this one is empty")
    architecture = None if question.arch is None else architecture_name(question.arch)
    if file != "-":
        return kernels_of(Path(file), architecture)
    if sys.stdin is None:
        raise UsageError("stdin is closed")
    raw = sys.stdin.buffer.read(_MOST_TEXT_BYTES + 1)
    if len(raw) > _MOST_TEXT_BYTES:
        raise UsageError("stdin holds more than any compiler says")
    try:
        return contents_of_bytes(raw, architecture)
    except UsageError as error:
        raise UsageError(f"stdin: {error.message}", error.hint) from None


def _named(kernels: list[CompiledKernel], pattern: str | None) -> list[CompiledKernel]:
    """Those whose name, mangled or not, has the pattern in it."""
    if pattern is None:
        return kernels
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--kernel {quoted(pattern)} is no regular expression: {error}") from None
    names = demangled(kernel.name for kernel in kernels)
    return [
        kernel
        for kernel in kernels
        if wanted.search(kernel.name) or wanted.search(names.get(kernel.name, ""))
    ]


def _of_architecture(
    kernels: list[CompiledKernel], question: FileQuestion, wish: LaunchWish
) -> list[CompiledKernel]:
    """Those of ``--arch``, or of each kernel the image that a card's driver would load."""
    if question.arch is not None:
        return images_called(kernels, architecture_name(question.arch))
    if wish.compute_capability is not None:
        return images_for(kernels, wish.compute_capability)
    return kernels


def _capability(question: FileQuestion) -> str | None:
    given = {"--arch": question.arch, "--cc": question.cc, "--device": question.device}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} both say which GPU", "Give one of them")
    if question.cc is not None:
        return architecture(question.cc).compute_capability
    if question.device is None:
        return None
    from kmeter.sources import open_device

    return architecture(open_device(question.device).compute_capability).compute_capability


def _wish(question: FileQuestion) -> LaunchWish:
    # What is wrong with a block or a carve-out is told as it is of a launch without a file.
    launch = parse_launch(
        question.block or "1", 0, "0", question.dynamic_smem, question.carveout, 0, 1024
    )
    return LaunchWish(
        block_size=None if question.block is None else launch.block_size,
        dynamic_shared_bytes=launch.dynamic_shared_bytes or None,
        carveout_percent=question.carveout,
        compute_capability=_capability(question),
    )


_ORDERS: dict[str, Order] = {
    "occupancy": lambda item: (-1.0 if item.fraction is None else item.fraction, item.kernel.name),
    "registers": lambda item: (-(item.kernel.registers_per_thread or 0), item.kernel.name),
    "shared": lambda item: (-(item.kernel.static_shared_bytes or 0), item.kernel.name),
    "spills": lambda item: (
        -(spill_bytes(item.kernel) or item.kernel.stack_bytes or 0), item.kernel.name,
    ),
    "name": lambda item: (0.0, item.kernel.name),
}  # fmt: skip


def _sorted(items: list[KernelOccupancy], key: str | None) -> list[KernelOccupancy]:
    """The worst first; without a key as they stand in the file."""
    if key is None:
        return items
    if key not in _ORDERS:
        raise UsageError(f"--sort is {', '.join(_ORDERS)}, not {quoted(key)}")
    return sorted(items, key=_ORDERS[key])


# ---- showing --------------------------------------------------------------------------------


def _show(question: FileQuestion, items: list[KernelOccupancy], remarks: list[str]) -> None:
    names = demangled(item.kernel.name for item in items)
    if question.as_json:
        from kmeter.views.kernels_json import kernels_document

        show_json(kernels_document(items, names, remarks))
        return
    from kmeter.views.kernels import KernelsView

    show(KernelsView(items, names, remarks), ascii_mode=question.ascii_mode)
    only = items[0].report if len(items) == 1 else None
    if only is not None:
        from kmeter.views.occupancy import OccupancyView

        show("", ascii_mode=question.ascii_mode)
        show(OccupancyView(only), ascii_mode=question.ascii_mode)


def _show_changes(
    question: FileQuestion, changes: list[KernelChange], remarks: list[str], gates: Sequence[str]
) -> None:
    names = demangled(change.kernel.name for change in changes)
    failed = [(change, gate) for change in changes for gate in gates if change.fails(gate)]
    _write(question, changes, names, failed)
    if question.as_json:
        from kmeter.views.kernels_json import changes_document

        show_json(changes_document(changes, names, failed, remarks))
    else:
        from kmeter.views.kernels import KernelChangesView

        show(KernelChangesView(changes, names), ascii_mode=question.ascii_mode)
        for remark in remarks:
            warn(remark)
    if failed:
        told = ", ".join(dict.fromkeys(gate for _, gate in failed))
        kernels = len({id(change) for change, _ in failed})
        raise GateFailedError(f"{kernels} of {len(changes)} kernels fail on {told}")


def _write(
    question: FileQuestion,
    changes: list[KernelChange],
    names: dict[str, str],
    failed: list[tuple[KernelChange, str]],
) -> None:
    from kmeter.files import write_whole
    from kmeter.views.kernels_export import changes_markdown, changes_sarif

    if question.markdown is not None:
        write_whole(question.markdown, changes_markdown(changes, names, failed))
    if question.sarif is not None:
        write_whole(question.sarif, changes_sarif(failed, names, question.diff or "", __version__))


# ---- gates ----------------------------------------------------------------------------------


def _gates(question: FileQuestion) -> list[str]:
    of_diff = {
        "--fail-on": question.fail_on,
        "--markdown": question.markdown,
        "--sarif": question.sarif,
    }
    for option, value in of_diff.items():
        if value is not None and question.diff is None:
            raise UsageError(f"{option} is for --diff")
    gates = [gate.strip() for gate in (question.fail_on or "").split(",") if gate.strip()]
    if question.fail_on is not None and not gates:
        raise UsageError(f"--fail-on names no gate: {', '.join(GATES)}")
    if question.as_json and "-" in (question.markdown, question.sarif):
        raise UsageError("--json and what is written to - both go to stdout", "Name a file")
    for gate in gates:
        if gate not in GATES:
            raise UsageError(f"--fail-on knows {', '.join(GATES)}, not {quoted(gate)}")
    return gates


def _required(question: FileQuestion) -> float | None:
    return None if question.require is None else parse_fraction(question.require)
