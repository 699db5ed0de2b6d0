"""Series over minutes, and how long clocks were held back."""

from kmeter.model.card import Fact, Identity
from kmeter.model.history import HeldBack, History
from kmeter.model.live import LiveGpu, Moment

FIRST = Identity(0, 0, "0000:01:00.0", "GPU-1", "one", False)
SECOND = Identity(1, 1, "0000:02:00.0", "GPU-2", "two", False)


def moment(second: int, *masks: int) -> Moment:
    gpus = tuple(
        LiveGpu(who, {"throttle_reasons_mask": Fact(mask), "power_w": Fact(100.0 + second)})
        for who, mask in zip((FIRST, SECOND), masks, strict=False)
    )
    return Moment(f"2026-12-03T00:{second // 60:02}:{second % 60:02}+00:00", gpus)


def test_a_reason_lasts_from_the_reading_before() -> None:
    history = History()
    for second, mask in ((0, 0), (1, 4), (2, 4), (4, 0), (5, 0x20)):
        history.add(moment(second, mask))
    assert history.held_back(FIRST) == (
        HeldBack("software thermal slowdown", 1.0, True),
        HeldBack("power cap", 2.0, False),
    )
    assert history.seconds == 5.0


def test_each_gpu_has_its_own() -> None:
    history = History()
    history.add(moment(0, 0, 0))
    history.add(moment(1, 4, 0))
    assert history.held_back(SECOND) == ()
    assert [gpu.fact("power_w").value for gpu in history.of(FIRST, 5)] == [100.0, 101.0]


def test_nothing_is_known_of_a_long_gap() -> None:
    history = History()
    history.add(moment(0, 4))
    history.add(moment(600, 4))
    assert history.held_back(FIRST) == (HeldBack("power cap", 0.0, True),)


def test_the_oldest_is_forgotten() -> None:
    history = History(kept=3)
    for second in range(10):
        history.add(moment(second, 0))
    assert len(history.of(FIRST, 100)) == 3
    assert history.seconds == 2.0


def test_an_empty_history_knows_nothing() -> None:
    history = History()
    assert history.last is None
    assert history.seconds == 0.0
    assert history.of(FIRST, 3) == []
    assert history.held_back(FIRST) == ()
