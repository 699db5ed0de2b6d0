"""The loop that reads GPUs: who is told, what is kept, and what does not end it."""

from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from kmeter.errors import KmeterError
from kmeter.model.card import Fact, Identity
from kmeter.model.live import LiveGpu, Moment
from kmeter.sources._live import LiveCards
from kmeter.sources._session import SessionWriter, read_session
from kmeter.sources._watch import watch

GPU = LiveGpu(Identity(0, 0, None, "GPU-1", "NVIDIA H200", mig=False), {"power_w": Fact(90.0)})


class Cards:
    """GPUs that answer what they are given, one reading after another."""

    def __init__(self, *readings: Moment | Exception) -> None:
        self.readings, self.is_closed = list(readings), False

    def read(self) -> Moment:
        found = self.readings.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        self.is_closed = True


def moment(second: int) -> Moment:
    return Moment(f"2026-12-02T22:00:0{second}.000+00:00", (GPU,))


def watched(cards: Cards, *listeners: Any, **options: Any) -> list[str]:
    """What failed until every reading was taken."""
    over, failures = Event(), list[str]()

    def count(_: object) -> None:
        if not cards.readings:
            over.set()

    def fail(error: KmeterError) -> None:
        failures.append(str(error))
        count(error)

    watch(cast("LiveCards", cards), 0.0, [*listeners, count], fail, over, **options)
    return failures


def test_everyone_is_told_and_then_it_is_recorded(tmp_path: Path) -> None:
    first, second = list[Moment](), list[Moment]()
    cards, file = Cards(moment(1), moment(2)), tmp_path / "session.jsonl"
    assert watched(cards, first.append, second.append, record=SessionWriter(file)) == []
    assert first == second == [moment(1), moment(2)]
    assert [m.at for m in read_session(file)] == [m.at for m in first]
    assert cards.is_closed


def test_a_reading_that_fails_is_told_and_the_next_is_tried() -> None:
    seen = list[Moment]()
    cards = Cards(moment(1), KmeterError("no NVML"), moment(2))
    assert watched(cards, seen.append) == ["no NVML"]
    assert seen == [moment(1), moment(2)]


def test_a_full_disk_hides_no_reading() -> None:
    seen = list[Moment]()
    full = SessionWriter(Path("/dev/full"))
    failures = watched(Cards(moment(1), moment(2)), seen.append, record=full)
    assert failures == ["not recorded: No space left on device"] * 2
    assert seen == [moment(1), moment(2)]


def test_what_a_failure_raises_ends_it() -> None:
    def give_up(error: KmeterError) -> None:
        raise error

    cards = Cards(KmeterError("no NVML"), moment(1))
    with pytest.raises(KmeterError, match="no NVML"):
        watch(cast("LiveCards", cards), 0.0, [], give_up, Event())
    assert cards.is_closed
    assert len(cards.readings) == 1
