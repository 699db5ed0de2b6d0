"""A verdict as an HTML file: whole, harmless, and with the numbers of the verdict."""

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fleets import figure, level_fleet, noisy_fleet, report
from pages import Reader

from kmeter.model.ceiling import Status
from kmeter.model.fleet import Report
from kmeter.model.fleet_verdict import judge
from kmeter.views.fleet import NO_CAUSE
from kmeter.views.fleet_html import MOST_ROWS, MOST_STRIPS, fleet_html
from kmeter.views.fleet_strip_svg import MOST_DOTS, MOST_LABELS

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"&'\\"
LEFT_OUT = figure("dram-read", None, Status.SKIPPED, "no memory free")


def tree(reports: Sequence[Report], *unreadable: tuple[str, str]) -> ET.Element:
    return ET.fromstring(fleet_html(judge(reports), unreadable))


def text_of(element: ET.Element) -> str:
    return "".join(element.itertext())


def rows(root: ET.Element, heading: str) -> list[list[str]]:
    """The table under a heading, without its own headings."""
    (body,) = root.iter(f"{XHTML}body")
    place = next(n for n, part in enumerate(body) if text_of(part) == heading)
    table = next(part for part in body[place:] if part.find(f"{XHTML}table") is not None)
    return [[text_of(cell) for cell in line] for line in table.iter(f"{XHTML}tr")][1:]


def headings(root: ET.Element) -> list[str]:
    return [text_of(heading) for heading in root.iter(f"{XHTML}h2")]


def strips(root: ET.Element) -> list[ET.Element]:
    return list(root.iter(f"{SVG}svg"))


def path_of(svg: ET.Element, style: str) -> str:
    found = [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("class") == style]
    return found[0] if found else ""


def words_of(svg: ET.Element, style: str | None) -> list[str]:
    return [text_of(text) for text in svg.iter(f"{SVG}text") if text.get("class") == style]


def captions(root: ET.Element) -> list[str]:
    return [text_of(caption) for caption in root.iter(f"{XHTML}figcaption")]


# ---- what was found -------------------------------------------------------------------------


def test_the_heading_counts_gpus_hosts_and_flagged_ones() -> None:
    root = tree(level_fleet(*[1.0] * 15, 0.5))
    (heading,) = root.iter(f"{XHTML}h1")
    assert text_of(heading) == "16 GPUs of 2 hosts: 1 needs attention"
    assert "Not every test" not in text_of(root)


def test_a_flagged_gpu_is_told_with_every_number() -> None:
    found = rows(tree(level_fleet(*[1.0] * 9, 0.5)), "GPUs that need attention")
    assert found == [
        ["node01  0000:01:00.0  GPU-0009  NVIDIA H200"],
        ["dram-read", "2 TB/s", "4 TB/s", "50 %", "below 97 % (3.88 TB/s)", NO_CAUSE],
        ["l2-latency", "500 ns", "250 ns", "50 %", "below 97 % (above 257.7 ns)", NO_CAUSE],
        [
            "matmul-fp16",
            "400 TFLOP/s",
            "800 TFLOP/s",
            "50 %",
            "below 97 % (776 TFLOP/s)",
            NO_CAUSE,
        ],
    ]


def test_causes_are_told_and_the_worst_gpu_comes_first() -> None:
    found = rows(tree(noisy_fleet(256, {17: 0.92, 99: 1 / 3})), "GPUs that need attention")
    gpus = [line[0] for line in found if len(line) == 1]
    assert [gpu.split()[0] for gpu in gpus] == ["node12", "node02"]
    causes = [line[-1] for line in found if len(line) > 1]
    assert causes == ["SM clock 858 MHz, usual 1.98 GHz"] * 3 + [NO_CAUSE] * 3


def test_a_gpu_that_failed_has_no_figure_but_a_reason() -> None:
    dead = replace(report(8), refusal="the driver does not answer")
    wrong = report(9, figure("dram-read", None, Status.FAILED, "element 7 is wrong"))
    unexplained = report(10, figure("dram-read", None, Status.FAILED))
    root = tree([*level_fleet(*[1.0] * 8), dead, wrong, unexplained])
    found = [line for line in rows(root, "GPUs that need attention") if len(line) > 1]
    assert found == [
        ["every test", "failed", "–", "–", "–", "the driver does not answer"],
        ["dram-read", "failed", "–", "–", "–", "element 7 is wrong"],
        ["dram-read", "failed", "–", "–", "–", "no reason given"],
    ]
    assert not any(path_of(svg, "flagged") for svg in strips(root))


def test_where_very_many_need_attention_the_others_have_a_line_each() -> None:
    slow = {place: 0.5 + place / 1000 for place in range(70)}
    root = tree(noisy_fleet(200, slow, tests=20))
    found = rows(root, "GPUs that need attention")
    assert len([line for line in found if len(line) > 1]) == MOST_ROWS
    others = rows(root, "More GPUs that need attention")
    assert len(others) == 20
    assert others[0][1] == "20"
    shares = [float(line[2].removesuffix(" %")) for line in others]
    assert shares == sorted(shares)


def test_every_link_leads_to_its_strip() -> None:
    root = tree(level_fleet(*[1.0] * 9, 0.5))
    ids = {section.get("id"): text_of(section).strip() for section in root.iter(f"{XHTML}section")}
    links = list(root.iter(f"{XHTML}a"))
    assert len(links) == 3
    for link in links:
        assert ids[(link.get("href") or "").removeprefix("#")].startswith(text_of(link))


def test_a_fleet_without_findings_has_strips_alone() -> None:
    root = tree(level_fleet(*[1.0] * 8))
    assert headings(root) == ["Every test"]
    assert "none is slower" in text_of(root)


def test_an_empty_verdict_says_so() -> None:
    root = tree([], ("a.json", "cut off"))
    assert "0 GPUs" in text_of(root)
    assert headings(root) == ["Not read"]
    assert not strips(root)


# ---- what could not be judged ---------------------------------------------------------------


def test_three_gpus_cannot_be_judged() -> None:
    root = tree(level_fleet(1.0, 1.0, 0.3))
    assert headings(root) == ["Not judged"]
    assert "fewer than 4 GPUs" in text_of(root)
    assert "Not every test of every GPU could be judged" in text_of(root)
    found = rows(root, "Not judged")
    assert found[0] == ["dram-read", "NVIDIA H200 at 700 W", "3", "4 TB/s", "fewer than 4 GPUs"]
    assert len(found) == 3
    assert not strips(root)


def test_tests_left_out_are_told_with_reason_and_gpus() -> None:
    root = tree([*level_fleet(*[1.0] * 8), *(report(place, LEFT_OUT) for place in range(8, 18))])
    (*told, words), *_ = rows(root, "Not measured")
    assert told == ["dram-read", "NVIDIA H200 at 700 W", "10", "skipped"]
    assert words.startswith("no memory free: node01  0000:00:00.0  GPU-0008, ")
    assert words.endswith("GPU-0015 and 2 more")


def test_interrupted_runs_and_duplicates_are_named() -> None:
    fleet = level_fleet(*[1.0] * 8)
    fleet[3] = replace(fleet[3], is_complete=False)
    older = replace(fleet[5], started_at="2026-11-01T10:00:00Z", origin="old.json")
    root = tree([*fleet, older])
    assert rows(root, "Interrupted") == [["node00  0000:03:00.0  GPU-0003", "3 tests"]]
    assert rows(root, "Reported more than once") == [
        [
            "node00  0000:05:00.0  GPU-0005",
            "2026-11-01T10:00:00Z  old.json",
            "2026-12-01T10:00:00Z  5.json",
        ]
    ]


def test_unreadable_files_are_named_in_their_order() -> None:
    root = tree(level_fleet(1.0), ("b.json", "cut off"), ("a.json", "empty"))
    assert rows(root, "Not read") == [["b.json", "cut off"], ["a.json", "empty"]]


def test_unknown_hosts_and_bus_ids_are_left_out() -> None:
    fleet = level_fleet(*[1.0] * 8, 0.5)
    fleet[8] = replace(fleet[8], host=None, pci_bus_id=None)
    root = tree(fleet)
    assert rows(root, "GPUs that need attention")[0] == ["GPU-0008  NVIDIA H200"]
    assert words_of(strips(root)[0], "label") == ["GPU-0008 50 %"]
    assert "None" not in text_of(root)


# ---- strips ---------------------------------------------------------------------------------


def test_a_strip_has_a_dot_a_gpu_and_a_labelled_diamond_for_the_flagged() -> None:
    svg = strips(tree(level_fleet(*[1.0] * 9, 0.5)))[0]
    assert path_of(svg, "free").count("h0") == 9
    assert {dot.split()[0] for dot in path_of(svg, "free").split("M")[1:]} == {"537.7"}
    assert path_of(svg, "flagged") == "M7.0 12.0l5-5 5 5-5 5z"
    assert words_of(svg, "label") == ["node01 50 %"]


def test_median_and_threshold_stand_at_the_same_place_in_every_strip() -> None:
    root = tree(noisy_fleet(64, {7: 0.9}))
    for svg in strips(root):
        assert path_of(svg, "middle") == "M537.7 1V83"
        assert path_of(svg, "threshold") == "M327.4 1V83"
    assert words_of(strips(tree(level_fleet(*[1.0] * 4)))[0], None) == [
        "92.5 %", "97 %", "median 4 TB/s", "103 %",
    ]  # fmt: skip


def test_equal_dots_do_not_hide_each_other() -> None:
    drawn = path_of(strips(tree(level_fleet(*[1.0] * 100)))[0], "free")
    assert len(set(drawn.split("M")[1:])) == 100


def test_gpus_beyond_the_edges_are_counted() -> None:
    root = tree(level_fleet(*[1.0] * 9, 0.5, 2.0))
    assert captions(root)[0] == (
        "11 GPUs; flagged below 97 % (3.88 TB/s); diamonds: 1 flagged; beyond the edges: 2."
    )


def test_gpus_that_lie_too_far_apart_are_not_judged() -> None:
    root = tree(level_fleet(0.1, 0.2, 1.0, 2.0, 4.0))
    assert {row[-1] for row in rows(root, "Not judged")} == {"the GPUs lie too far apart"}
    assert not strips(root)


@pytest.mark.parametrize(("count", "has_bars"), [(MOST_DOTS, False), (MOST_DOTS + 1, True)])
def test_many_gpus_are_bars(count: int, has_bars: bool) -> None:
    svg = strips(tree(level_fleet(*[1.0] * count)))[0]
    assert bool(path_of(svg, "bars")) == has_bars
    assert bool(path_of(svg, "free")) != has_bars


def test_flagged_ones_stay_diamonds_where_others_are_bars() -> None:
    root = tree(noisy_fleet(1000, dict.fromkeys(range(450), 0.5), tests=1))
    (svg,) = strips(root)
    assert path_of(svg, "flagged").count("z") == MOST_LABELS + MOST_DOTS
    assert len(words_of(svg, "label")) == MOST_LABELS
    assert "diamonds: 450 flagged; 405 of them are drawn" in captions(root)[0]


@pytest.mark.parametrize(
    ("host", "label"),
    [
        ("gpu-node-0012.cluster.example.org", "gpu-node-0012 50 %"),
        ("10.1.2.3", "10.1.2.3 50 %"),
        ("a-host-with-a-very-long-name", "a-host-wit…-name 50 %"),
    ],
)
def test_labels_are_hosts_without_their_domains(host: str, label: str) -> None:
    fleet = level_fleet(*[1.0] * 8, 0.5)
    fleet[8] = replace(fleet[8], host=host)
    assert words_of(strips(tree(fleet))[0], "label") == [label]


# ---- what the file may not do ---------------------------------------------------------------


def hostile_page() -> str:
    odd = HOSTILE + "\n\0\x1b\ud800"
    fleet = [
        replace(
            gpu, gpu_name=odd, host=odd + str(place), pci_bus_id=odd, uuid=odd + str(place),
            origin=odd, started_at=odd, driver_version=odd,
            ceilings=tuple(replace(item, name=odd + item.name) for item in gpu.ceilings),
        )
        for place, gpu in enumerate(level_fleet(*[1.0] * 8, 0.5))
    ]  # fmt: skip
    left_out = replace(fleet[0].ceilings[0], status=Status.SKIPPED, reason=odd)
    skipped = replace(fleet[0], uuid=odd, ceilings=(left_out,))
    dead = replace(fleet[0], uuid=odd + "dead", ceilings=(), refusal=odd)
    return fleet_html(judge([*fleet, fleet[3], skipped, dead]), [(odd, odd)])


def test_hostile_names_are_text() -> None:
    document = hostile_page()
    reader = Reader()
    reader.feed(document)
    assert "<script" not in document
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert text_of(ET.fromstring(document.encode())).count(HOSTILE) > 15


def test_nothing_is_loaded_from_elsewhere() -> None:
    document = hostile_page()
    reader = Reader()
    reader.feed(document)
    loading = [value for name, value in reader.attributes if name in {"src", "href", "xlink:href"}]
    assert loading
    assert all(value.startswith("#") for value in loading)
    assert "url(" not in document
    assert "@import" not in document
    assert not reader.tags & {"link", "script", "img", "iframe", "object", "image", "use"}
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in reader.attributes


def test_the_same_reports_in_any_order_give_the_same_bytes() -> None:
    fleet = noisy_fleet(64, {5: 0.8, 6: 0.8, 40: 0.3})
    fleet.append(replace(fleet[9], started_at="2026-11-01T10:00:00Z", origin="old.json"))
    fleet.append(report(70, LEFT_OUT, figure("test-00", None, Status.SKIPPED, "busy")))
    page = fleet_html(judge(fleet))
    assert page == fleet_html(judge(fleet))
    shuffled = random.Random(3).sample(fleet, len(fleet))
    assert fleet_html(judge(shuffled)) == page


def test_both_light_and_dark_have_every_colour_and_paper_its_own_layout() -> None:
    style = fleet_html(judge([])).partition("</style>")[0]
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    assert not re.search(r" [A-Z]+;", style)


def test_a_page_stays_small_whatever_a_fleet_is_like() -> None:
    fleet = noisy_fleet(2000, dict.fromkeys(range(900), 0.5), tests=20)
    scattered = [replace(gpu, power_limit_w=500.0 + n // 4) for n, gpu in enumerate(fleet)]
    for reports in (fleet, scattered):
        page = fleet_html(judge(reports), [("a.json", "cut off")] * 5000)
        assert len(page.encode()) < 3e6
        root = ET.fromstring(page)
        assert len(strips(root)) <= MOST_STRIPS
        assert len(rows(root, "Not read")) == MOST_ROWS
        assert "4000 more rows not shown here" in text_of(root)
