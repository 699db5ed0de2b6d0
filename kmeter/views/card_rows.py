"""What is known about a card, as rows: one definition for tables, search, single values and diffs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kmeter.model.card import Card, Fact, Machine
from kmeter.model.compute_units import UNITS, label, operation
from kmeter.model.device import Device, Quantity, Source
from kmeter.model.peaks import Peaks, peaks
from kmeter.model.throttle import throttle_words
from kmeter.units import UNKNOWN, percent, si, size

HEADLINE_UNITS = ("fp64", "fp32", "fp16", "tf32_tensor", "fp16_tensor", "bf16_tensor", "fp8_tensor")
"""Peaks that a short sheet shows; --all shows every unit."""

GENERATION_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


class Row(NamedTuple):
    """One line about a card."""

    section: str
    name: str
    """For --field and scripts."""
    label: str
    value: Any
    """In base units; None where unknown."""
    text: str
    source: str = ""
    reason: str = ""
    brief: bool = True
    """Whether the short sheet shows it."""


def card_rows(card: Card, machine: Machine) -> list[Row]:
    """Every row of a card, in the order in which people read them."""
    parts = (
        _identity(card, machine),
        _compute(card),
        _memory(card),
        _state(card),
        _links(card),
        _peaks(card),
        _catalogue(card),
        _attributes(card),
    )
    return [row for part in parts for row in part]


def _row(
    section: str, name: str, title: str, fact: Fact, text: str | None = None, *, brief: bool = True
) -> Row:
    shown = UNKNOWN if fact.value is None else str(fact.value) if text is None else text
    source = ", ".join(part for part in (fact.source, fact.note) if part)
    return Row(section, name, title, fact.value, shown, source, fact.reason, brief)


def _told(card: Card, value: Any, reason: str = "") -> Fact:
    return Fact(value, None if value is None else card.device.source, reason)


# ---- sections -------------------------------------------------------------------------------


def _identity(card: Card, machine: Machine) -> Iterator[Row]:
    device = card.device
    generation = f" ({device.architecture.generation})" if device.architecture else ""
    cc = device.compute_capability
    yield _row("card", "name", "name", _told(card, device.name))
    yield _row(
        "card", "compute_capability", "compute capability", _told(card, cc), f"{cc}{generation}"
    )
    yield _row(
        "card", "ordinal", "CUDA index", _told(card, card.ordinal, reason="not of this machine")
    )
    yield _row("card", "uuid", "UUID", _told(card, card.uuid, reason="the driver does not say"))
    yield _row(
        "card", "pci_bus_id", "PCI bus id", _told(card, card.pci_bus_id, reason="no PCI device")
    )
    yield _row("card", "nvml_index", "NVML index", card.fact("nvml_index"), brief=False)
    yield _row("card", "driver_version", "driver", machine.driver_version)
    yield _row("card", "cuda_version", "CUDA", machine.cuda_version)
    yield _row("card", "vbios", "VBIOS", card.fact("vbios"), brief=False)


def _compute(card: Card) -> Iterator[Row]:
    device, sm = card.device, card.device.architecture
    yield _row("compute", "sm_count", "SMs", _told(card, device.sm_count))
    yield _clock("compute", "sm_clock_max_hz", "SM clock, highest", _told(card, device.sm_clock_hz))
    yield _clock("compute", "sm_clock_hz", "SM clock, now", card.fact("sm_clock_hz"))
    if sm is None:
        return
    yield _row("compute", "max_warps_per_sm", "warps per SM", _told(card, sm.max_warps_per_sm))
    registers = _told(card, card.attribute("MAX_REGISTERS_PER_MULTIPROCESSOR", sm.registers_per_sm))
    yield _row("compute", "registers_per_sm", "registers per SM", registers)
    shared = _told(
        card, card.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", sm.shared_bytes_per_sm)
    )
    yield _bytes("compute", "shared_bytes_per_sm", "shared memory per SM", shared)
    per_block = _told(
        card, card.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", sm.shared_bytes_per_block_opt_in)
    )
    yield _bytes("compute", "shared_bytes_per_block", "shared memory per block", per_block)


def _memory(card: Card) -> Iterator[Row]:
    device, found = card.device, peaks(card.device)
    unified = " (unified: the host's)" if card.fact("memory_is_unified").value else ""
    total = card.fact("total_memory_bytes")
    yield _row("memory", "total_memory_bytes", "memory", total, f"{size(total.value)}{unified}")
    yield _bytes("memory", "memory_used_bytes", "in use", card.fact("memory_used_bytes"))
    yield _row(
        "memory",
        "memory_bus_bits",
        "bus",
        _told(card, device.memory_bus_bits),
        f"{device.memory_bus_bits} bit",
    )
    clock = card.fact("memory_clock_max_hz")
    yield _clock("memory", "memory_clock_max_hz", "memory clock, highest", clock)
    yield _clock("memory", "memory_clock_hz", "memory clock, now", card.fact("memory_clock_hz"))
    yield _quantity("memory", "dram_bytes_per_s", "bandwidth", found.dram_bytes_per_s, "B/s")
    yield _bytes("memory", "l2_bytes", "L2", _told(card, device.l2_bytes))


def _state(card: Card) -> Iterator[Row]:
    power, limit = card.fact("power_w"), card.fact("power_limit_w")
    yield _row("state", "power_w", "power", power, si(power.value, "W"))
    yield _row("state", "power_limit_w", "power limit", limit, si(limit.value, "W"))
    heat = card.fact("temperature_c")
    yield _row("state", "temperature_c", "temperature", heat, f"{heat.value} °C")
    mask = card.fact("throttle_reasons_mask")
    words = ", ".join(throttle_words(mask.value or 0)) or "nothing"
    yield _row("state", "throttle_reasons_mask", "clocks held by", mask, words)
    state = card.fact("performance_state")
    yield _row("state", "performance_state", "performance state", state, f"P{state.value}")
    used = card.fact("utilisation")
    yield _row("state", "utilisation", "utilisation", used, percent(used.value))
    yield _row("state", "processes", "processes", card.fact("processes"))
    for name, title in (("ecc", "ECC"), ("mig", "MIG"), ("persistence", "persistence mode")):
        fact = card.fact(name)
        yield _row(
            "state", name, title, fact, "on" if fact.value else "off", brief=name != "persistence"
        )


def _links(card: Card) -> Iterator[Row]:
    yield _row("links", "pcie", "PCIe", _pcie(card), pcie_text(card))
    yield _row("links", "nvlinks", "NVLinks up", card.fact("nvlinks"))


def _pcie(card: Card) -> Fact:
    if card.fact("memory_is_unified").value:
        return Fact("integrated", Source.DRIVER)
    return card.fact("pcie_generation")


def pcie_text(card: Card) -> str:
    """The link now and at most: idle links are slow on purpose, a busy slow one is degraded."""
    if card.fact("memory_is_unified").value:
        return "integrated: no link in between"
    names = ("pcie_generation", "pcie_width", "pcie_generation_max", "pcie_width_max")
    generation, width, most, widest = (card.fact(name).value for name in names)
    if generation is None or width is None:
        return UNKNOWN
    text = f"generation {generation} x{width}"
    if most is None or widest is None or (generation, width) == (most, widest):
        return text
    return f"{text}, at most generation {most} x{widest}: {_why_slower(card, width, widest)}"


def _why_slower(card: Card, width: int, widest: int) -> str:
    if width < widest:
        return "degraded, fewer lanes than the card has"
    if (card.fact("performance_state").value or 0) > 0 or card.fact("utilisation").value == 0:
        return "slowed down while idle"
    return "degraded, a slower generation than both ends have"


def _peaks(card: Card) -> Iterator[Row]:
    device = card.device
    if device.architecture is None:
        reason = f"compute capability {device.compute_capability} is not in kmeter's table"
        yield Row("peaks", "peaks", "every unit", None, UNKNOWN, reason=reason)
        return
    now = card.fact("sm_clock_hz").value
    held = device._replace(sm_clock_hz=now, tensor_clock_hz=None) if now else None
    found, found_now = peaks(device), peaks(held) if held else None
    clock = si(device.sm_clock_hz, "Hz") + (f", now {si(now, 'Hz')}" if now else "")
    assumed = _told(card, device.sm_clock_hz, reason="no clock is known")
    yield _row("peaks", "assumed_clock_hz", "at a clock of", assumed, clock)
    for unit in UNITS:
        yield _peak(device, unit, found, found_now)


def _peak(device: Device, unit: str, found: Peaks, now: Peaks | None) -> Row:
    quantity = found.flop_per_s[unit]
    name = f"{operation(unit)}/s"
    text = si(quantity.value, name)
    if quantity.clock_hz and quantity.clock_hz != device.sm_clock_hz:
        text += f" at {si(quantity.clock_hz, 'Hz')}"
    if now is not None and now.flop_per_s[unit].value is not None:
        text += f", now {si(now.flop_per_s[unit].value, name)}"
    source = quantity.source or ""
    is_brief = unit in HEADLINE_UNITS
    return Row("peaks", unit, label(unit), quantity.value, text, source, quantity.reason, is_brief)


def _catalogue(card: Card) -> Iterator[Row]:
    """What the catalogue has for a card of this name, beside what the card itself says."""
    if card.catalogue is None:
        return
    found = peaks(card.catalogue)
    bus = card.catalogue.memory_bus_bits
    text = si(found.dram_bytes_per_s.value, "B/s") + (f", {bus} bit" if bus else "")
    value, source = found.dram_bytes_per_s.value, Source.CATALOGUE
    yield Row("catalogue", "catalogue_dram_bytes_per_s", "bandwidth", value, text, source)
    for figure in card.catalogue.printed:
        if figure.unit in HEADLINE_UNITS:
            name, title = f"catalogue_{figure.unit}", f"{label(figure.unit)}, printed"
            yield Row("catalogue", name, title, figure.value, figure.printed, source)


def _attributes(card: Card) -> Iterator[Row]:
    for attribute in card.attributes:
        title, text = attribute.name.lower(), f"{attribute.value}  {attribute.meaning}"
        yield Row(
            "attributes", attribute.name, title, attribute.value, text, Source.DRIVER, brief=False
        )


# ---- kinds of values ------------------------------------------------------------------------


def _clock(section: str, name: str, title: str, fact: Fact) -> Row:
    return _row(section, name, title, fact, si(fact.value, "Hz"))


def _bytes(section: str, name: str, title: str, fact: Fact) -> Row:
    return _row(section, name, title, fact, size(fact.value))


def _quantity(section: str, name: str, title: str, found: Quantity, unit: str) -> Row:
    text = si(found.value, unit)
    return Row(section, name, title, found.value, text, found.source or "", found.reason)
