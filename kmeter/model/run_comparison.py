"""Two runs of the same benchmarks: what became faster, what slower, and what a gate refuses."""

from collections.abc import Sequence
from dataclasses import dataclass

from kmeter.model.benchmark import BenchRun, Environment, Outcome, Row
from kmeter.model.change import NOTABLE, NOTABLE_ON_HOST, Change, Verdict, change, paired_change

MISSING, NEW = "missing", "new"


@dataclass(frozen=True)
class RowChange:
    """One benchmark in both runs, or in one of them."""

    label: str
    old: Row | None
    new: Row | None
    change: Change

    @property
    def word(self) -> str:
        """The verdict, or what keeps it from being one: ``missing``, ``new``, ``crashed``."""
        if self.new is None:
            return MISSING
        if not self.new.outcome.is_good:
            return str(self.new.outcome)
        if self.old is None:
            return NEW
        return str(self.change.verdict)

    @property
    def is_known(self) -> bool:
        """Whether both runs have a time and it is known how they compare."""
        return self.word in {Verdict.FASTER, Verdict.SLOWER, Verdict.SAME}


def compare_runs(old: BenchRun, new: BenchRun, *, is_whole: bool = True) -> tuple[RowChange, ...]:
    """Every benchmark of either run, in the new run's order, then what is missing from it.

    Where the new run was asked for only some of them, ``is_whole`` is False and nothing is missing.
    """
    before = {row.label: row for row in old.rows}
    found = [_row_change(before.get(row.label), row) for row in new.rows]
    there = {row.label for row in new.rows}
    missing = (row for row in old.rows if is_whole and row.label not in there)
    return (*found, *(RowChange(row.label, row, None, _unknown("not run")) for row in missing))


def against_rivals(run: BenchRun) -> tuple[RowChange, ...]:
    """Every benchmark beside its rival's, whose samples were taken in turns with its own."""
    return tuple(_beside_rival(row) for row in run.rows)


def _row_change(old: Row | None, new: Row) -> RowChange:
    if old is None:
        return RowChange(new.label, None, new, _unknown("the baseline has none of that name"))
    for row, which in ((new, ""), (old, "the baseline: ")):
        if not row.outcome.is_good:
            return RowChange(new.label, old, new, _unknown(f"{which}{row.reason or row.outcome}"))
    differing = _difference(old, new)
    if differing:
        return RowChange(new.label, old, new, _unknown(differing))
    return RowChange(new.label, old, new, change(old.used_s, new.used_s, _notable(new)))


def _beside_rival(row: Row) -> RowChange:
    if not row.outcome.is_good:
        return RowChange(row.label, None, row, _unknown(row.reason or str(row.outcome)))
    if not row.rival_samples_s:
        return RowChange(row.label, None, row, _unknown("the other file has none of that name"))
    rival = Row(row.name, row.parameters, samples_s=row.rival_samples_s, engine=row.engine)
    found = paired_change(row.rival_samples_s, row.samples_s, _notable(row))
    return RowChange(row.label, rival, row, found)


def _notable(row: Row) -> float:
    """The least change that is one, by the clock that a row was timed with."""
    return NOTABLE_ON_HOST if row.engine == "host" else NOTABLE


def _difference(old: Row, new: Row) -> str:
    """Why two times are not of the same thing; nothing where they are."""
    pairs = (
        ("timed by", old.engine, new.engine),
        ("L2", old.cache_state, new.cache_state),
        ("bytes per call", old.bytes_per_call, new.bytes_per_call),
        ("FLOP per call", old.flop_per_call, new.flop_per_call),
    )
    for what, before, now in pairs:
        if before != now and before is not None and now is not None:
            return f"{what} {before} then, {now} now"
    return ""


def _unknown(reason: str) -> Change:
    return Change(Verdict.CANNOT_TELL, None, None, reason)


def other_card(old: Environment, new: Environment) -> str:
    """Why two runs are not of one card (without a GPU: of one processor); nothing where they are."""
    if old.gpu_name is None and new.gpu_name is None:
        if not old.host_processor or old.host_processor == new.host_processor:
            return ""
        return f"{old.host_processor} then, {new.host_processor} now"
    if old.gpu_name != new.gpu_name:
        return f"{old.gpu_name or 'no GPU'} then, {new.gpu_name or 'no GPU'} now"
    if old.gpu_uuid and new.gpu_uuid and old.gpu_uuid != new.gpu_uuid:
        return f"another card of the same model: {old.gpu_uuid} then, {new.gpu_uuid} now"
    return ""


def refused(changes: Sequence[RowChange], fail_slower: float) -> list[str]:
    """What a gate does not let pass: slower by that share, wrong, crashed or missing; in words."""
    found = []
    for item in changes:
        if item.change.is_slower_by(fail_slower) and item.change.ratio is not None:
            found.append(f"{item.label} is slower ({_percent(item.change.ratio)})")
        elif item.new is None:
            found.append(f"{item.label} is missing")
        elif item.new.outcome is not Outcome.OK:
            found.append(f"{item.label} {item.new.outcome.in_words}")
    return found


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def undecided(changes: Sequence[RowChange]) -> list[str]:
    """Labels of which nobody can tell."""
    return [item.label for item in changes if item.word == Verdict.CANNOT_TELL]
