"""What arithmetic allows: peaks, banks, links."""

import pytest
from devices import H100_SXM, UNKNOWN_MEMORY

from kmeter.measure.limits import above, lacking, limit_of, pcie_bytes_per_s
from kmeter.measure.plan import GIB, MIB, GpuFacts
from kmeter.measure.probes import probes
from kmeter.model.architecture import architecture
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


# ---- units that a card lacks ----------------------------------------------------------------

GEFORCE = H100_SXM._replace(
    name="RTX 5090", compute_capability="12.0", architecture=architecture("12.0"), sm_count=170
)
GTX_1660 = H100_SXM._replace(
    name="GTX 1660", compute_capability="7.5", architecture=architecture("7.5"),
    has_tensor_cores=False,
)  # fmt: skip


def test_a_unit_that_the_chip_has_not_is_named() -> None:
    assert lacking("fp64_tensor", GEFORCE) == "12.0 has no fp64 tensor unit"
    assert lacking("fp16_tensor", GTX_1660) == "GTX 1660 has no tensor cores"
    assert lacking("fp64_tensor", H100_SXM) == ""
    assert lacking("dram", GEFORCE) == ""


def test_a_matrix_product_in_double_is_bound_by_the_unit_that_does_it() -> None:
    assert lacking("fp64_tensor|fp64", GEFORCE) == ""
    on_cores = limit_of("fp64_tensor|fp64", H100_SXM, FACTS)
    on_vector = limit_of("fp64_tensor|fp64", GEFORCE, FACTS)
    assert on_cores.value == pytest.approx(66.9e12, rel=1e-2)
    assert on_vector.value == limit_of("fp64", GEFORCE, FACTS).value
    nobody_says = H100_SXM._replace(architecture=architecture("8.6"))
    assert limit_of("fp64_tensor|fp64", nobody_says, FACTS).value is None
