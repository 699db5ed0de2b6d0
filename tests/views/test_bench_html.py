"""A benchmark run as an HTML file: whole, harmless, and with the model's numbers."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from pages import Reader

from kmeter.model.benchmark import BenchRun, CacheState, Check, Environment, Outcome, Roofs, Row
from kmeter.model.score import score
from kmeter.units import UNKNOWN, number, percent, si
from kmeter.views.bench_html import bench_html
from kmeter.views.strip_svg import MOST_SAMPLES

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'"
WHERE = Environment(
    gpu_name="NVIDIA H200",
    compute_capability="9.0",
    driver_version="570.86",
    cuda_version="12.8",
    kmeter_version="0.5",
    packages={"torch": "2.6.0"},
    file="bench_axpy.py",
    git_commit="0123abc",
    git_is_dirty=True,
)
ROOFS = Roofs(
    "NVIDIA H200", 4.8e12, 66.9e12, "fp32", measured_dram_bytes_per_s=4.2e12,
    measured_flop_per_s=60e12,
)  # fmt: skip
TIMES = tuple(100e-6 + 1e-6 * (7 * n % 20) for n in range(60))
GOOD = Row(
    "axpy",
    {"n": 1024, "dtype": "fp32"},
    engine="cupti",
    cache_state=CacheState.COLD,
    samples_s=TIMES,
    throttled=(3, 5),
    reference_samples_s=tuple(2 * time for time in TIMES),
    bytes_per_call=400e6,
    flop_per_call=70e6,
    check=Check(passed=True),
    roofs=ROOFS,
)
CRASHED = Row("scan", outcome=Outcome.CRASHED, reason="an illegal address in scan.cu", roofs=ROOFS)
WRONG = replace(
    GOOD, name="dot", outcome=Outcome.WRONG, check=Check(False, "element 7 is 3, not 4")
)


def run_of(*rows: Row) -> BenchRun:
    return BenchRun(WHERE, "2026-12-01T10:00:00Z", rows)


def tree(run: BenchRun) -> ET.Element:
    return ET.fromstring(bench_html(run))


def text_of(element: ET.Element) -> str:
    return "".join(element.itertext())


def cells(run: BenchRun) -> list[dict[str, str]]:
    """The table: a line a row, by the heading of the column."""
    root = tree(run)
    names = [text_of(cell) for cell in root.iter(f"{XHTML}th")]
    lines = list(root.iter(f"{XHTML}tr"))[1:]
    return [dict(zip(names, map(text_of, line), strict=True)) for line in lines]


def strips(run: BenchRun) -> list[ET.Element]:
    return [svg for svg in tree(run).iter(f"{SVG}svg") if svg.get("class") == "strip"]


def path_of(svg: ET.Element, style: str) -> str:
    found = [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("class") == style]
    return found[0] if found else ""


def points_of(svg: ET.Element, style: str) -> list[str]:
    return re.findall(r"M[^M]+", path_of(svg, style))


NAN, INF = math.nan, math.inf
ODD = {
    "no samples": Row("odd"),
    "one sample": replace(GOOD, samples_s=(1e-4,), throttled=()),
    "only throttled": replace(GOOD, samples_s=(1e-4, 2e-4), throttled=(0, 1)),
    "no spread": replace(GOOD, samples_s=(1e-4,) * 50),
    "all zero": replace(GOOD, samples_s=(0.0,) * 9),
    "below zero": replace(GOOD, samples_s=(-1e-9, 0.0, 1e-9, 2e-9, 3e-9, 4e-9)),
    "far out": replace(GOOD, samples_s=(*TIMES, 3.0)),
    "no finite one": replace(GOOD, samples_s=(NAN, INF), throttled=()),
    "some not finite": replace(GOOD, samples_s=(*TIMES, NAN, INF)),
    "absurd counts": replace(GOOD, bytes_per_call=NAN, flop_per_call=INF),
    "negative counts": replace(GOOD, bytes_per_call=-1.0),
    "tiny counts": replace(GOOD, bytes_per_call=1e-300),
    "huge counts": replace(GOOD, flop_per_call=1e300),
    "absurd roofs": replace(GOOD, roofs=replace(ROOFS, dram_bytes_per_s=INF, flop_per_s=NAN)),
    "no roofs": replace(GOOD, roofs=Roofs(reason="this card is not in the catalogue")),
    "huge roof": replace(GOOD, roofs=replace(ROOFS, flop_per_s=1e30, dram_bytes_per_s=1e-30)),
    "integers": replace(GOOD, roofs=replace(ROOFS, unit="int8_tensor")),
    "unknown unit": replace(GOOD, roofs=replace(ROOFS, unit="")),
}


@pytest.mark.parametrize("row", ODD.values(), ids=ODD)
def test_odd_rows_are_drawn_without_odd_numbers(row: Row) -> None:
    root = tree(run_of(row, GOOD))
    for element in root.iter():
        words = " ".join([*element.attrib.values(), element.text or "", element.tail or ""])
        assert not re.search(r"\b(nan|inf)\b|infinity", words, re.IGNORECASE), element.tag
    assert len(cells(run_of(row, GOOD))) == 2


def test_an_empty_run_says_so() -> None:
    root = tree(BenchRun(Environment(no_gpu_reason="there is no driver"), ""))
    assert "The run has no rows." in text_of(root)
    assert f"{UNKNOWN} (there is no driver)" in text_of(root)
    assert not list(root.iter(f"{SVG}svg"))


def test_the_heading_tells_where_and_when() -> None:
    told = {text_of(fact) for fact in tree(run_of()).iter(f"{XHTML}dd")}
    assert {"NVIDIA H200", "570.86", "2026-12-01T10:00:00Z", "bench_axpy.py"} <= told
    assert {"0123abc (the file differs from it)", "torch 2.6.0"} <= told


def test_an_interrupted_run_says_so() -> None:
    assert "interrupted" not in text_of(tree(run_of(GOOD)))
    assert "interrupted" in text_of(tree(replace(run_of(GOOD), is_complete=False)))


def test_the_table_holds_the_numbers_of_the_model() -> None:
    line, found, times = cells(run_of(GOOD))[0], score(GOOD), GOOD.times
    assert times is not None
    assert times.interval is not None
    low, high = times.interval
    assert line == {
        "benchmark": "axpy[n=1024, dtype=fp32]",
        "outcome": "ok",
        "median": si(times.median, "s"),
        "95 % interval": f"{si(low, 's')} to {si(high, 's')}",
        "bytes/s": si(found.bytes_per_s, "B/s"),
        "FLOP/s": si(found.flop_per_s, "FLOP/s"),
        "bound": "memory",
        "of roof": percent(found.fraction_of_roof),
        "of measured ceiling": percent(found.fraction_of_ceiling),
        "speedup (95 % interval)": f"{number(GOOD.speedup)} × (2 to 2)",
        "correct": "yes",
        "engine": "cupti",
        "cache": "cold",
    }


def test_what_is_unknown_is_a_dash() -> None:
    line = cells(run_of(CRASHED))[0]
    known = {"benchmark": "scan", "outcome": "crashed", "cache": "unknown"}
    assert line == dict.fromkeys(line, UNKNOWN) | known


def test_integer_units_count_operations() -> None:
    assert cells(run_of(ODD["integers"]))[0]["FLOP/s"].endswith(" GOP/s")


@pytest.mark.parametrize(
    ("row", "reasons"),
    [
        (CRASHED, ["an illegal address in scan.cu"]),
        (WRONG, ["element 7 is 3, not 4"]),
        (ODD["no roofs"], ["No share of the roof: this card is not in the catalogue"]),
        (replace(CRASHED, notes=("n1", "n2"), cache_note="c"), [CRASHED.reason, "c", "n1", "n2"]),
        (replace(GOOD, notes=("twice", "twice")), ["twice"]),
        (GOOD, []),
    ],
)
def test_reasons_and_notes_are_told_once(row: Row, reasons: list[str]) -> None:
    assert [text_of(item) for item in tree(run_of(row)).iter(f"{XHTML}li")] == reasons


def test_rows_without_samples_say_so() -> None:
    assert "There are no samples." in text_of(tree(run_of(CRASHED)))
    assert not strips(run_of(CRASHED))


def test_every_link_leads_to_its_row() -> None:
    root = tree(run_of(GOOD, CRASHED, GOOD))
    ids = [section.get("id") for section in root.iter(f"{XHTML}section")]
    assert [link.get("href") for link in root.iter(f"{XHTML}a")] == [f"#{name}" for name in ids]


# ---- drawings -------------------------------------------------------------------------------


def rooflines(run: BenchRun) -> list[ET.Element]:
    return [svg for svg in tree(run).iter(f"{SVG}svg") if svg.get("class") != "strip"]


def test_the_roofline_has_a_point_for_every_row_with_bytes_and_flop() -> None:
    no_flop = replace(GOOD, flop_per_call=None)
    (svg,) = rooflines(run_of(CRASHED, GOOD, no_flop, WRONG))
    assert len(list(svg.iter(f"{SVG}circle"))) == 2
    assert "wrong: dot" in text_of(svg)
    assert "2 of 4 rows" in text_of(tree(run_of(CRASHED, GOOD, no_flop, WRONG)))


def test_rows_under_other_roofs_are_not_drawn_under_these() -> None:
    other = replace(GOOD, roofs=replace(ROOFS, unit="fp16_tensor", flop_per_s=990e12))
    (svg,) = rooflines(run_of(GOOD, other))
    assert len(list(svg.iter(f"{SVG}circle"))) == 1


@pytest.mark.parametrize("name", ["no samples", "no roofs", "absurd roofs", "absurd counts"])
def test_without_a_point_or_both_roofs_there_is_no_roofline(name: str) -> None:
    assert not rooflines(run_of(ODD[name]))


def test_throttled_samples_are_crosses() -> None:
    (svg,) = strips(run_of(GOOD))
    assert len(points_of(svg, "free")) == len(TIMES) - 2
    assert path_of(svg, "held").count("l6 6m0-6l-6 6") == 2
    assert "crosses: the clock was held down (2 in all)" in text_of(tree(run_of(GOOD)))


@pytest.mark.parametrize("held", [0, 1, 2500, 4999, 5000])
def test_many_samples_are_thinned_and_throttled_ones_do_not_vanish(held: int) -> None:
    samples = tuple(1e-4 + 1e-8 * (7 * n % 100) for n in range(5000))
    run = run_of(replace(GOOD, samples_s=samples, throttled=tuple(range(held))))
    (svg,) = strips(run)
    crosses = path_of(svg, "held").count("m0-6")
    assert crosses + len(points_of(svg, "free")) == MOST_SAMPLES
    assert crosses == math.ceil(MOST_SAMPLES * held / 5000)
    assert f"{MOST_SAMPLES} are drawn" in text_of(tree(run))


def test_median_and_interval_stand_where_the_samples_say() -> None:
    (svg,) = strips(run_of(replace(GOOD, samples_s=(1e-4, 2e-4, 3e-4) * 21, throttled=())))
    assert path_of(svg, "middle").startswith("M380.0 ")
    (band,) = [rect for rect in svg.iter(f"{SVG}rect") if rect.get("class") == "sure"]
    assert float(band.get("x", "")) == 380


def test_a_sample_far_out_is_at_the_edge_and_the_others_stay_apart() -> None:
    run = run_of(replace(ODD["far out"], throttled=()))
    (svg,) = strips(run)
    *usual, far = [float(point[1:].split()[0]) for point in points_of(svg, "free")]
    assert max(usual) - min(usual) > 100
    assert far == 748
    assert "beyond the edges: 1" in text_of(tree(run))


def test_one_sample_and_no_spread_stand_in_the_middle() -> None:
    for name in ("one sample", "no spread"):
        (svg,) = strips(run_of(replace(ODD[name], throttled=())))
        assert {point[1:].split()[0] for point in points_of(svg, "free")} == {"380.0"}


# ---- what the file may not do ---------------------------------------------------------------


def hostile_run() -> BenchRun:
    where = replace(
        WHERE, gpu_name=HOSTILE, file=HOSTILE, driver_version=HOSTILE, cuda_version=HOSTILE,
        git_commit=HOSTILE, kmeter_version=HOSTILE, packages={HOSTILE: HOSTILE},
    )  # fmt: skip
    row = replace(
        GOOD, name=HOSTILE, parameters={HOSTILE: HOSTILE}, reason=HOSTILE, engine=HOSTILE,
        cache_note=HOSTILE + "c", notes=(HOSTILE + "n",), check=Check(False, HOSTILE + "r"),
        roofs=replace(ROOFS, device_name=HOSTILE, unit=HOSTILE, unit_is_assumed=True),
    )  # fmt: skip
    lost = replace(CRASHED, name=HOSTILE, reason=HOSTILE, roofs=Roofs(reason=HOSTILE))
    return BenchRun(where, HOSTILE, (row, lost), HOSTILE)


def test_hostile_names_are_text() -> None:
    document = bench_html(hostile_run())
    reader = Reader()
    reader.feed(document)
    assert "<script" not in document
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert text_of(ET.fromstring(document)).count(HOSTILE) > 15


def test_nothing_is_loaded_from_elsewhere() -> None:
    document = bench_html(hostile_run())
    reader = Reader()
    reader.feed(document)
    loading = [value for name, value in reader.attributes if name in {"src", "href", "xlink:href"}]
    assert loading
    assert all(value.startswith("#") for value in loading)
    assert "url(" not in document
    assert "@import" not in document
    assert not reader.tags & {"link", "script", "img", "iframe", "object", "image", "use"}


@pytest.mark.parametrize("odd", ["a\0b", "a\x1b[31mb", "a\ud800b", "a\ufffeb"])
def test_characters_that_no_file_can_hold_are_replaced(odd: str) -> None:
    run = run_of(replace(GOOD, name=odd, roofs=replace(ROOFS, device_name=odd, unit=odd)))
    document = bench_html(run)
    assert "a\ufffd" in text_of(ET.fromstring(document.encode()))


def test_the_same_run_gives_the_same_bytes() -> None:
    assert bench_html(run_of(GOOD, WRONG)).encode() == bench_html(run_of(GOOD, WRONG)).encode()


def test_both_light_and_dark_have_every_colour() -> None:
    style = bench_html(run_of(GOOD)).partition("</style>")[0]
    assert "prefers-color-scheme: dark" in style
    assert not re.search(r" [A-Z]+;", style)
