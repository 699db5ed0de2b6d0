"""Compiled kernels as a table: what each needs, how many fit on an SM, and what the next block would take."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.kernel_change import Difference, KernelChange, spill_bytes
from kmeter.model.kernel_occupancy import BEST, BOUNDS, REQUIRED, KernelOccupancy
from kmeter.units import UNKNOWN, percent, quoted, shortened, size
from kmeter.views.occupancy import change_text, limiters_text
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

_COLUMNS = (
    Column("kernel", right=False),
    Column("from", right=False, optional=True),
    Column("arch", right=False),
    Column("regs"),
    Column("static"),
    Column("dynamic"),
    Column("spills"),
    Column("stack", optional=True),
    Column("block"),
    Column("blocks", optional=True),
    Column("occup."),
    Column("limited by", right=False),
    Column("one block more", right=False, optional=True),
)
_MARKS = {REQUIRED: "=", BOUNDS: "≤", BEST: "*"}
_LEGEND = {
    "=": "= the only block that it runs",
    "≤": "≤ the most of its launch bounds",
    "*": "* the best of all blocks",
}
_LONGEST_NAME, _LONGEST_SHOWN = 28, 400
_LONGEST_SOURCE = 24
_MOST_ROWS = 500
"""More than anybody reads; a large library has thousands."""
Names = Mapping[str, str]
"""By a kernel's mangled name, the name to show."""


@dataclass(frozen=True)
class KernelsView:
    """A row a kernel, what the marks mean, and why something is unknown."""

    items: Sequence[KernelOccupancy]
    names: Names
    remarks: Sequence[str] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        if self.items:
            yield _told([_row(item, self.names) for item in self.items[:_MOST_ROWS]])
        if len(self.items) > _MOST_ROWS:
            yield Text(
                f"{len(self.items) - _MOST_ROWS} of {len(self.items)} kernels are not shown: "
                "--kernel, --arch and --sort choose, --json has them all",
                style="bold",
            )
        used = {_MARKS.get(item.block_source, "") for item in self.items}
        legend = [text for mark, text in _LEGEND.items() if mark in used]
        if legend:
            yield Text("block: " + ", ".join(legend), style="dim")
        if any(_assumes_no_dynamic_memory(item) for item in self.items):
            yield Text(
                "dynamic shared memory: 0 B, which no file tells; --dynamic-smem SIZE", style="dim"
            )
        yield from (indented(line) for line in [*_reasons(self.items), *self.remarks])


def _assumes_no_dynamic_memory(item: KernelOccupancy) -> bool:
    """Whether its occupancy is that of a launch without, and nobody said so."""
    if item.report is None or item.kernel.dynamic_shared_bytes is not None:
        return False
    return item.report.launch.dynamic_shared_bytes == 0


def _told(rows: Sequence[tuple[Cell, ...]]) -> WideOrStacked:
    """The table without columns of which nothing is known."""
    told = [i for i in range(len(_COLUMNS)) if any(str(row[i]) != UNKNOWN for row in rows)]
    return WideOrStacked([_COLUMNS[i] for i in told], [[row[i] for i in told] for row in rows])


def _row(item: KernelOccupancy, names: Names) -> tuple[Cell, ...]:
    kernel, report = item.kernel, item.report
    found = report.occupancy if report else None
    return (
        short_name(kernel, names),
        shortened(kernel.source, _LONGEST_SOURCE) or UNKNOWN,
        kernel.architecture or UNKNOWN,
        _count(kernel.registers_per_thread),
        size(kernel.static_shared_bytes),
        size(kernel.dynamic_shared_bytes),
        _spills(kernel),
        size(kernel.stack_bytes),
        f"{item.block_size}{_MARKS.get(item.block_source, '')}" if item.block_size else UNKNOWN,
        _count(found.blocks_per_sm if found else None),
        percent(item.fraction),
        _limited(item),
        _next_block(item),
    )


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _spills(kernel: CompiledKernel) -> Cell:
    spilled = spill_bytes(kernel)
    return Text(size(spilled), style="yellow" if spilled else "")


def _limited(item: KernelOccupancy) -> str:
    if item.report is None:
        return UNKNOWN
    return "does not launch" if item.report.refused else limiters_text(item.report.occupancy)


def _next_block(item: KernelOccupancy) -> str:
    """The smallest change that gains a block."""
    if item.report is None or not item.report.cliffs:
        return UNKNOWN
    return " and ".join(change_text(change) for change in item.report.cliffs[0].changes)


def short_name(kernel: CompiledKernel, names: Names) -> str:
    """A name that fits into a column; the middle of a long one is left out."""
    name = shown_name(kernel, names)
    if len(name) <= _LONGEST_NAME:
        return name
    name = _without_parameters(name.removeprefix("void ")) or name
    if len(name) <= _LONGEST_NAME:
        return name
    half = (_LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _without_parameters(name: str) -> str:
    """A function's name up to the parentheses of its parameters: those in template arguments are its own."""
    depth = 0
    for at, sign in enumerate(name):
        if sign == "(" and depth == 0 and at and not name.startswith("(anonymous", at):
            return name[:at]
        depth += (sign in "<{") - (sign in ">}")
    return name


def shown_name(kernel: CompiledKernel, names: Names) -> str:
    """As C++ spells it, without anything that a terminal would act on."""
    return quoted(names.get(kernel.name, kernel.name), _LONGEST_SHOWN).strip("'\"")


def _reasons(items: Sequence[KernelOccupancy]) -> Iterator[str]:
    """Each reason once, with how many kernels it is of."""
    counted: dict[str, int] = {}
    for item in items:
        refused = item.report.refused if item.report else ""
        for reason in {item.reason or refused, item.kernel.note} - {""}:
            counted[reason] = counted.get(reason, 0) + 1
    for reason, often in counted.items():
        yield reason if often == 1 or often == len(items) else f"{reason} ({often} kernels)"


# ---- two builds -----------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelChangesView:
    """What became of each kernel that is not the same."""

    changes: Sequence[KernelChange]
    names: Names

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        rows = [_change_row(item, self.names) for item in self.changes if is_changed(item)]
        if rows:
            columns = (
                Column("kernel", right=False), Column("arch", right=False), Column("change", right=False)
            )  # fmt: skip
            yield WideOrStacked(columns, rows)
        same = len(self.changes) - len(rows)
        yield f"{same} of {len(self.changes)} kernels are the same"


def is_changed(change: KernelChange) -> bool:
    """Whether anything is to be told of it."""
    return change.before is None or change.after is None or bool(change.differences)


def _change_row(change: KernelChange, names: Names) -> tuple[Cell, ...]:
    kernel = change.kernel
    return short_name(kernel, names), kernel.architecture or UNKNOWN, changed_text(change)


def changed_text(change: KernelChange) -> str:
    """``registers 54 → 48, occupancy 62.5 % → 75 %``."""
    if change.before is None:
        kernel = change.kernel
        known = {
            "registers": kernel.registers_per_thread and str(kernel.registers_per_thread),
            "spills": (spilled := spill_bytes(kernel)) and size(spilled),
        }
        return ", ".join(["new", *(f"{value} {name}" for name, value in known.items() if value)])
    if change.after is None:
        return "gone"
    return ", ".join(map(_difference_text, change.differences))


def _difference_text(difference: Difference) -> str:
    before, after = (_value_text(difference.quantity, value) for value in difference[1:])
    return f"{difference.quantity.removesuffix(' bytes')} {before} → {after}"


def _value_text(quantity: str, value: float | None) -> str:
    if value is None:
        return UNKNOWN
    if quantity == "occupancy":
        return percent(value)
    return size(int(value)) if quantity.endswith("bytes") else str(int(value))
