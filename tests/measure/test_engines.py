"""Pure parts of the timing engines: CUPTI's records, stopping, throttled samples, the kernels' text."""

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kmeter.bench.sampling import Batch, take, throttled_samples
from kmeter.measure.engines import SHORTEST_S, in_turns, turns
from kmeter.measure.engines.cupti import Activity, spans
from kmeter.measure.engines.host import HostEngine
from kmeter.measure.stopping import StopRule
from kmeter.measure.telemetry import Glimpse, slowed

ROOT = Path(__file__).parent.parent.parent
MARK = "kmeter_nothing"


# ---- CUPTI ----------------------------------------------------------------------------------


def test_a_span_is_from_the_first_start_to_the_last_end() -> None:
    records = [
        Activity(0, 900, "memset"),
        Activity(1000, 1010, MARK),
        Activity(1100, 2100, "first"),
        Activity(2000, 4100, "second, beside it"),
        Activity(4200, 4210, MARK),
        Activity(5000, 5900, "memset"),
        Activity(6000, 6010, MARK),
        Activity(6100, 6300, "first"),
        Activity(6400, 6410, MARK),
    ]
    assert list(spans(records)) == pytest.approx([3e-6, 0.2e-6])
    assert list(spans(records[::-1])) == pytest.approx([3e-6, 0.2e-6]), "records come in any order"


def test_marks_around_nothing_are_a_span_of_nothing() -> None:
    assert list(spans([Activity(1, 2, MARK), Activity(3, 4, MARK)])) == [0.0]


def test_a_users_kernel_of_that_name_is_no_mark() -> None:
    records = [Activity(0, 1, MARK), Activity(2, 5, "nothing"), Activity(6, 7, MARK)]
    assert list(spans(records)) == pytest.approx([3e-9])


# ---- the host's clock -----------------------------------------------------------------------


def test_the_host_engine_takes_its_own_cost_off() -> None:
    engine = HostEngine()
    (times,) = engine.sample([lambda: None], 50)
    assert sorted(times)[25] < 0.2e-6


def test_the_host_engine_sees_a_sleep() -> None:
    (times,) = HostEngine().sample([lambda: time.sleep(0.002)], 3)
    assert min(times) >= 0.002


def test_a_call_that_does_nothing_still_takes_a_time_above_zero() -> None:
    engine = HostEngine()
    engine.overhead_s = 1.0
    assert engine.sample([lambda: None], 3) == [[SHORTEST_S] * 3]


def test_turns_go_forwards_and_backwards() -> None:
    calls: list[Any] = [1, 2, 3]
    assert [index for index, _ in turns(calls, 0)] == [0, 1, 2]
    assert [index for index, _ in turns(calls, 1)] == [2, 1, 0]


def test_all_rounds_in_turns() -> None:
    calls: list[Any] = ["a", "b"]
    order = in_turns(calls, 2)
    assert [index for index, _ in order] == [0, 1, 1, 0]
    assert [str(call) for _, call in order] == ["a", "b", "b", "a"]


# ---- stopping -------------------------------------------------------------------------------


def test_what_stops_a_series() -> None:
    rule = StopRule(precision=0.01, time_limit_s=1.0, least=20, least_time_s=0.1, most=100)
    steady, noisy = [1.0] * 30, [1.0, 2.0] * 15
    assert rule.met(steady, 0.1) == "precision"
    assert rule.met(steady[:19], 0.1) == ""
    assert rule.met(steady, 0.09) == ""
    assert rule.met(noisy, 0.1) == ""
    assert rule.met(noisy, 1.0) == "time limit"
    assert rule.met(noisy * 4, 0.1) == "count"


def test_the_next_rounds_take_a_tenth_of_the_time() -> None:
    rule = StopRule(time_limit_s=1.0, most=100)
    assert rule.next_rounds([], 0.0) == 1
    assert rule.next_rounds([1.0] * 10, 0.1) == 10
    assert rule.next_rounds([1.0] * 10, 1e-6) == 64
    assert rule.next_rounds([1.0] * 10, 10.0) == 1
    assert rule.next_rounds([1.0] * 95, 1e-6) == 5


class Scripted:
    """An engine whose samples are known."""

    name, overhead_s, calls_wait = "scripted", 0.0, False

    resolution_s = 0.0

    def __init__(self) -> None:
        self.taken = 0

    def sample(self, calls: Any, rounds: int) -> list[list[float]]:
        self.taken += rounds
        return [[1e-5] * rounds for _ in calls]

    def remarks(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        pass


def test_throttled_samples_are_taken_again_and_none_is_dropped() -> None:
    engine = Scripted()
    hot: list[Glimpse] = []

    def glimpses() -> list[Glimpse]:
        if not hot:
            hot.append(Glimpse(time.monotonic(), 1e9, 0x40))
            hot.append(Glimpse(0.0, 1e9, 0))
        return hot

    rule = StopRule(precision=0.5, least=20, most=200)
    found = take(engine, [lambda: None], rule, glimpses, lambda samples: None)
    assert len(found.samples[0]) == engine.taken
    assert found.stopped_by in {"precision", "count"}


def test_a_batch_is_throttled_where_the_card_was_seen_slowed_down() -> None:
    batches = [Batch(0, 3, 0.0, 1.0), Batch(3, 5, 1.0, 2.0)]
    glimpses = [Glimpse(0.5, 2e9, 0), Glimpse(1.5, 2e9, 0x40), Glimpse(1.7, 2e9, 0)]
    assert throttled_samples(batches, glimpses) == (3, 4)


def test_a_batch_between_two_glimpses_is_as_the_one_before_it() -> None:
    batches = [Batch(0, 2, 0.6, 0.7), Batch(2, 4, 1.6, 1.65)]
    glimpses = [Glimpse(0.5, 2e9, 0x40), Glimpse(1.5, 2e9, 0), Glimpse(1.7, 2e9, 0)]
    assert throttled_samples(batches, glimpses) == (0, 1)


@pytest.mark.parametrize(
    ("glimpse", "is_slow"),
    [
        (Glimpse(3.0, 2e9, 0), False),
        (Glimpse(3.0, 1.8e9, 0), True),
        (Glimpse(3.0, 2e9, 0x8), True),
        (Glimpse(3.0, 2e9, 0x4), False),  # a kernel at the card's power cap always runs like that
        (Glimpse(3.0, None, None), False),
    ],
)
def test_slowed_down_is_a_lower_clock_or_heat(glimpse: Glimpse, is_slow: bool) -> None:
    usual = [Glimpse(float(n), 2e9, 0) for n in range(3)]
    assert slowed([*usual, glimpse]) == ([glimpse] if is_slow else [])


# ---- the kernels ----------------------------------------------------------------------------


def test_the_ptx_is_that_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """As this compiler writes it: register names may differ between its versions."""
    pytest.importorskip("cupy_backends")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    generator = import_module("generate_engine_kernels")
    stored = (generator.HERE / "kernels.ptx").read_text("utf-8")
    assert instructions(generator.ptx()) == instructions(stored)
    assert ".version 6.3\n.target sm_50" in stored
    sys.modules.pop("generate_engine_kernels")


def instructions(ptx: str) -> list[str]:
    return [line.split()[0] for line in ptx.splitlines() if line.startswith("\t")]
