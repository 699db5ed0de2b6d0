"""What ``kmeter roofline`` and ``kmeter compare`` show, and what they write."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest
from devices import A100_SXM, H100_SXM, UNKNOWN_MEMORY
from snapshots import check_snapshot, drawn

from kmeter.model.comparison import comparison
from kmeter.model.peaks import peaks
from kmeter.model.roofline import KernelPoint, Placed, Roofline, roofline
from kmeter.units import shortened
from kmeter.views.compare import ComparisonView
from kmeter.views.compare_json import comparison_document
from kmeter.views.roofline import RooflineView
from kmeter.views.roofline_json import points_csv, roofline_document
from kmeter.views.roofline_svg import RIGHT, WIDTH, roofline_svg

LINE = roofline(H100_SXM, peaks(H100_SXM), ("fp32", "bf16_tensor"))
FEW = [
    LINE.place(KernelPoint("AI 0.33", 0.33)),
    LINE.place(KernelPoint.timed("softmax", 2.5e9, 2e9, 700e-6)),
    LINE.place(KernelPoint.timed("gemm", 137.4e9, 100e6, 220e-6)),
]
MANY = [
    LINE.place(KernelPoint.timed(f"kernel_{n}_" + "x" * 400, n * n * 3e7, 3e6 * n, 1e-6 * (9 + n)))
    for n in range(1, 31)
]
ALONE: list[Placed] = []


@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize(("name", "placed"), [("few", FEW), ("many", MANY), ("alone", ALONE)])
def test_roofline(name: str, placed: list[Placed], width: int, ascii_mode: bool) -> None:
    text = drawn(RooflineView(LINE, placed), width, ascii_mode=ascii_mode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or not ascii_mode
    check_snapshot(f"roofline/{name}-{width}{'-ascii' * ascii_mode}.txt", text)


def test_roofline_in_colour() -> None:
    check_snapshot("roofline/few-80-colour.txt", drawn(RooflineView(LINE, FEW), 80, colour=True))


def test_no_number_is_cut_at_any_width() -> None:
    for width in range(40, 100):
        text = " ".join(drawn(RooflineView(LINE, MANY), width, ascii_mode=True).split())
        for placed in MANY:
            assert f"{placed.point.arithmetic_intensity:.4g}" in text


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
def test_compare(width: int, ascii_mode: bool) -> None:
    found = comparison([H100_SXM, A100_SXM], "fp32", [0.33], {H100_SXM.target: 2.69})
    text = drawn(ComparisonView(found), width, ascii_mode=ascii_mode)
    assert max(map(len, text.splitlines())) <= width
    check_snapshot(f"roofline/compare-{width}{'-ascii' * ascii_mode}.txt", text)


def test_compare_in_colour() -> None:
    found = comparison([H100_SXM, A100_SXM], "fp32", [0.33])
    check_snapshot("roofline/compare-80-colour.txt", drawn(ComparisonView(found), 80, colour=True))


@pytest.mark.parametrize("length", [15, 16, 40, 400])
def test_a_shortened_name_keeps_both_ends(length: int) -> None:
    name = shortened("first_" + "x" * length + "_last", 16)
    assert len(name) <= 16
    assert name.startswith("first_")
    assert name.endswith("last")


def test_an_unknown_roof_is_told_with_its_reason() -> None:
    line = roofline(H100_SXM, peaks(H100_SXM), ("fp32", "fp4_tensor"))
    assert "fp4 tensor –, " in drawn(RooflineView(line, ALONE), 100)
    roof = roofline_document(line, ALONE)["roofs"][-1]
    assert roof["flop_per_s"] is None
    assert "fp4" in roof["flop_per_s_reason"]


def test_an_extreme_intensity_leaves_the_slope_its_label() -> None:
    far = [LINE.place(KernelPoint("far", 1e9))]
    rows = drawn(RooflineView(LINE, far), 120, ascii_mode=True).splitlines()
    (label,) = (row for row in rows if "DRAM 3.352" in row and "|" in row)
    assert "/" in label.split("DRAM")[0]


@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
def test_each_of_many_rooflines_has_its_number_in_the_drawing(ascii_mode: bool) -> None:
    devices = [H100_SXM._replace(sm_count=132 - 9 * n) for n in range(6)] + [H100_SXM]
    text = drawn(ComparisonView(comparison(devices, "fp32", [1])), 80, ascii_mode=ascii_mode)
    axis = "|" if ascii_mode else "│"
    drawing = " ".join(row.partition(axis)[2] for row in text.splitlines())
    for number in range(1, 8):
        assert len(re.findall(rf"(?<![\d.]){number}(?![\d.])", drawing)) >= 2, number


def test_a_card_keeps_its_number_where_one_before_it_is_unknown() -> None:
    found = comparison([UNKNOWN_MEMORY, H100_SXM], "fp32", [1])
    text = drawn(ComparisonView(found), 100)
    assert "2 DRAM 3.352 TB/s" in text
    assert "NVIDIA GB10: the driver reports no memory clock; its power limit is unknown" in text
    unknown, known = comparison_document(found)["gpus"]
    assert unknown["tdp_w_reason"] == "its power limit is unknown"
    assert known["at"][0]["relative"] is None
    assert known["at"][0]["relative_reason"].startswith("NVIDIA GB10: the driver reports")


def names_without(document: Any, path: str = "") -> Iterator[str]:
    """Every null of a document that has neither a sibling reason nor is one."""
    if isinstance(document, list):
        for item in document:
            yield from names_without(item, path)
    elif isinstance(document, dict):
        for name, value in document.items():
            told = document.get(f"{name}_reason") or document.get("reason")
            if value is None and not told and "reason" not in name and name != "clock_hz":
                yield f"{path}.{name}"
            yield from names_without(value, f"{path}.{name}")


def test_every_null_has_its_reason() -> None:
    found = comparison([UNKNOWN_MEMORY, H100_SXM], "fp32", [1], {H100_SXM.target: 2.69})
    assert not [
        *names_without(comparison_document(found)),
        *names_without(roofline_document(LINE, FEW)),
    ]


# ---- files ----------------------------------------------------------------------------------


def test_json() -> None:
    document = roofline_document(LINE, FEW)
    json.dumps(document, allow_nan=False)
    assert document["schema"] == "kmeter.roofline/1"
    assert document["roofs"][0]["bytes_per_s"] == pytest.approx(3.352e12, rel=1e-3)
    question, softmax, gemm = document["points"]
    assert question["fraction_of_roof"] is None
    assert question["fraction_of_roof_reason"] == "not timed"
    assert softmax["bound"] == "memory"
    assert softmax["fraction_of_roof"] == pytest.approx(0.852, abs=1e-3)
    assert gemm["above_roof"] is True


def test_json_of_a_comparison() -> None:
    document = comparison_document(comparison([H100_SXM, A100_SXM], "fp32", [0.33]))
    json.dumps(document, allow_nan=False)
    assert document["gpus"][1]["at"][0]["relative"] == pytest.approx(0.608, abs=1e-3)


def test_csv_is_read_back() -> None:
    named = [LINE.place(KernelPoint('a "b", c', 1.0)), *FEW]
    rows = list(csv.DictReader(io.StringIO(points_csv(named))))
    assert rows[0]["name"] == 'a "b", c'
    assert float(rows[2]["fraction_of_roof"]) == pytest.approx(0.852, abs=1e-3)
    assert points_csv([]).startswith("name,arithmetic_intensity,")


SVG = "{http://www.w3.org/2000/svg}"


def svg_of(line: Roofline, placed: list[Placed], theme: str = "auto") -> ET.Element:
    return ET.fromstring(roofline_svg(line, placed, theme))


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
@pytest.mark.parametrize("placed", [ALONE, FEW, MANY], ids=["alone", "few", "many"])
def test_svg_is_well_formed_and_shows_every_point(placed: list[Placed], theme: str) -> None:
    root = svg_of(LINE, placed, theme)
    assert len(root.findall(f"{SVG}circle")) == len(placed)
    assert root.find(f"{SVG}title") is not None
    above = [dot for dot in root.findall(f"{SVG}circle") if "above" in dot.get("class", "")]
    assert len(above) == sum(item.above_roof for item in placed)


def test_svg_draws_every_roof_inside_its_frame() -> None:
    line = roofline(H100_SXM, peaks(H100_SXM), ("fp64", "fp8_tensor_sparse"))
    for path in svg_of(line, ALONE).findall(f"{SVG}path"):
        across = re.findall(r"[ML](-?[\d.]+)|H(-?[\d.]+)", path.get("d", ""))
        assert all(0 <= float(x or h) <= WIDTH - RIGHT for x, h in across)


def test_svg_escapes_names() -> None:
    placed = [LINE.place(KernelPoint("<script>&", 1.0))]
    assert "<script>" not in roofline_svg(LINE, placed)


def test_svg_in_both_themes_is_as_stored() -> None:
    for theme in ("light", "dark"):
        check_snapshot(f"roofline/few-{theme}.svg", roofline_svg(LINE, FEW, theme))
