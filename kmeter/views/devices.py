"""The GPUs of a machine by all their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType

from kmeter.model.card import Identity
from kmeter.units import UNKNOWN
from kmeter.views.tables import Column, WideOrStacked

_WIDE = 112
_SHORT_UUID = len("GPU-01234567")
"""As much of a UUID as CUDA_VISIBLE_DEVICES takes where it is unique."""


@dataclass(frozen=True)
class DevicesView:
    """A row a GPU, also for those that CUDA does not see."""

    found: Sequence[Identity]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        columns = (
            Column("CUDA"),
            Column("NVML"),
            Column("bus id", right=False),
            Column("name", right=False),
            Column("MIG", right=False),
            Column("UUID", right=False),
        )
        is_wide = options.max_width >= _WIDE
        yield WideOrStacked(columns, [self._row(identity, is_wide) for identity in self.found])
        if any(identity.ordinal is None for identity in self.found):
            yield "CUDA does not see the rows without a CUDA index: see CUDA_VISIBLE_DEVICES"

    @staticmethod
    def _row(identity: Identity, is_wide: bool) -> tuple[str, ...]:
        uuid = identity.uuid or UNKNOWN
        shown = (identity.ordinal, identity.nvml_index, identity.pci_bus_id, identity.name)
        mig = {None: UNKNOWN, True: "on", False: "off"}[identity.mig]
        texts = [UNKNOWN if value is None else str(value) for value in shown]
        return (*texts, identity.lost or mig, uuid if is_wide else uuid[:_SHORT_UUID])


def devices_document(found: Sequence[Identity]) -> dict[str, Any]:
    """``kmeter.devices/1``."""
    return {
        "schema": "kmeter.devices/1",
        "devices": [
            {
                "ordinal": identity.ordinal,
                "nvml_index": identity.nvml_index,
                "pci_bus_id": identity.pci_bus_id,
                "uuid": identity.uuid,
                "name": identity.name,
                "mig": identity.mig,
                "lost_reason": identity.lost or None,
            }
            for identity in found
        ],
    }
