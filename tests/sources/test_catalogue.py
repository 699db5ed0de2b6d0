"""The catalogue against itself: what is printed follows from clocks and counts, or says why not."""

import pytest

from kmeter.model.compute_units import UNITS, dense
from kmeter.model.device import PrintedFigure, Source
from kmeter.model.peaks import peaks
from kmeter.sources import catalogue, open_device
from kmeter.sources._card_names import fold, spelled

CARDS = list(catalogue.entries())
FIGURES = [
    pytest.param(gpu_id, figure, id=f"{gpu_id}-{figure.unit}-{figure.printed}")
    for gpu_id in CARDS
    for figure in catalogue.device_of(gpu_id).printed
]
TOLERANCE = 0.01

PLAUSIBLE = {
    "sm_count": (1, 192),
    "boost_clock_mhz": (600, 3200),
    "tensor_clock_mhz": (600, 3200),
    "memory_gb": (2, 300),
    "memory_bus_bits": (64, 8192),
    "memory_gbit_s_per_pin": (1, 36),
    "l2_mib": (0.25, 256),
    "tdp_w": (5, 1500),
}


@pytest.mark.parametrize(("gpu_id", "figure"), FIGURES)
def test_printed_figure_follows_from_the_parameters(gpu_id: str, figure: PrintedFigure) -> None:
    found = peaks(catalogue.device_of(gpu_id))
    quantities = {"dram": found.dram_bytes_per_s, **found.flop_per_s}
    assert figure.unit in quantities, f"{gpu_id}: no unit is called {figure.unit!r}"
    derived = quantities[figure.unit]
    assert derived.value is not None, f"{gpu_id}: no peak of {figure.unit}, {derived.reason}"
    off = abs(derived.value / figure.value - 1)
    if figure.exception:
        assert off > TOLERANCE, f"{gpu_id}: {figure.unit} needs no exception"
    else:
        assert off <= TOLERANCE, f"{gpu_id}: {figure.unit} derives {derived.value:.4g}"


@pytest.mark.parametrize("gpu_id", CARDS)
def test_figures_stand_as_printed_only_where_the_entry_says_so(gpu_id: str) -> None:
    device = catalogue.device_of(gpu_id)
    found = peaks(device)
    as_printed = {unit for unit, q in found.flop_per_s.items() if q.source is Source.CATALOGUE}
    assert {dense(unit) for unit in as_printed} <= device.printed_rates_only <= set(UNITS)
    assert device.notes or not device.printed_rates_only
    both = bool(device.memory_bus_bits and device.memory_bits_per_s_per_pin)
    assert (found.dram_bytes_per_s.source is Source.DERIVED) == both


@pytest.mark.parametrize("gpu_id", CARDS)
def test_parameters_are_plausible(gpu_id: str) -> None:
    entry = catalogue.entries()[gpu_id]
    for key, (least, most) in PLAUSIBLE.items():
        assert least <= entry.get(key, least) <= most, key
    assert entry.get("tensor_clock_mhz", 0) <= entry["boost_clock_mhz"]
    assert len(entry["sheet"]) == len({(f["unit"], f["printed"]) for f in entry["sheet"]})


@pytest.mark.parametrize("gpu_id", CARDS)
def test_compute_capability_has_rates(gpu_id: str) -> None:
    sm = catalogue.device_of(gpu_id).architecture
    assert sm is not None
    assert sm.rates


@pytest.mark.parametrize("gpu_id", CARDS)
def test_geforce_tensor_rates_are_halved_from_turing_on(gpu_id: str) -> None:
    device, product = catalogue.device_of(gpu_id), catalogue.entries()[gpu_id]["product"]
    tensor_cores = device.has_tensor_cores and float(device.compute_capability) >= 7.5
    assert device.halved_fp32_accumulate == (product in {"geforce", "laptop"} and tensor_cores)


def test_there_are_enough_cards() -> None:
    assert len(CARDS) >= 75


def test_every_name_means_one_card() -> None:
    owners: dict[str, set[str]] = {}
    for gpu_id, entry in catalogue.entries().items():
        for name in spelled(gpu_id, entry):
            owners.setdefault(fold(name), set()).add(gpu_id)
    assert {name: ids for name, ids in owners.items() if len(ids) > 1} == {}


@pytest.mark.parametrize("gpu_id", CARDS)
def test_every_name_finds_its_card(gpu_id: str) -> None:
    for name in spelled(gpu_id, catalogue.entries()[gpu_id]):
        for target in (name, f"catalogue:{name}", f"catalogue:NVIDIA {name}", name.upper()):
            assert open_device(target).target == f"catalogue:{gpu_id}"


def test_sources_are_listed_and_used() -> None:
    used = {
        key
        for entry in catalogue.entries().values()
        for keys in (entry["physical_source"], *(figure["source"] for figure in entry["sheet"]))
        for key in keys
    }
    assert used == set(catalogue.citations())
    assert all(entry["physical_source"] for entry in catalogue.entries().values())
    assert all(figure["source"] for e in catalogue.entries().values() for figure in e["sheet"])
