"""``kmeter gpus``: the list, one card in full, JSON, and the line for a card that is not there."""

import json
import tomllib
from collections.abc import Iterator

import pytest
from running import Run
from snapshots import check_snapshot

from kmeter.errors import ExitCode
from kmeter.model.compute_units import UNITS
from kmeter.sources import catalogue

# Three cards that stay as they are, however the catalogue grows: the snapshots show these.
STAND_IN = """
[sources]
sheet = "a data sheet"
paper = "an architecture white paper, with a title long enough to run over the end of a line"
press = "a press table"

[gpu.big-sxm]
name = "Big SXM5 80GB"
aliases = ["big-sxm5", "Big 80GB HBM3"]
product = "datacenter"
compute_capability = "9.0"
sm_count = 132
boost_clock_mhz = 1980
tensor_clock_mhz = 1830
clock_note = "the tensor figures need 1830 MHz"
memory_type = "HBM3"
memory_gb = 80
memory_bus_bits = 5120
memory_gbit_s_per_pin = 5.238
l2_mib = 50
tdp_w = 700
physical_source = ["press", "paper"]
sheet = [
  { unit = "fp64", printed = "34 TFLOP/s", value = 3.4e13, source = ["sheet"], exception = "rounded up from 33.5" },
  { unit = "fp32", printed = "66.9 TFLOP/s", value = 6.69e13, source = ["sheet", "paper"] },
  { unit = "fp16_tensor", printed = "989.4 TFLOP/s", value = 9.894e14, source = ["paper"] },
  { unit = "fp16_tensor_sparse", printed = "1978.9 TFLOP/s", value = 1.9789e15, source = ["paper"] },
  { unit = "dram", printed = "3.35 TB/s", value = 3.35e12, source = ["sheet"] },
]

[gpu.rtx-40]
name = "GeForce RTX 40"
aliases = ["40"]
product = "geforce"
compute_capability = "8.9"
sm_count = 128
boost_clock_mhz = 2520
memory_type = "GDDR6X"
memory_gb = 24
memory_bus_bits = 384
memory_gbit_s_per_pin = 21.0
l2_mib = 72
tdp_w = 450
halved_fp32_accumulate = true
physical_source = ["press"]
sheet = [{ unit = "fp32", printed = "82.6 TFLOP/s", value = 8.26e13, source = ["paper"] }]

[gpu.limited-edition]
name = "Limited Edition"
product = "superchip"
compute_capability = "12.1"
sm_count = 48
boost_clock_mhz = 2418
memory_type = "LPDDR5X"
memory_gb = 128
physical_source = ["press"]
printed_rates_only = ["fp32"]
note = "the vendor prints one figure and no memory clock"
sheet = [
  { unit = "fp32", printed = "20 TFLOP/s", value = 2e13, source = ["press"] },
  { unit = "dram", printed = "273 GB/s", value = 2.73e11, source = ["press"] },
]
"""


@pytest.fixture
def _three_cards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    document = tomllib.loads(STAND_IN)
    monkeypatch.setattr(catalogue, "_document", lambda: document)
    catalogue._names.cache_clear()
    yield
    catalogue._names.cache_clear()


# ---- what people see ------------------------------------------------------------------------


@pytest.mark.usefixtures("_three_cards")
@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize("pattern", ["", "big-sxm", "rtx-40", "limited-edition"])
def test_view(run: Run, pattern: str, ascii_mode: bool, width: int) -> None:
    arguments = [*filter(None, [pattern]), *(["--ascii"] if ascii_mode else [])]
    shown = run("gpus", *arguments, COLUMNS=str(width))
    assert (shown.code, shown.err) == (ExitCode.OK, "")
    assert max(map(len, shown.out.splitlines())) <= width
    assert shown.out.isascii() or not ascii_mode
    check_snapshot(f"gpus/{pattern or 'list'}-{width}{'-ascii' * ascii_mode}.txt", shown.out)


@pytest.mark.usefixtures("_three_cards")
@pytest.mark.parametrize("pattern", ["", "big-sxm"])
def test_view_in_colour(run: Run, pattern: str) -> None:
    shown = run("gpus", *filter(None, [pattern]), FORCE_COLOR="1", TERM="xterm-256color")
    check_snapshot(f"gpus/{pattern or 'list'}-80-colour.txt", shown.out)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 132, 160, 220])
def test_the_whole_catalogue_fits_any_width(run: Run, width: int) -> None:
    lines = run("gpus", COLUMNS=str(width)).out.splitlines()
    assert max(map(len, lines)) <= width
    assert len([line for line in lines if line.startswith("rtx-4090-laptop")]) == 1


def test_every_sheet_is_a_table_at_80_columns(run: Run) -> None:
    for gpu_id in catalogue.entries():
        shown = run("gpus", gpu_id).out
        assert "\nunit  " in shown
        assert max(map(len, shown.splitlines())) <= 80


# ---- patterns -------------------------------------------------------------------------------


def listed(run: Run, *patterns: str) -> list[str]:
    return [gpu["id"] for gpu in json.loads(run("gpus", *patterns, "--json").out)["gpus"]]


def test_no_pattern_lists_every_card(run: Run) -> None:
    assert listed(run) == list(catalogue.entries())


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["h200"], ["h200"]),
        (["4090", "h100-sxm", "4090"], ["rtx-4090", "h100-sxm"]),
        (["catalogue:b200"], ["b200"]),
        (["h100"], ["h100-nvl", "h100-pcie", "h100-sxm"]),
        (["7.2"], ["agx-xavier-32gb"]),
    ],
)
def test_patterns(run: Run, patterns: list[str], expected: list[str]) -> None:
    assert listed(run, *patterns) == expected


@pytest.mark.parametrize("pattern", ["hopper", "jetson", "laptop", "datacenter", "sxm"])
def test_kinds_of_cards(run: Run, pattern: str) -> None:
    assert 1 < len(listed(run, pattern)) < len(catalogue.entries())


@pytest.mark.parametrize("pattern", ["h1000", "", "../../etc/passwd", "x" * 10_000, "☃"])
def test_no_match_is_one_line_and_exit_2(run: Run, pattern: str) -> None:
    failed = run("gpus", "h100", pattern)
    assert (failed.code, failed.out) == (ExitCode.USAGE, "")
    assert failed.err.count("\n") == 1
    assert "no card is called" in failed.err


def test_no_match_names_the_nearest(run: Run) -> None:
    assert "Nearest: " in (line := run("gpus", "h10").err)
    assert "h100-sxm" in line


# ---- JSON -----------------------------------------------------------------------------------


def test_json_of_every_card_keeps_its_promises(run: Run) -> None:
    document = json.loads(run("gpus", "--json").out)
    assert document["schema"] == "kmeter.gpus/1"
    for gpu in document["gpus"]:
        for name, value in gpu.items():
            assert value is not None or gpu[f"{name}_reason"]
        assert set(gpu["peaks"]["flop_per_s"]) == set(UNITS)
        for peak in (gpu["peaks"]["dram_bytes_per_s"], *gpu["peaks"]["flop_per_s"].values()):
            assert (peak["value"] is None) == (peak["source"] is None) == bool(peak["reason"])
        for figure in gpu["printed"]:
            assert set(figure["sources"]) <= set(document["sources"])


def test_json_of_a_card(run: Run) -> None:
    (gpu,) = json.loads(run("gpus", "h100-sxm", "--json").out)["gpus"]
    assert gpu["name"] == "NVIDIA H100 SXM5 80GB"
    assert gpu["sm_clock_hz"] == 1.98e9
    assert gpu["memory_printed_gb"] == 80
    assert gpu["l2_bytes"] == 50 * 2**20
    assert gpu["peaks"]["flop_per_s"]["fp32"]["value"] == pytest.approx(66.9e12, rel=0.01)


@pytest.mark.usefixtures("_three_cards")
def test_json_says_why_a_value_is_missing(run: Run) -> None:
    (gpu,) = json.loads(run("gpus", "limited-edition", "--json").out)["gpus"]
    for name in ("memory_bus_bits", "memory_bits_per_s_per_pin", "l2_bytes", "tdp_w"):
        assert gpu[name] is None
        assert gpu[f"{name}_reason"] == "the catalogue does not give it"
    assert gpu["peaks"]["dram_bytes_per_s"]["source"] == "catalogue"
