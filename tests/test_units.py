"""Reading and writing units: both sides agree, and what cannot be meant is refused in one line."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmeter.errors import UsageError
from kmeter.units import (
    UNKNOWN,
    ascii_only,
    number,
    parse_amount,
    parse_fraction,
    parse_rate,
    parse_seconds,
    parse_size,
    percent,
    quoted,
    si,
    size,
)

MAGNITUDES = st.floats(min_value=1e-9, max_value=1e20)
FOUR_DIGITS = 5.1e-4


# ---- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("49152", 49152),
        ("48KiB", 49152),
        ("48K", 49152),
        ("48 KB", 49152),
        ("48kB", 49152),
        ("0.5 MiB", 524288),
        ("1e3", 1000),
        ("1_024", 1024),
        ("2GiB", 2**31),
        ("0", 0),
        ("1.1MiB", 1153434),
        (" 1 B ", 1),
        (".5k", 512),
    ],
)
def test_parse_size(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1e9", "B", 1e9),
        ("1GB", "B", 1e9),
        ("1G", "B", 1e9),
        ("1GiB", "B", 2**30),
        ("1kB", "B", 1e3),
        ("1KB", "B", 1e3),
        ("2.1GFLOP", "FLOP", 2.1e9),
        ("2.1 GFLOPs", "FLOP", 2.1e9),
        ("3TOP", "FLOP", 3e12),
        ("1EFLOP", "FLOP", 1e18),
        ("1e3GFLOP", "FLOP", 1e12),
        ("5", "FLOP", 5),
    ],
)
def test_parse_amount(text: str, unit: str, expected: float) -> None:
    assert parse_amount(text, unit) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("3350", "B", 3.35e12),
        ("3350GB/s", "B", 3.35e12),
        ("3.35 TB/s", "B", 3.35e12),
        ("3350GBps", "B", 3.35e12),
        ("1GiB/s", "B", 2**30),
        ("66.9", "FLOP", 6.69e10),
        ("66.9TFLOP/s", "FLOP", 6.69e13),
        ("66.9TFLOPS", "FLOP", 6.69e13),
        ("1.979PF", "FLOP", 1.979e15),
    ],
)
def test_parse_rate(text: str, unit: str, expected: float) -> None:
    assert parse_rate(text, unit, bare=1e9) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["8Gb/s", "8Gbit/s", "8 Gbps", "8b/s", "8Mb", "8Gibit/s"])
def test_bits_are_never_bytes(text: str) -> None:
    with pytest.raises(UsageError, match=r"counts bits.*Divide by 8"):
        parse_rate(text, "B", bare=1e9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.2ms", 1.2e-3),
        ("850us", 8.5e-4),
        ("850 µs", 8.5e-4),
        ("850μs", 8.5e-4),
        ("9ns", 9e-9),
        ("3e-4", 3e-4),
        ("2 s", 2),
    ],
)
def test_parse_seconds(text: str, expected: float) -> None:
    assert parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["50%", "50 %", "0.5", ".5", "5e-1"])
def test_parse_fraction(text: str) -> None:
    assert parse_fraction(text) == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1 2",
        "nan",
        "inf",
        "1e999",
        "1x",
        "1__0",
        "1_",
        "--1",
        "1e",
        "0x10",
        "48i",
        "48b",
        "48Kib",
        "48iB",
        "0.3",
        "-1",
        "1e308T",
        "٣",
        "1\n2",
    ],
)
def test_no_size(text: str) -> None:
    with pytest.raises(UsageError):
        parse_size(text)


@pytest.mark.parametrize("text", ["1e308G", "1 Gflop", "1gb", "1 EiB", "1GB/s", "inf"])
def test_no_amount(text: str) -> None:
    with pytest.raises(UsageError):
        parse_amount(text, "B")


@pytest.mark.parametrize("text", ["50", "1.01", "-1%", "101%", "5 percent"])
def test_no_fraction(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fraction(text)


@pytest.mark.parametrize("text", ["1min", "1 S", "1us/s", "soon"])
def test_no_time(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seconds(text)


READERS: dict[str, Callable[[str], float]] = {
    "size": parse_size,
    "amount": lambda text: parse_amount(text, "B"),
    "rate": lambda text: parse_rate(text, "FLOP", bare=1e9),
    "seconds": parse_seconds,
    "fraction": parse_fraction,
}


def answer(kind: str, text: str) -> str:
    try:
        return str(READERS[kind](text))
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("kind", READERS)
@given(text=st.text() | st.from_regex(r"[-+0-9._eE]{1,9} ?[A-Za-z/%]{0,5}", fullmatch=True))
def test_any_text_is_read_or_refused_in_one_short_line(kind: str, text: str) -> None:
    assert answer(kind, text).isprintable()
    assert answer(kind, text) not in {"nan", "inf", "-inf"}
    assert len(answer(kind, text)) < 320


@pytest.mark.parametrize(
    "text", ["1" * 10_000 + " x y", "1_" * 5_000, " " * 10_000 + "x", "1e" * 5_000]
)
def test_a_long_wrong_text_is_refused_quickly(text: str) -> None:
    started = time.perf_counter()
    with pytest.raises(UsageError):
        parse_size(text)
    assert time.perf_counter() - started < 0.5


# ---- writing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (3.352e12, "B/s", "3.352 TB/s"),
        (999.94e9, "B/s", "999.9 GB/s"),
        (999.96e9, "B/s", "1 TB/s"),
        (1e9, "B/s", "1 GB/s"),
        (0, "B/s", "0 B/s"),
        (0.25, "B/s", "0.25 B/s"),
        (1.98e9, "Hz", "1.98 GHz"),
        (1.234e-3, "s", "1.234 ms"),
        (999.96e-6, "s", "1 ms"),
        (7200, "s", "7200 s"),
        (5e-10, "s", "500 ps"),
        (-2.5e9, "FLOP/s", "-2.5 GFLOP/s"),
        (1.1e18, "FLOP", "1.1 EFLOP"),
        (0.5, "FLOP/byte", "0.5 FLOP/byte"),
        (None, "Hz", UNKNOWN),
        (float("nan"), "Hz", UNKNOWN),
    ],
)
def test_si(value: float | None, unit: str, expected: str) -> None:
    assert si(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (49152, "48 KiB"),
        (49153, "49153 B"),
        (1536, "1.5 KiB"),
        (2**20 - 1, "1048575 B"),
        (2**20, "1 MiB"),
        (2**30 - 1, "1 GiB"),
        (85520809984, "79.647 GiB"),
        (None, UNKNOWN),
    ],
)
def test_size(value: int | None, expected: str) -> None:
    assert size(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (-0.0, "0"),
        (132, "132"),
        (66.908, "66.91"),
        (12345678, "12350000"),
        (0.00001234, "0.00001234"),
        (0.1, "0.1"),
        (99.999, "100"),
        (1e20, "1e+20"),
        (None, UNKNOWN),
        (float("inf"), UNKNOWN),
    ],
)
def test_number(value: float | None, expected: str) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [
        (0.50379, "50.4 %"),
        (1, "100 %"),
        (0, "0 %"),
        (1e-7, "0.00001 %"),
        (12.5, "1250 %"),
        (None, UNKNOWN),
        (float("nan"), UNKNOWN),
    ],
)
def test_percent(fraction: float | None, expected: str) -> None:
    assert percent(fraction) == expected


# ---- both agree -----------------------------------------------------------------------------


@given(MAGNITUDES, st.sampled_from(["B", "FLOP"]))
def test_amounts_are_read_as_written(value: float, unit: str) -> None:
    text = si(value, unit)
    assert "e" not in text
    assert parse_amount(text, unit) == pytest.approx(value, rel=FOUR_DIGITS)


@given(MAGNITUDES, st.sampled_from(["B", "FLOP"]))
def test_rates_are_read_as_written(value: float, unit: str) -> None:
    assert parse_rate(si(value, f"{unit}/s"), unit, bare=1e9) == pytest.approx(
        value, rel=FOUR_DIGITS
    )


@given(st.floats(min_value=1e-12, max_value=1e9))
def test_seconds_are_read_as_written(value: float) -> None:
    text = si(value, "s")
    assert "e" not in text
    assert parse_seconds(text) == pytest.approx(value, rel=FOUR_DIGITS)
    assert parse_seconds(ascii_only(text)) == parse_seconds(text)


@given(st.integers(min_value=0, max_value=2**45))
def test_sizes_are_read_as_written(value: int) -> None:
    assert parse_size(size(value)) == pytest.approx(value, rel=0 if value < 2**20 else 5.1e-5)


@given(st.floats(min_value=0, max_value=1, allow_subnormal=False))
def test_fractions_are_read_as_written(value: float) -> None:
    assert parse_fraction(percent(value)) == pytest.approx(value, rel=5.1e-3)


@given(st.floats(min_value=1e-9, max_value=9e14), st.integers(min_value=1, max_value=8))
def test_numbers_have_no_exponent_and_no_idle_zeros(value: float, digits: int) -> None:
    text = number(value, digits)
    assert float(text) == float(f"{value:.{digits}g}")
    assert "e" not in text
    assert "." not in text or text[-1] not in "0."


# ---- for a terminal -------------------------------------------------------------------------


def test_ascii_keeps_the_meaning() -> None:
    assert ascii_only("1.2 µs – 5 → 6, 30 °C ≥ x²") == "1.2 us - 5 -> 6, 30 deg C >= x2"


@given(st.text())
def test_ascii_is_ascii_and_hardly_longer(text: str) -> None:
    assert ascii_only(text).isascii()
    assert len(text) <= len(ascii_only(text)) <= 4 * len(text)


@pytest.mark.parametrize("text", ["–", "—", "−", "µ", "μ", "×", "·", "≈", "²", "³", "☃"])
def test_ascii_takes_one_cell_where_one_was_taken(text: str) -> None:
    assert len(ascii_only(text)) == 1


def test_quoted_is_one_short_line() -> None:
    assert quoted("a\nb") == r"'a\nb'"
    assert len(quoted("x" * 10_000)) == 42
