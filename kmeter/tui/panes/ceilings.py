"""What the card really delivers: measured from here, or what was measured before."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from kmeter.errors import NoGpuError
from kmeter.measure.client import Client
from kmeter.measure.collect import Collector
from kmeter.measure.events import Event, Finished, Note, Planned, Started
from kmeter.measure.plan import Options
from kmeter.model.card import Card
from kmeter.model.ceiling import CeilingRun
from kmeter.model.device import Source
from kmeter.tui.drawing import View
from kmeter.tui.panes._work import WorkPane
from kmeter.views.ceiling import CeilingView


class Ceilings(WorkPane):
    """``r`` measures the main ones, ``R`` all; the table grows as they are finished."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("R", "begin_all", "all", show=False)]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._card: Card | None = None
        self._reason = "not read yet"
        self._collector = Collector()
        self._is_quick = True

    def show_card(self, card: Card | None, reason: str) -> None:
        self._card, self._reason = card, reason
        if not self.is_working:
            self._show(self.dashboard.cards.ceilings_of(card), "")

    def _show(self, run: CeilingRun | None, reason: str) -> None:
        here = self._card is not None and self._card.device.source is Source.DRIVER
        way = (
            "r measures the main ones (about 10 s), R all (minutes)"
            if here
            else "measuring needs a card of this machine"
        )
        if run is None:
            self.tell(reason or f"no ceilings of this card: {way}", is_trouble=bool(reason))
            self.query_one("#run", View).draw("")
            return
        self.tell(
            reason or f"measured {run.started_at[:16].replace('T', ' ')}; {way}",
            is_trouble=bool(reason),
        )
        self.query_one("#run", View).draw(CeilingView(run))

    # ---- measuring ------------------------------------------------------------------------

    def action_begin(self) -> None:
        self._begin(is_quick=True)

    def action_begin_all(self) -> None:
        self._begin(is_quick=False)

    def _begin(self, *, is_quick: bool) -> None:
        if not self.is_working:
            self._is_quick = is_quick
            super().action_begin()

    def client(self) -> Client:
        card = self._card
        if card is None or card.device.source is not Source.DRIVER:
            raise NoGpuError("ceilings are measured on a card of this machine")
        self._collector = Collector()
        options = Options(quick=self._is_quick)
        return Client(card.uuid or str(card.ordinal or 0), options, is_quiet=True)

    def events_of(self, client: Any) -> Iterator[Event]:
        from kmeter.measure.catalogue import names_of

        found: Iterator[Event] = client.events(names_of(quick=self._is_quick))
        return found

    def take(self, event: Event) -> None:
        self._collector.take(event)
        if isinstance(event, Planned):
            self.count = len(event.names)
        elif isinstance(event, Started):
            self._tell_probe(event.name)
        elif isinstance(event, Note):
            self._tell_probe(f"{event.name}, {event.text}")
        elif isinstance(event, Finished):
            self.query_one("#run", View).draw(
                CeilingView(replace(self._collector.run, is_complete=True))
            )

    def _tell_probe(self, text: str) -> None:
        self.tell_at_work(len(self._collector.run.ceilings), text)

    def ended(self, reason: str) -> None:
        run = self._collector.run if self._collector.has_begun else None
        if run is not None and run.ceilings:
            self.dashboard.cards.measured = run
        self._show(run, reason)
