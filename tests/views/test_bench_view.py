"""Benchmarks as people and programs see them."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import ADD, LATER, RUN
from snapshots import check_snapshot, drawn

from kmeter.bench.saved import read_run
from kmeter.model.benchmark import BenchRun, Environment
from kmeter.model.run_comparison import compare_runs
from kmeter.views.bench import BenchView, ChangesView
from kmeter.views.bench_export import bench_csv, bench_markdown
from kmeter.views.bench_json import bench_document, changes_document

CHANGES = compare_runs(RUN, LATER)
RECORDED = read_run(Path(__file__).parent.parent / "data" / "bench" / "h200-run.json")


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_a_run(width: int) -> None:
    check_snapshot(f"bench/run-{width}.txt", drawn(BenchView(RUN), width))


@pytest.mark.parametrize("width", [80, 120])
def test_a_run_of_a_card(width: int) -> None:
    check_snapshot(f"bench/h200-{width}.txt", drawn(BenchView(RECORDED), width))


def test_a_run_in_ascii() -> None:
    text = drawn(BenchView(RUN), 120, ascii_mode=True)
    assert text.isascii()
    check_snapshot("bench/run-ascii.txt", text)


def test_a_run_in_colour() -> None:
    check_snapshot("bench/run-colour.txt", drawn(BenchView(RUN), 120, colour=True))


@pytest.mark.parametrize("width", [40, 100])
def test_changes(width: int) -> None:
    text = drawn(ChangesView(CHANGES, "before.json"), width)
    check_snapshot(f"bench/changes-{width}.txt", text)


def test_markdown() -> None:
    check_snapshot("bench/run.md", bench_markdown(RUN, CHANGES, "before.json"))


def test_a_host_run_has_no_card_to_tell_of() -> None:
    environment = Environment(host_processor="a processor", file="x.py")
    text = drawn(BenchView(BenchRun(environment, "2026-12-01", ())), 80)
    assert text == "a processor, x.py, 2026-12-01\n"


def test_numbers_are_never_cut() -> None:
    for width in range(30, 160, 7):
        text = drawn(BenchView(RUN), width)
        assert "49." in text
        assert "…" not in text


# ---- files ----------------------------------------------------------------------------------


def test_the_document_holds_no_nan_and_names_what_is_unknown() -> None:
    document = bench_document(RUN)
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text)["schema"] == "kmeter.bench/1"
    for row in document["results"]:
        for key in (
            "median_s",
            "bytes_per_s",
            "flop_per_s",
            "fraction_of_roof",
            "speedup",
            "correct",
        ):
            assert (row[key] is None) == bool(row[f"{key}_reason"]), (row["name"], key)


def test_the_names_that_others_read() -> None:
    wanted = {
        "name", "status", "median_s", "interval_s", "samples_s", "bytes_per_s", "flop_per_s",
        "bound", "fraction_of_roof", "correct", "speedup", "cache_state", "engine",
    }  # fmt: skip
    for row in bench_document(RUN)["results"]:
        assert wanted <= set(row)


def test_changes_as_json() -> None:
    document = changes_document(CHANGES, "before.json")
    verdicts = {item["label"]: item["verdict"] for item in document["changes"]}
    assert verdicts["vector_add[n=16777216]"] == "faster"
    assert verdicts["scan"] == "missing"
    json.dumps(document, allow_nan=False)


def test_csv_has_a_line_a_row_and_full_digits() -> None:
    rows = list(csv.DictReader(io.StringIO(bench_csv(RUN))))
    assert [row["name"] for row in rows] == [row.name for row in RUN.rows]
    assert float(rows[0]["median_s"]) == ADD.median_s
    assert rows[4]["median_s"] == ""
    assert rows[4]["status"] == "crashed"


def test_markdown_takes_hostile_names_as_text() -> None:
    hostile = replace(ADD, name="a|b*c<script>\n", parameters={})
    text = bench_markdown(BenchRun(RUN.environment, "2026-12-01", (hostile,)))
    assert "a\\|b\\*c\\<script\\>" in text
