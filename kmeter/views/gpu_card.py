"""A card of the catalogue as its views need it: the device, its names, and who says so."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kmeter.model.device import Device
from kmeter.model.peaks import Peaks, peaks


@dataclass(frozen=True)
class Card:
    """What a card is called, what it is, and where both come from."""

    id: str
    device: Device
    aliases: tuple[str, ...] = ()
    product: str = ""
    physical_sources: tuple[str, ...] = ()
    """Where the clocks and counts come from, as keys of ``citations``."""
    citations: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def peaks(self) -> Peaks:
        """What the card could do at best."""
        return peaks(self.device)

    @cached_property
    def cited(self) -> tuple[str, ...]:
        """The sources in the order in which the figures first need them."""
        figures = [key for figure in self.device.printed for key in figure.sources]
        return tuple(dict.fromkeys((*figures, *self.physical_sources)))

    def footnotes(self, keys: Iterable[str]) -> str:
        """``1,3``: the places of ``keys`` among the sources cited."""
        return ",".join(str(self.cited.index(key) + 1) for key in keys)
