"""Peaks from parameters alone: SMs x rate x clock, bus width x data rate, or the reason why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmeter.model.architecture import ARCHITECTURES
from kmeter.model.compute_units import UNITS
from kmeter.model.device import Device, PrintedFigure, Quantity, Source
from kmeter.model.peaks import peaks

HOPPER = Device(
    target="catalogue:stand-in",
    source=Source.CATALOGUE,
    name="a Hopper card",
    compute_capability="9.0",
    architecture=ARCHITECTURES["9.0"],
    sm_count=132,
    sm_clock_hz=1.98e9,
    tensor_clock_hz=1.83e9,
    memory_bus_bits=5120,
    memory_bits_per_s_per_pin=5.2e9,
)
GEFORCE = HOPPER._replace(
    compute_capability="8.9",
    architecture=ARCHITECTURES["8.9"],
    sm_count=128,
    sm_clock_hz=2.52e9,
    tensor_clock_hz=None,
    halved_fp32_accumulate=True,
)


def flop_per_s(device: Device, unit: str) -> Quantity:
    return peaks(device).flop_per_s[unit]


@pytest.mark.parametrize(
    ("unit", "rate", "clock_hz"),
    [
        ("fp32", 256, 1.98e9),
        ("fp64", 128, 1.98e9),
        ("fp64_tensor", 256, 1.98e9),
        ("fp16_tensor", 4096, 1.83e9),
        ("fp16_tensor_sparse", 8192, 1.83e9),
        ("int8_tensor", 8192, 1.83e9),
    ],
)
def test_peak_is_sms_times_rate_times_clock(unit: str, rate: int, clock_hz: float) -> None:
    found = flop_per_s(HOPPER, unit)
    assert found.value == pytest.approx(132 * rate * clock_hz)
    assert (found.source, found.clock_hz) == (Source.DERIVED, clock_hz)


def test_tensor_peaks_take_the_sm_clock_where_there_is_no_other() -> None:
    assert flop_per_s(HOPPER._replace(tensor_clock_hz=None), "fp16_tensor").clock_hz == 1.98e9


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("fp16_tensor", 0.5), ("fp16_tensor_sparse", 0.5), ("bf16_tensor", 0.5),
     ("fp16_tensor_fp16_accumulate", 1), ("fp8_tensor", 1), ("int8_tensor", 1), ("fp32", 1)],
)  # fmt: skip
def test_geforce_halves_fp32_accumulation_alone(unit: str, factor: float) -> None:
    full = flop_per_s(GEFORCE._replace(halved_fp32_accumulate=False), unit).value
    assert full is not None
    assert flop_per_s(GEFORCE, unit).value == factor * full


def test_dram_is_bus_width_times_data_rate() -> None:
    assert peaks(HOPPER).dram_bytes_per_s == Quantity(5120 / 8 * 5.2e9, Source.DERIVED)


def test_dram_falls_back_on_what_the_source_says() -> None:
    known = Quantity(3.35e12, Source.CATALOGUE)
    assert peaks(HOPPER._replace(memory_bus_bits=None, dram=known)).dram_bytes_per_s == known
    unknown = peaks(HOPPER._replace(memory_bits_per_s_per_pin=None)).dram_bytes_per_s
    assert (unknown.value, unknown.reason) == (None, "no memory clock is known")


@pytest.mark.parametrize(
    ("device", "unit", "reason"),
    [
        (HOPPER._replace(architecture=None), "fp32", "compute capability 9.0 is not in the table"),
        (HOPPER._replace(sm_count=None), "fp32", "the SM count is unknown"),
        (HOPPER._replace(sm_clock_hz=None), "fp32", "the SM clock is unknown"),
        (GEFORCE._replace(has_tensor_cores=False), "fp16_tensor", "a Hopper card has no tensor"),
        (HOPPER, "fp4_tensor", "9.0 has no fp4 tensor unit"),
        (GEFORCE, "fp64_tensor", "no published rate of fp64 tensor on 8.9"),
    ],
)
def test_unknown_peak_says_why(device: Device, unit: str, reason: str) -> None:
    found = flop_per_s(device, unit)
    assert found.value is None
    assert found.source is None
    assert reason in found.reason


def test_a_limited_unit_stands_as_printed() -> None:
    figure = PrintedFigure("fp16_tensor", "148 TFLOP/s", 1.48e14, ("sheet",))
    units = frozenset({"fp16_tensor", "fp64"})
    limited = HOPPER._replace(printed=(figure,), printed_rates_only=units)
    assert flop_per_s(limited, "fp16_tensor") == Quantity(1.48e14, Source.CATALOGUE)
    for unit in ("fp64", "fp16_tensor_sparse"):
        assert flop_per_s(limited, unit).value is None
        assert "prints no figure" in flop_per_s(limited, unit).reason
    assert flop_per_s(limited, "fp32").source is Source.DERIVED


@given(
    st.sampled_from(list(ARCHITECTURES)),
    st.integers(min_value=0, max_value=200) | st.none(),
    st.floats(min_value=0, max_value=4e9) | st.none(),
    st.booleans(),
    st.booleans(),
)
def test_every_unit_has_a_value_or_a_reason(
    cc: str, sm_count: int | None, clock_hz: float | None, halved: bool, tensor: bool
) -> None:
    device = HOPPER._replace(
        compute_capability=cc,
        architecture=ARCHITECTURES[cc],
        sm_count=sm_count,
        sm_clock_hz=clock_hz,
        tensor_clock_hz=None,
        halved_fp32_accumulate=halved,
        has_tensor_cores=tensor,
    )
    found = peaks(device).flop_per_s
    assert tuple(found) == UNITS
    for quantity in found.values():
        assert (quantity.value is None) == bool(quantity.reason)
        assert quantity.value is None or quantity.value > 0
