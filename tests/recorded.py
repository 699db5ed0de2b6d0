"""The ceilings of a real H200, as the measuring process told them."""

from functools import cache
from pathlib import Path

from kmeter.measure.collect import Collector
from kmeter.measure.events import Event, event_of
from kmeter.model.ceiling import CeilingRun

DATA = Path(__file__).parent / "data" / "ceiling"
EVENTS = DATA / "h200-events.jsonl"


@cache
def h200_events() -> tuple[Event, ...]:
    return tuple(event_of(line) for line in EVENTS.read_bytes().splitlines())


@cache
def h200_run() -> CeilingRun:
    collector = Collector()
    for event in h200_events():
        collector.take(event)
    return collector.run
