"""The cards that the dashboard knows the facts of: this machine's, or those of a session's names."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from kmeter.errors import KmeterError, words_of
from kmeter.model.card import Card, Identity, Machine
from kmeter.model.ceiling import CeilingRun
from kmeter.model.device import Source
from kmeter.sources import open_machine
from kmeter.sources._ceilings import embedded_references, reference_ceilings, saved_ceilings
from kmeter.sources.catalogue import twin
from kmeter.sources.snapshot import embedded_names


class Cards:
    """A machine's cards as far as they were found, and what was measured on them."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self.reason = "not read yet"
        """Why there is no machine; empty where there is."""
        self.measured: CeilingRun | None = None
        """Ceilings that were measured while the dashboard ran."""

    def find(self, names: Sequence[str] | None) -> None:
        """The cards of a session by their names, or without names this machine's."""
        try:
            self.machine = open_machine(None) if names is None else machine_called(names)
        except Exception as error:
            self.reason = words_of(error)
            return
        is_missing = self.machine is None
        self.reason = f"kmeter has no recording of {' or '.join(names or ())}" if is_missing else ""

    def card_of(self, identity: Identity | None) -> Card | None:
        """The card of a GPU that is watched: by UUID, else by name; the first where none is asked for."""
        found = self.machine.cards if self.machine else ()
        if identity is None:
            return next(iter(found), None)
        by_uuid = (card for card in found if card.uuid and card.uuid == identity.uuid)
        by_name = (card for card in found if card.device.name == identity.name)
        return next(by_uuid, None) or next(by_name, None)

    def ceilings_of(self, card: Card | None) -> CeilingRun | None:
        """What was measured on this very card, just now or earlier; of a recorded one, on its like."""
        if card is None:
            return None
        if self.measured is not None and self.measured.uuid == card.uuid:
            return self.measured
        return _ceilings_of(card.uuid, card.device.name, card.device.source is Source.DRIVER)


def machine_called(names: Iterable[str]) -> Machine | None:
    """The first card that kmeter has a recording or an entry of by exactly one of these names."""
    recorded = [open_machine(f"snapshot:{embedded}") for embedded in embedded_names()]
    for name in names:
        entry = twin(name)
        same = (machine for machine in recorded if machine.cards[0].device.name == name)
        found = next(same, None) or (open_machine(entry.target) if entry else None)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=32)
def _ceilings_of(uuid: str | None, name: str, is_live: bool) -> CeilingRun | None:
    try:
        saved = saved_ceilings(uuid)
    except KmeterError:
        saved = None
    if saved is not None or is_live:
        return saved
    embedded = (reference_ceilings(reference) for reference in embedded_references())
    return next((run for run in embedded if run.gpu_name == name), None)
