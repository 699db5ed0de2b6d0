"""The race between variants, on a GPU whose times are plain numbers."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from kmeter.measure.gpu import Gpu, Launch
from kmeter.measure.plan import Options
from kmeter.measure.race import Entrant, heat, passes_lasting, race, ranked


class Stopwatch:
    """A GPU that takes as long as ``seconds_of`` says, and writes down what it was given."""

    def __init__(self, seconds_of: Callable[[str, int], float]) -> None:
        self._seconds_of = seconds_of
        self.timed: list[str] = []
        self.launched: list[str] = []

    def entrant(self, label: str, work: float = 1.0, **more: Any) -> Entrant:
        return Entrant(label, lambda: self.launched.append(label), work, **more)

    def seconds(self, launch: Launch, times: int = 1, *, lead: Launch | None = None) -> float:
        if lead:
            lead()
        before = len(self.launched)
        for _ in range(times):
            launch()
        label = self.launched[before]
        self.timed.append(label)
        return self._seconds_of(label, self.timed.count(label))

    @property
    def gpu(self) -> Gpu:
        return cast("Gpu", self)


def test_the_fastest_wins_with_its_own_samples() -> None:
    watch = Stopwatch(lambda label, n: {"a": 2e-3, "b": 1e-3, "c": 3e-3}[label])
    winner = race(watch.gpu, [watch.entrant(x, 10.0) for x in "abc"], Options(repeat=4))
    assert winner.entrant.label == "b"
    assert list(winner.rates) == pytest.approx([10 / 1e-3] * 4)
    assert winner.sm_clock_hz is None


def test_work_counts_and_not_time() -> None:
    watch = Stopwatch(lambda label, n: {"long": 4e-3, "short": 1e-3}[label])
    entrants = [watch.entrant("long", 8.0), watch.entrant("short", 1.0)]
    assert race(watch.gpu, entrants, Options(repeat=3)).entrant.label == "long"


def test_finalists_are_measured_in_turn() -> None:
    watch = Stopwatch(lambda label, n: 1.0)
    race(watch.gpu, [watch.entrant("a"), watch.entrant("b")], Options(repeat=3))
    assert "".join(watch.timed[-6:]) == "abbaab"


def test_one_lucky_sample_does_not_win() -> None:
    def seconds(label: str, n: int) -> float:
        return 0.1e-3 if (label, n) == ("lucky", 4) else {"lucky": 2e-3, "steady": 1e-3}[label]

    watch = Stopwatch(seconds)
    winner = race(watch.gpu, [watch.entrant("lucky"), watch.entrant("steady")], Options(repeat=5))
    assert winner.entrant.label == "steady"


def test_slow_variants_do_not_reach_the_final() -> None:
    watch = Stopwatch(lambda label, n: float(label))
    entrants = [watch.entrant(str(n)) for n in range(1, 31)]
    race(watch.gpu, entrants, Options(quick=True, repeat=1))
    assert watch.timed.count("30") == 1
    assert watch.timed.count("1") > 3


def test_after_a_rest_only_the_short_launch_leads() -> None:
    watch = Stopwatch(lambda label, n: 1.0)
    burst = watch.entrant("burst", lead=lambda: watch.launched.append("lead"))
    race(watch.gpu, [burst], Options(repeat=2), rest_s=1e-6)
    assert watch.launched[-4:] == ["lead", "burst", "lead", "burst"]


def test_few_entrants_need_no_heat() -> None:
    watch = Stopwatch(lambda label, n: float(label))
    entrants = [watch.entrant("2"), watch.entrant("1")]
    assert heat(watch.gpu, entrants, 2) == entrants
    assert watch.timed == []
    assert [e.label for e in ranked(watch.gpu, entrants)] == ["1", "2"]


def test_it_tells_how_far_it_is() -> None:
    told: list[str] = []
    watch = Stopwatch(lambda label, n: 1.0)
    race(watch.gpu, [watch.entrant("a")], Options(repeat=2), told.append)
    assert told == ["1 of 2 samples", "2 of 2 samples"]


@pytest.mark.parametrize("per_pass", [1e-8, 1e-6, 1e-3, 10.0])
def test_passes_fill_the_time(per_pass: float) -> None:
    passes: list[int] = []

    class Counting(Stopwatch):
        def seconds(self, launch: Launch, times: int = 1, *, lead: Launch | None = None) -> float:
            launch()
            return passes[-1] * per_pass + 5e-6

    gpu = Counting(lambda label, n: 0.0).gpu
    found = passes_lasting(gpu, 5e-3, passes.append)
    assert found == 1 or 0.9 * 5e-3 <= found * per_pass + 5e-6 <= 1.1 * 5e-3
    assert max(passes) * per_pass <= max(6e-3, 16 * per_pass)
