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
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.kernel_change import GATES, KernelChange, kernel_changes, spill_bytes
from kmeter.model.kernel_occupancy import KernelOccupancy, LaunchWish, occupancies
from kmeter.model.launch_text import parse_blocks
from kmeter.units import parse_fraction, parse_size, percent, quoted

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
    gates, required = _gates(question), _required(question)
    kernels, remarks = _chosen(question, question.files)
    items = _sorted(occupancies(kernels, _wish(question)), question.sort)
    if question.diff is not None:
        newer, newer_remarks = _chosen(question, [question.diff])
        changes = kernel_changes(items, occupancies(newer, _wish(question)))
        _show_changes(question, changes, [*remarks, *newer_remarks], gates)
        return
    _show(question, items, remarks)
    below = [item for item in items if item.fraction is not None and item.fraction < required]
    if below:
        reached = percent(min(item.fraction or 0.0 for item in below))
        raise GateFailedError(
            f"{len(below)} of {len(items)} kernels are below the {percent(required)} of --require, "
            f"the lowest at {reached}"
        )


# ---- reading and choosing -------------------------------------------------------------------


def _chosen(question: FileQuestion, files: Sequence[str]) -> tuple[list[CompiledKernel], list[str]]:
    found = [(file, _contents(file, question.arch)) for file in files]
    several = len(found) > 1
    kernels = [
        kernel._replace(source=f"{file}: {kernel.source}".rstrip(": ")) if several else kernel
        for file, contents in found
        for kernel in contents.kernels
    ]
    remarks = [
        f"{file}: {remark}" if several else remark
        for file, contents in found
        for remark in contents.remarks
    ]
    chosen = _of_architecture(_named(kernels, question.kernel), question)
    if kernels and not chosen:
        known = ", ".join(sorted({kernel.architecture or "unknown" for kernel in kernels}))
        raise UsageError(f"none of {len(kernels)} kernels is meant", f"They are for {known}")
    return chosen, remarks


def _contents(file: str, architecture: str | None) -> Contents:
    if file == "-":
        raw = sys.stdin.buffer.read(_MOST_TEXT_BYTES + 1)
        if len(raw) > _MOST_TEXT_BYTES:
            raise UsageError("stdin holds more than any compiler says")
        return contents_of_bytes(raw, architecture)
    return kernels_of(Path(file), architecture)


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


def _of_architecture(kernels: list[CompiledKernel], question: FileQuestion) -> list[CompiledKernel]:
    """Those of ``--arch``, or those that a card's driver would load."""
    if question.arch is not None:
        wanted = question.arch if question.arch.startswith("sm_") else f"sm_{question.arch}"
        wanted = wanted.replace(".", "")
        exact = [kernel for kernel in kernels if kernel.architecture == wanted]
        return exact or [k for k in kernels if (k.architecture or "").rstrip("af") == wanted]
    if question.cc is None and question.device is None:
        return kernels
    major, minor = _capability(question)
    fitting = {
        kernel.architecture: found
        for kernel in kernels
        if (found := _number(kernel.architecture)) and found[0] == major and found[1] <= minor
    }
    newest = max(fitting.values(), default=None)
    return [kernel for kernel in kernels if fitting.get(kernel.architecture) == newest is not None]


def _capability(question: FileQuestion) -> tuple[int, int]:
    from kmeter.model.architecture import compute_capability

    if question.cc is not None and question.device is not None:
        raise UsageError("--cc and --device both say which GPU", "Give one of them")
    if question.cc is not None:
        text = compute_capability(question.cc)
    else:
        from kmeter.sources import open_device

        text = open_device(question.device or "").compute_capability
    major, minor = text.split(".")
    return int(major), int(minor)


def _number(architecture: str | None) -> tuple[int, int] | None:
    found = re.fullmatch(r"sm_(\d+)(\d)[af]?", architecture or "")
    return (int(found[1]), int(found[2])) if found else None


def _wish(question: FileQuestion) -> LaunchWish:
    dynamic = parse_size(question.dynamic_smem)
    return LaunchWish(
        block_size=None if question.block is None else parse_blocks(question.block),
        dynamic_shared_bytes=dynamic or None,
        carveout_percent=question.carveout,
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

        show_json(changes_document(changes, names, failed))
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
    for gate in gates:
        if gate not in GATES:
            raise UsageError(f"--fail-on knows {', '.join(GATES)}, not {quoted(gate)}")
    return gates


def _required(question: FileQuestion) -> float:
    return 0.0 if question.require is None else parse_fraction(question.require)
