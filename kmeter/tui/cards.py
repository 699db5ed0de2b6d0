"""The cards that the dashboard knows the facts of: this machine's, or those of a session's names."""

from collections.abc import Iterable
from functools import lru_cache

from kmeter.errors import KmeterError
from kmeter.model.card import Card, Identity, Machine
from kmeter.model.ceiling import CeilingRun
from kmeter.model.device import Source
from kmeter.sources import open_machine
from kmeter.sources._ceilings import embedded_references, reference_ceilings, saved_ceilings
from kmeter.sources.catalogue import twin
from kmeter.sources.snapshot import embedded_names


def machine_here() -> Machine:
    """Every card of this machine; raises NoGpuError without one."""
    return open_machine(None)


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


def card_of(machine: Machine | None, identity: Identity | None) -> Card | None:
    """The card of a GPU that is watched: by UUID, else by name; the only one where none is asked for."""
    if machine is None or not machine.cards:
        return None
    if identity is None:
        return machine.cards[0]
    by_uuid = (card for card in machine.cards if card.uuid and card.uuid == identity.uuid)
    by_name = (card for card in machine.cards if card.device.name == identity.name)
    return next(by_uuid, None) or next(by_name, None)


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


def ceilings_of(card: Card) -> CeilingRun | None:
    """What was measured on this very card; of a recorded one, what was measured on its like."""
    return _ceilings_of(card.uuid, card.device.name, card.device.source is Source.DRIVER)
