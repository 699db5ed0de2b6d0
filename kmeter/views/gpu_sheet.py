"""One card in full: its parameters, its peaks, what is unknown, and who says all this."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.compute_units import dense
from kmeter.model.device import Device
from kmeter.units import UNKNOWN, number, si, size
from kmeter.views.gpu_card import Card
from kmeter.views.gpu_peaks import MARK, PeaksTable, called
from kmeter.views.tables import Pairs, indented


@dataclass(frozen=True)
class GpuSheet:
    """Everything the catalogue knows of a card, and how far it is from the data sheet."""

    card: Card

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        card = self.card
        yield Text(card.device.name, style="bold")
        yield Pairs([*_names(card), *_parameters(card.device)], indent=2)
        yield ""
        yield Text("Peaks", style="bold")
        yield PeaksTable(card)
        yield from _section("No figure", _reasons(card))
        yield from _section(f"Off by more than 1 % ({MARK})", _exceptions(card))
        yield from _section("Notes", card.device.notes)
        yield from _section("Sources", _sources(card))


def _section(title: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    if lines:
        yield ""
        yield Text(title, style="bold")
        yield from (indented(line) for line in lines)


# ---- parameters -----------------------------------------------------------------------------


def _names(card: Card) -> list[tuple[str, str]]:
    pairs = [("id", card.id), ("also", ", ".join(card.aliases)), ("product", card.product)]
    return [(name, value) for name, value in pairs if value]


def _parameters(device: Device) -> list[tuple[str, str]]:
    sm = device.architecture
    generation = sm.generation if sm else "not in the table"
    pairs = [
        ("compute capability", f"{device.compute_capability} ({generation})"),
        ("SMs", number(device.sm_count)),
        ("SM clock", si(device.sm_clock_hz, "Hz")),
        ("memory", _memory(device)),
        ("L2", size(device.l2_bytes)),
        ("TDP", UNKNOWN if device.tdp_w is None else f"{number(device.tdp_w)} W"),
    ]
    if device.tensor_clock_hz:
        pairs.insert(3, ("tensor clock", si(device.tensor_clock_hz, "Hz")))
    if device.halved_fp32_accumulate:
        pairs.append(("tensor", "fp32 accumulate at half rate"))
    return pairs


def _memory(device: Device) -> str:
    parts = [f"{number(device.memory_gb)} GB {device.memory_type}".rstrip()]
    if device.memory_bus_bits:
        parts.append(f"{device.memory_bus_bits} bit")
    if device.memory_bits_per_s_per_pin:
        parts.append(f"{si(device.memory_bits_per_s_per_pin, 'bit/s')} a pin")
    return ", ".join(parts)


# ---- what is missing, and who says what -----------------------------------------------------


def _reasons(card: Card) -> list[str]:
    """Each reason once, with the units that it leaves without a figure."""
    unknown = {unit: peak for unit, peak in card.peaks.flop_per_s.items() if peak.value is None}
    units: dict[str, list[str]] = {}
    for unit, peak in {"dram": card.peaks.dram_bytes_per_s, **unknown}.items():
        if peak.value is None and (unit == dense(unit) or dense(unit) not in unknown):
            units.setdefault(peak.reason, []).append(called(unit))
    return [_why_unknown(names, reason) for reason, names in units.items()]


def _why_unknown(names: list[str], reason: str) -> str:
    if names[0] in reason:
        return f"{UNKNOWN} {reason}"
    return f"{', '.join(names)}: {UNKNOWN} {reason}"


def _exceptions(card: Card) -> list[str]:
    return [
        f"{called(figure.unit)}: {figure.exception}"
        for figure in card.device.printed
        if figure.exception
    ]


def _sources(card: Card) -> list[str]:
    lines = [
        f"{position}: {card.citations.get(key, key)}"
        for position, key in enumerate(card.cited, start=1)
    ]
    if card.physical_sources:
        lines.append(f"clocks and counts from {card.footnotes(card.physical_sources)}")
    return lines
