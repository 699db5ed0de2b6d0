"""Benchmarks for people: a table of times and shares, the card while it ran, and what went wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.benchmark import BenchRun, CacheState, Environment, Outcome, Row
from kmeter.model.change import Change, Verdict
from kmeter.model.launched_kernel import LaunchedKernel
from kmeter.model.run_comparison import RowChange
from kmeter.model.samples import Interval
from kmeter.model.score import score
from kmeter.model.throttle import throttle_words
from kmeter.units import UNKNOWN, celsius, number, percent, quoted, scaled, si, size
from kmeter.views.occupancy import RESOURCES
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

COLUMNS = (
    Column("kernel", right=False),
    Column("median"),
    Column("±"),
    Column("GB/s"),
    Column("TFLOP/s"),
    Column("bound", optional=True),
    Column("% roof"),
    Column("% ceiling", optional=True),
    Column("vs ref"),
    Column("correct"),
    Column("L2", optional=True),
    Column("by", optional=True),
)
_CONDITIONS = (
    Column("card while it ran", right=False),
    Column("SM clock"),
    Column("memory"),
    Column("power"),
    Column("temp."),
    Column("% roof at clock"),
    Column("host"),
    Column("J/call", optional=True),
)
_CHANGES = (
    Column("kernel", right=False),
    Column("before"),
    Column("now"),
    Column("ratio"),
    Column("95 % interval"),
    Column("verdict", right=False),
)
_KERNELS_SHOWN = 3
_STATES = {CacheState.UNKNOWN: UNKNOWN}


@dataclass(frozen=True)
class BenchView:
    """One run."""

    run: BenchRun

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        run = self.run
        yield Text.assemble((where(run.environment), "bold"), _when(run))
        rows = [row for row in run.rows if row.samples_s]
        if rows:
            yield ""
            yield table_of(rows)
            yield ""
            yield from map(indented, legend(rows))
        watched = [row for row in rows if row.conditions.samples or row.host_s is not None]
        if watched:
            yield ""
            yield _told(_CONDITIONS, [_condition(row) for row in watched])
        yield from _remarks(run)


def where(environment: Environment) -> str:
    """The card, or the processor where there is none."""
    if environment.gpu_name:
        return f"{environment.gpu_name} ({environment.compute_capability})"
    return environment.host_processor or "this machine"


def _when(run: BenchRun) -> str:
    environment = run.environment
    parts = [
        f"driver {environment.driver_version}" if environment.driver_version else "",
        environment.file,
        run.started_at[:10],
        "" if run.is_complete else "interrupted",
    ]
    return "".join(f", {part}" for part in parts if part)


def _row(row: Row) -> tuple[Cell, ...]:
    found = score(row)
    return (
        row.label,
        *figures(row),
        str(found.bound or UNKNOWN),
        percent(found.fraction_of_roof),
        percent(found.fraction_of_ceiling),
        speedup_text(row),
        correct_text(row),
        _STATES.get(row.cache_state, str(row.cache_state)),
        row.engine,
    )


def table_of(rows: Sequence[Row]) -> WideOrStacked:
    """The rows, without the columns of which nothing is known."""
    return _told(COLUMNS, [_row(row) for row in rows])


def _told(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> WideOrStacked:
    """A table without the columns of which nothing is known."""
    told = [n for n in range(len(columns)) if any(str(row[n]) != UNKNOWN for row in rows)]
    return WideOrStacked([columns[n] for n in told], [[row[n] for n in told] for row in rows])


def legend(rows: Sequence[Row]) -> Iterator[str]:
    """What the columns mean, and why one is not there."""
    yield "±: half the 95 % interval of the median"
    if any(row.speedups for row in rows):
        yield "vs ref: the reference's time over this one's, above 1 is faster"
    if not all(row.check for row in rows):
        yield f"correct {UNKNOWN}: there is no reference"
    reasons = {score(row).reason for row in rows if row.bytes_per_call or row.flop_per_call}
    for reason in sorted(reasons - {""}):
        yield f"% roof {UNKNOWN}: {reason}"


def figures(row: Row) -> tuple[str, str, str, str]:
    """Median, half its interval as a share of it, GB/s and TFLOP/s."""
    found, times = score(row), row.times
    return (
        si(row.median_s, "s"),
        percent(times.precision if times else None, 2),
        scaled(found.bytes_per_s, 1e9),
        scaled(found.flop_per_s, 1e12),
    )


def speedup_text(row: Row) -> str:
    """``1.43x``; a dash where there is no reference."""
    if row.speedup is None:
        return UNKNOWN
    return f"{number(row.speedup, 3)}x"


def correct_text(row: Row) -> Text:
    """``yes``, ``NO``, or a dash where nothing was compared."""
    if row.outcome is Outcome.IMPOSSIBLE:
        return Text("impossible", style="bold red")
    if row.outcome is Outcome.WRONG or row.correct is False:
        return Text("NO", style="bold red")
    return Text("yes", style="green") if row.correct else Text(UNKNOWN)


def _condition(row: Row) -> tuple[Cell, ...]:
    held = row.conditions
    return (
        row.label,
        si(held.sm_clock_hz, "Hz"),
        si(held.memory_clock_hz, "Hz"),
        si(held.power_w, "W", 3),
        celsius(held.temperature_c),
        percent(score(row).fraction_at_clock),
        si(row.host_s, "s", 3),
        si(row.energy_j, "J", 3),
    )


# ---- remarks --------------------------------------------------------------------------------


def _remarks(run: BenchRun) -> Iterator[RenderableType]:
    lines = [line for row in run.rows for line in remarks_of(row)]
    if lines:
        yield ""
    for line in lines:
        yield indented(line)


def remarks_of(row: Row) -> Iterator[Text]:
    """What the table does not say of a row: what went wrong, then what to know."""
    if not row.outcome.is_good:
        yield Text(f"{row.label} {row.outcome}: {row.reason}", style="bold red")
        return
    found = score(row)
    if row.is_launch_bound:
        yield Text(
            f"{row.label} is launch-bound: host {si(row.host_s, 's', 2)}, "
            f"GPU {si(row.median_s, 's', 2)}",
            style="yellow",
        )
    if (
        found.fraction_of_roof is not None
        and found.fraction_of_roof > 1
        and row.roofs.unit_is_assumed
    ):
        yield Text(f"{row.label} is above the fp32 roof: name its dtype, such as fp16-tensor")
    if row.throttled:
        share = percent(len(row.throttled) / len(row.samples_s), 2)
        yield Text(f"{row.label}: the card was slowed down in {share} of the samples", "yellow")
    reasons = list(throttle_words((row.conditions.throttle_reasons_mask or 0) & ~0x1))
    if reasons:
        yield Text(f"{row.label}: {', '.join(reasons)}", style="yellow")
    if row.stopped_by == "time limit":
        yield Text(f"{row.label}: the time was up before the precision, see --time-limit")
    if row.check is not None and row.check.same_inputs:
        yield Text(f"{row.label}: args gives the same values each time, a kept result is not seen")
    for kernel in row.kernels[:_KERNELS_SHOWN]:
        yield Text(f"{row.label}: {kernel_text(kernel)}", style="dim")
    if len(row.kernels) > _KERNELS_SHOWN:
        yield Text(
            f"{row.label}: and {len(row.kernels) - _KERNELS_SHOWN} other kernels", style="dim"
        )
    for note in row.notes:
        yield Text(f"{row.label}: {note}")


def kernel_text(kernel: LaunchedKernel) -> str:
    """``32 registers, blocks of 256, 100 % occupancy by warps (vector_add)``."""
    threads = prod(kernel.block) if kernel.block else None
    shared = (kernel.static_shared_bytes or 0) + (kernel.dynamic_shared_bytes or 0)
    parts = [
        UNKNOWN
        if kernel.registers_per_thread is None
        else f"{kernel.registers_per_thread} registers",
        *([f"{size(shared)} shared"] if shared else []),
        *([f"blocks of {threads}"] if threads else []),
    ]
    if kernel.occupancy is not None:
        by = " and ".join(RESOURCES[name] for name in kernel.limiters)
        parts.append(f"{percent(kernel.occupancy)} occupancy by {by}")
    return f"{', '.join(parts)} ({quoted(kernel.name, 40)})"


# ---- changes --------------------------------------------------------------------------------

_COLOURS = {Verdict.FASTER: "green", Verdict.SLOWER: "bold red"}


@dataclass(frozen=True)
class ChangesView:
    """Two runs beside each other."""

    changes: tuple[RowChange, ...]
    baseline: str

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield Text(f"against {self.baseline}", style="bold")
        yield WideOrStacked(_CHANGES, [_change_row(item) for item in self.changes])
        for item in self.changes:
            if item.change.reason and item.word not in {"new", "missing"}:
                yield indented(f"{item.label}: {item.change.reason}")


def _change_row(item: RowChange) -> tuple[Cell, ...]:
    return (
        *change_figures(item),
        Text(verdict_text(item), style=_COLOURS.get(item.change.verdict, "")),
    )


def change_figures(item: RowChange) -> tuple[str, ...]:
    """Label, both medians, the ratio and its interval."""
    return (
        item.label,
        si(item.old.median_s if item.old else None, "s"),
        si(item.new.median_s if item.new else None, "s"),
        number(item.change.ratio),
        interval_text(item.change.interval),
    )


def interval_text(interval: Interval | None) -> str:
    """``0.98 to 1.02``; a dash where there is none."""
    if interval is None:
        return UNKNOWN
    return f"{number(interval.low)} to {number(interval.high)}"


def verdict_text(item: RowChange) -> str:
    """``12.3 % faster``, ``same``, ``missing``."""
    by = _by(item.change)
    return f"{by} {item.word}" if item.word in {Verdict.FASTER, Verdict.SLOWER} else item.word


def _by(change: Change) -> str:
    """How much less or more time the new one takes."""
    return percent(abs((change.ratio or 1.0) - 1), 3)
