"""A launch report for people: the occupancy, what limits it, its edges, its neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.architecture import Architecture
from kmeter.model.cliffs import Change, Cliff
from kmeter.model.launch_report import BoundsAnswer, ClusterAnswer, LaunchReport, why_no_waves
from kmeter.model.occupancy import Occupancy
from kmeter.model.waves import Waves
from kmeter.units import UNKNOWN, percent, size
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

RESOURCES = {
    "warps": "warps",
    "registers": "registers",
    "shared": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}
"""Names of the limiters as people read them."""

_SHOWN_BLOCK_SIZES = (32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024)
_BAR_CELLS = 12


@dataclass(frozen=True)
class OccupancyView:
    """The whole report, one section after another."""

    report: LaunchReport
    assumed_for: str = ""
    """The compute capability that was asked for, where another one's limits were assumed."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        report = self.report
        yield from _headline(report, self.assumed_for)
        yield ""
        yield allowed_table(report)
        for section in (_cliffs(report), _bounds(report), _waves(report), _cluster(report)):
            if section:
                yield ""
                yield from section
        yield ""
        yield sweep_table(report)


# ---- headline -------------------------------------------------------------------------------


def _headline(report: LaunchReport, assumed_for: str) -> Iterator[RenderableType]:
    sm, launch = report.architecture, report.launch
    registers = launch.registers_per_thread
    yield Text.assemble(
        (f"{launch.block_size} threads", "bold"),
        f" a block, {registers} registers a thread" if registers else " a block",
        f", {size(launch.shared_bytes)} shared memory" if launch.shared_bytes else "",
        f" on {sm.compute_capability} ({sm.generation})",
    )
    if assumed_for:
        yield Text(
            f"assumed: {assumed_for} is not in the table, these are the limits of "
            f"{sm.compute_capability}",
            style="yellow",
        )
    if sm.confidence != "high":
        yield Text(f"limits of {sm.confidence} confidence: {sm.note}", style="yellow")
    if report.refused:
        yield Text(f"cannot launch: {report.refused}", style="bold red")
        return
    yield from _verdict(report.occupancy)
    if not registers:
        yield Text("registers are not given (--regs), so they limit nothing here", style="dim")


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _verdict(found: Occupancy) -> Iterator[RenderableType]:
    yield Text.assemble(
        (f"{percent(found.fraction)} occupancy", f"bold {colour(found.fraction)}"),
        f": {_blocks(found.blocks_per_sm)}, {found.active_warps_per_sm} of "
        f"{found.max_warps_per_sm} warps per SM, limited by {limiters_text(found)}",
    )


def limiting(found: Occupancy) -> tuple[str, ...]:
    """The limiters that allow no more blocks than there are.

    NVIDIA's header, which ``limiters`` follows, also names what limited before it looked at barriers.
    """
    allowed = found.blocks_allowed_by
    return tuple(
        name
        for name in found.limiters
        if found.blocks_per_sm == 0 or allowed[name] == found.blocks_per_sm
    )


def limiters_text(found: Occupancy) -> str:
    """``registers, shared memory``."""
    names = [RESOURCES[name] for name in limiting(found)]
    return ", ".join(names) if names else "nothing"


def colour(fraction: float) -> str:
    """Green, yellow or red: a reader without colours has the number."""
    return "green" if fraction >= 0.75 else "yellow" if fraction >= 0.5 else "red"


# ---- what each resource allows --------------------------------------------------------------


def allowed_table(report: LaunchReport) -> WideOrStacked:
    """Blocks per SM that each resource alone would allow."""
    found = report.occupancy
    rows: list[tuple[Cell, ...]] = [
        (
            f"{'* ' if name in limiting(found) else '  '}{RESOURCES[name]}",
            UNKNOWN if allowed is None else str(allowed),
            _use_of(report, name),
        )
        for name, allowed in found.blocks_allowed_by.items()
    ]
    columns = (
        Column("  resource", right=False),
        Column("blocks"),
        Column("a block takes", right=False),
    )
    return WideOrStacked(
        columns,
        rows,
        emphasised=frozenset(
            i for i, name in enumerate(found.blocks_allowed_by) if name in limiting(found)
        ),
    )


def _use_of(report: LaunchReport, resource: str) -> str:
    sm, launch, found = report.architecture, report.launch, report.occupancy
    match resource:
        case "warps":
            return f"{launch.warps_per_block} of {sm.max_warps_per_sm}"
        case "registers":
            if not launch.registers_per_thread:
                return "not given"
            return f"{found.allocated_registers_per_block} of {sm.registers_per_sm}"
        case "shared":
            return _shared_use(sm, found)
        case "blocks":
            return f"1 of {sm.max_blocks_per_sm}"
        case _:
            return _barrier_use(sm, launch.barriers)


def _shared_use(sm: Architecture, found: Occupancy) -> str:
    allocated = found.allocated_shared_bytes_per_block
    if not allocated:
        return "none"
    reserved = sm.reserved_shared_bytes_per_block
    text = f"{size(allocated)} of {size(sm.shared_bytes_per_sm)}"
    return f"{text}, {size(reserved)} of it reserved by the driver" if reserved else text


def _barrier_use(sm: Architecture, barriers: int) -> str:
    if sm.barriers_per_sm is None:
        return f"not counted on {sm.compute_capability}"
    return f"{barriers} of {sm.barriers_per_sm}" if barriers else "not given"


# ---- edges ----------------------------------------------------------------------------------


def _cliffs(report: LaunchReport) -> list[RenderableType]:
    lines = [cliff_text(cliff) for cliff in report.cliffs]
    if not lines and not report.refused:
        lines = [_why_no_cliff(report.occupancy)]
    room = _headroom_text(report)
    if room:
        lines.append(room)
    return [Text("Cliffs", style="bold"), *(indented(line) for line in lines)] if lines else []


def _why_no_cliff(found: Occupancy) -> str:
    if found.active_warps_per_sm == found.max_warps_per_sm:
        return "none: every warp slot is taken"
    return "no smaller block, fewer registers or less shared memory gains a block"


def cliff_text(cliff: Cliff) -> str:
    """``54 → 48 registers: 5 → 6 blocks, 62.5 % → 75 %``, with the launch bounds that ask for it."""
    changes = " and ".join(change_text(change) for change in cliff.changes)
    before, after = cliff.before, cliff.after
    text = (
        f"{changes}: {before.blocks_per_sm} → {_blocks(after.blocks_per_sm)}, "
        f"{percent(before.fraction)} → {percent(after.fraction)}"
    )
    if any(change.resource == "registers" for change in cliff.changes):
        bounds = f"__launch_bounds__({cliff.launch.block_size}, {after.blocks_per_sm})"
        text += f"; {bounds} asks the compiler for it"
    return text


def change_text(change: Change) -> str:
    """``54 → 48 registers``, ``48 KiB → 40 KiB shared memory``, ``256 → 192 threads``."""
    if change.resource == "shared":
        return f"{size(change.before)} → {size(change.after)} shared memory"
    unit = "threads" if change.resource == "block_size" else change.resource
    return f"{change.before} → {change.after} {unit}"


def _headroom_text(report: LaunchReport) -> str:
    room = report.headroom
    if room.registers_per_thread is None and room.shared_bytes is None:
        return ""
    parts = []
    if room.registers_per_thread is not None:
        parts.append(f"{room.registers_per_thread} registers")
    if room.shared_bytes is not None:
        parts.append(f"{size(room.shared_bytes)} shared memory")
    return f"room: up to {' or '.join(parts)} keeps {_blocks(report.occupancy.blocks_per_sm)}"


def _bounds(report: LaunchReport) -> list[RenderableType]:
    if report.bounds is None:
        return []
    return [Text("Launch bounds", style="bold"), indented(bounds_text(report.bounds, report))]


def bounds_text(bounds: BoundsAnswer, report: LaunchReport) -> str:
    """What the bounds ask of the compiler, and whether the registers given keep to it."""
    asked = f"__launch_bounds__({bounds.max_threads}, {bounds.min_blocks})"
    if bounds.most_registers is None:
        return f"{asked}: so many blocks never fit on {report.architecture.compute_capability}"
    text = f"{asked}: at most {bounds.most_registers} registers a thread"
    registers = report.launch.registers_per_thread
    if registers > bounds.most_registers:
        text += f"; the {registers} given must come down or spill"
    return text


# ---- grid and clusters ----------------------------------------------------------------------


def _waves(report: LaunchReport) -> list[RenderableType]:
    if report.question.grid is None:
        return []
    text = waves_text(report.waves) if report.waves else f"unknown: {why_no_waves(report)}"
    return [Text("Grid", style="bold"), indented(text)]


def waves_text(found: Waves) -> str:
    """``133 blocks: 2 waves, the last 1/132 full, wave efficiency 50.4 %``."""
    last = round(found.last_wave_fraction * found.blocks_per_wave)
    text = (
        f"{_blocks(found.grid)}: {found.waves} {'wave' if found.waves == 1 else 'waves'} "
        f"of {found.blocks_per_wave}, the last {last}/{found.blocks_per_wave} full, "
        f"wave efficiency {percent(found.efficiency)}"
    )
    if found.better_grids:
        text += f"; grids of {' or '.join(map(str, found.better_grids))} fill their waves"
    return text


def _cluster(report: LaunchReport) -> list[RenderableType]:
    if report.cluster is None:
        return []
    return [Text("Clusters", style="bold"), indented(cluster_text(report.cluster))]


def cluster_text(cluster: ClusterAnswer) -> str:
    """How many clusters are resident at once, and how sure that is."""
    portable = "" if cluster.portable else ", a non-portable size (the kernel must opt in)"
    head = f"{cluster.cluster_size} blocks a cluster{portable}: "
    if cluster.refused:
        return f"{head}cannot launch, {cluster.refused}"
    if cluster.active_clusters is None:
        return f"{head}unknown, give the SM count with --sms"
    if cluster.exact:
        return f"{head}{cluster.active_clusters} clusters at once"
    return f"{head}at most {cluster.active_clusters} clusters at once (GPC layout unknown)"


# ---- block sizes ----------------------------------------------------------------------------


def sweep_table(report: LaunchReport) -> WideOrStacked:
    """Occupancy over block sizes; ``>`` marks the launch's own, ``best`` the best one."""
    own = report.launch.padded_block_size
    shown = sorted({*_SHOWN_BLOCK_SIZES, own, report.best_block.block_size} & set(report.sweep))
    rows = [_sweep_row(report, block_size, own) for block_size in shown]
    columns = (
        Column("  threads", right=False),
        Column("blocks"),
        Column("warps"),
        Column("occupancy"),
        Column("", right=False, optional=True),
        Column("limited by", right=False, optional=True),
    )
    emphasised = frozenset(i for i, block_size in enumerate(shown) if block_size == own)
    return WideOrStacked(columns, rows, title="Block sizes", emphasised=emphasised)


def _sweep_row(report: LaunchReport, block_size: int, own: int) -> tuple[Cell, ...]:
    found = report.sweep[block_size]
    best = " (best)" if block_size == report.best_block.block_size else ""
    return (
        f"{'> ' if block_size == own else '  '}{block_size}{best}",
        str(found.blocks_per_sm),
        str(found.active_warps_per_sm),
        percent(found.fraction),
        Text("#" * round(found.fraction * _BAR_CELLS), style=colour(found.fraction)),
        limiters_text(found),
    )
