"""Ceilings for people: a table, the hierarchy, the sweeps, and what did not work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.ceiling import Ceiling, CeilingRun, Measure, Point, Status
from kmeter.model.ceiling_check import Shortfall
from kmeter.model.throttle import throttle_words
from kmeter.units import UNKNOWN, percent, si, size
from kmeter.views.ceiling_picture import HierarchyPicture, has_levels
from kmeter.views.log_axis import power_of_two
from kmeter.views.sweep_plot import SweepPlot
from kmeter.views.tables import Cell, Column, WideOrStacked, indented

UNITS = {
    Measure.BYTES_PER_S: "B/s",
    Measure.FLOP_PER_S: "FLOP/s",
    Measure.OP_PER_S: "OP/s",
    Measure.SECONDS: "s",
}
IDLE_AND_POWER = 0x1 | 0x4
"""Throttle reasons that a note need not repeat for every tensor burst."""

_COLUMNS = (
    Column("ceiling", right=False),
    Column("measured"),
    Column("spread"),
    Column("% of peak"),
    Column("at clock"),
    Column("clock"),
)


@dataclass(frozen=True)
class CeilingView:
    """One run."""

    run: CeilingRun

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        run = self.run
        yield Text.assemble((run.gpu_name, "bold"), f" ({run.compute_capability}), {_when(run)}")
        rates = [c for c in run.ceilings if not c.points and c.status is Status.OK]
        if rates:
            yield ""
            yield WideOrStacked(_COLUMNS, [_row(ceiling) for ceiling in rates])
            yield ""
            yield from map(indented, peak_lines(rates))
        if has_levels(run):
            yield ""
            yield HierarchyPicture(run)
        for ceiling in run.ceilings:
            if len(ceiling.points) > 1:
                yield ""
                yield sweep_plot(ceiling, run)
        yield from _remarks(run)


def _when(run: CeilingRun) -> str:
    driver = f"driver {run.driver_version}, " if run.driver_version else ""
    quick = ", quick" if run.quick else ""
    unfinished = "" if run.is_complete else ", interrupted"
    return f"{driver}{run.started_at[:10]}{quick}{unfinished}"


def _row(ceiling: Ceiling) -> tuple[Cell, ...]:
    return (
        ceiling.name,
        value_text(ceiling),
        _spread_text(ceiling.spread),
        percent(ceiling.fraction_of_limit),
        percent(ceiling.fraction_at_clock) if ceiling.limit.clock_hz else UNKNOWN,
        clock_text(ceiling),
    )


def value_text(ceiling: Ceiling) -> str:
    """``4.585 TB/s`` or ``335.2 ns``."""
    return si(ceiling.value, UNITS[ceiling.measure])


def _spread_text(spread: float | None) -> str:
    """To the hundredth of a percent: less is chance."""
    return percent(None if spread is None else round(spread, 4), 2)


def clock_text(ceiling: Ceiling) -> str:
    """The SM clock that was held; a dash where nobody could tell."""
    return si(ceiling.conditions.sm_clock_hz, "Hz")


def peak_lines(ceilings: Sequence[Ceiling]) -> Iterator[str]:
    """Where the peaks come from: ``peak of DRAM, tensor: derived``.

    A level stands for its ceilings; one whose peak comes from elsewhere than its level's first
    stands for itself.
    """
    of_level: dict[str, str] = {}
    names: dict[str, dict[str, None]] = {}
    for ceiling in ceilings:
        if ceiling.measure.more_is_better:
            source = ceiling.limit.source or ceiling.limit.reason
            usual = of_level.setdefault(ceiling.level, source)
            name = ceiling.level if source == usual else ceiling.name
            names.setdefault(source, {})[name] = None
    for source, meant in names.items():
        yield f"peak of {', '.join(meant)}: {source}"


# ---- sweeps ---------------------------------------------------------------------------------


def sweep_plot(ceiling: Ceiling, run: CeilingRun) -> SweepPlot:
    """The curve of a sweep, with what the other ceilings of the run say beside it."""
    if ceiling.measure is Measure.BYTES_PER_S:
        return SweepPlot(
            "read bandwidth over the working set", ceiling.points, "B/s", lambda x: size(round(x))
        )
    limit = tuple(Point(p.x, roof) for p in ceiling.points if (roof := _roof(run, p.x)))
    return SweepPlot(
        "fp32 over arithmetic intensity, FLOP/byte" + (" (dim: the peaks)" if limit else ""),
        ceiling.points,
        "FLOP/s",
        power_of_two,
        limit,
    )


def _roof(run: CeilingRun, intensity: float) -> float | None:
    """What DRAM's and fp32's theoretical peaks allow; None where one is unknown."""
    dram, fp32 = run.named("dram-read"), run.named("arithmetic-fp32")
    if not (dram and fp32 and dram.limit.value and fp32.limit.value):
        return None
    return min(dram.limit.value * intensity, fp32.limit.value)


# ---- remarks --------------------------------------------------------------------------------


def _remarks(run: CeilingRun) -> Iterator[RenderableType]:
    lines = [line for ceiling in run.ceilings for line in _remark(ceiling)]
    if lines:
        yield ""
    yield from map(indented, lines)


def _remark(ceiling: Ceiling) -> Iterator[Cell]:
    if ceiling.status is Status.FAILED:
        yield Text(f"{ceiling.name} failed: {ceiling.reason}", style="bold red")
    elif ceiling.status is not Status.OK:
        yield f"{ceiling.name} {ceiling.status}: {ceiling.reason}"
    elif ceiling.note:
        yield f"{ceiling.name}: {ceiling.note}"
    mask = (ceiling.conditions.throttle_reasons_mask or 0) & ~IDLE_AND_POWER
    if mask:
        yield Text(f"{ceiling.name}: {', '.join(throttle_words(mask))}", style="yellow")


def shortfall_text(item: Shortfall) -> str:
    """``dram-read: 91.2 % of the reference (power cap)``."""
    causes = ", ".join(item.causes) or "no cause seen"
    if item.fraction is None:
        return f"{item.name}: no value ({causes})"
    return f"{item.name}: {percent(item.fraction)} of the reference ({causes})"
