"""What arithmetic allows: peaks, banks, links."""

import pytest
from devices import H100_SXM, UNKNOWN_MEMORY

from kmeter.measure.limits import above, limit_of, pcie_bytes_per_s
from kmeter.measure.plan import GIB, MIB, GpuFacts
from kmeter.measure.probes import probes
from kmeter.model.ceiling import Limit

FACTS = GpuFacts((9, 0), 132, 50 * MIB, 70 * GIB, 80 * GIB, 232448, 1.98e9, 63e9)


@pytest.mark.parametrize(
    ("name", "value", "clock"),
    [
        ("dram", 3.352e12, None),
        ("fp32", 66.9e12, 1.98e9),
        ("shared", 33.45e12, 1.98e9),
        ("l1", 33.45e12, 1.98e9),
        ("ex2", 4.18e12, 1.98e9),
        ("pcie", 63e9, None),
        ("pcie-both", 126e9, None),
    ],
)
def test_limits_of_an_h100(name: str, value: float, clock: float | None) -> None:
    limit = limit_of(name, H100_SXM, FACTS)
    assert limit.value == pytest.approx(value, rel=1e-3)
    assert limit.clock_hz == clock
    assert limit.source


@pytest.mark.parametrize("name", ["", "nothing-known"])
def test_without_a_limit_there_is_a_reason(name: str) -> None:
    assert limit_of(name, H100_SXM, FACTS) == Limit(reason="nobody publishes one")


def test_an_unknown_peak_keeps_its_reason() -> None:
    limit = limit_of("dram", UNKNOWN_MEMORY, FACTS)
    assert (limit.value, limit.reason) == (None, "the driver reports no memory clock")


def test_l1_of_a_generation_without_a_figure_is_unknown() -> None:
    facts = FACTS._replace(compute_capability=(8, 6))
    assert limit_of("l1", H100_SXM, facts).value is None


def test_an_unknown_link_is_unknown() -> None:
    assert limit_of("pcie", H100_SXM, FACTS._replace(pcie_bytes_per_s=None)).value is None


@pytest.mark.parametrize(
    ("generation", "width", "gb_s"),
    [(5, 16, 63.0), (4, 16, 31.5), (3, 8, 7.88), (1, 16, 4.0), (6, 16, 128.0)],
)
def test_pcie(generation: int, width: int, gb_s: float) -> None:
    found = pcie_bytes_per_s(generation, width)
    assert found is not None
    assert found / 1e9 == pytest.approx(gb_s, rel=1e-2)


@pytest.mark.parametrize(("generation", "width"), [(None, 16), (5, None), (5, 0), (9, 16)])
def test_a_link_that_nobody_tells(generation: int | None, width: int | None) -> None:
    assert pcie_bytes_per_s(generation, width) is None


def test_above_means_more_than_a_clocks_uncertainty() -> None:
    limit = Limit(100.0, "derived", clock_hz=2e9)
    assert not above(100.9, limit, None)
    assert above(101.1, limit, None)
    assert not above(104.0, limit, 2.1e9)
    assert above(101.1, limit, 1e9)
    assert not above(1e99, Limit(), None)


def test_every_limit_that_a_probe_names_is_known_on_a_card_that_has_all() -> None:
    for probe in probes():
        if probe.limit:
            assert limit_of(probe.limit, H100_SXM, FACTS).value, probe.name
