"""What ``kmeter roofline`` and ``kmeter compare`` show, and what they write."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from devices import A100_SXM, H100_SXM
from snapshots import check_snapshot, drawn

from kmeter.model.comparison import comparison
from kmeter.model.peaks import peaks
from kmeter.model.roofline import KernelPoint, Placed, Roofline, roofline
from kmeter.views.compare import ComparisonView, comparison_document
from kmeter.views.roofline import RooflineView, shortened
from kmeter.views.roofline_json import points_csv, roofline_document
from kmeter.views.roofline_svg import roofline_svg

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
    assert points_csv([]).strip() == "name"


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


def test_svg_escapes_names() -> None:
    placed = [LINE.place(KernelPoint("<script>&", 1.0))]
    assert "<script>" not in roofline_svg(LINE, placed)


def test_svg_in_both_themes_is_as_stored() -> None:
    for theme in ("light", "dark"):
        check_snapshot(f"roofline/few-{theme}.svg", roofline_svg(LINE, FEW, theme))
