"""``kmeter roofline`` and ``kmeter compare`` as a user types them."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from running import Run

from kmeter.errors import ExitCode

H100 = ("roofline", "-d", "h100-sxm")


def test_an_intensity(run: Run) -> None:
    finished = run(*H100, "--ai", "0.33", COLUMNS="100")
    assert finished.code == ExitCode.OK
    assert "AI 0.33: memory-bound, at most 1.106 TFLOP/s, 1.65 % of the fp32 peak" in finished.out


def test_points_in_json(run: Run) -> None:
    point = "k,bytes=2GB,time=700us,flop=2.5GFLOP"
    document = json.loads(run(*H100, "--point", point, "--json").out)
    assert document["points"][0]["arithmetic_intensity"] == 1.25
    assert document["points"][0]["fraction_of_roof"] == pytest.approx(0.852, abs=1e-3)


@pytest.mark.parametrize(
    ("bandwidth", "bytes_per_s"), [("3000", 3e12), ("3TB/s", 3e12), ("500 GB/s", 5e11)]
)
def test_a_given_bandwidth(run: Run, bandwidth: str, bytes_per_s: float) -> None:
    roofs = json.loads(run(*H100, "--peak-bw", bandwidth, "--json").out)["roofs"]
    assert roofs[0]["bytes_per_s"] == bytes_per_s
    assert roofs[0]["source"] == "given"


def test_both_peaks_given_need_no_device(run: Run) -> None:
    finished = run("roofline", "--peak-bw", "100", "--peak-tflops", "2", "--ai", "1", "--json")
    assert json.loads(finished.out)["ridge_flop_per_byte"] == 20


def test_several_data_types(run: Run) -> None:
    finished = run(*H100, "--dtype", "fp32,bf16-tensor", "--dtype", "fp8", "--json")
    names = [roof["name"] for roof in json.loads(finished.out)["roofs"]]
    assert names == ["DRAM", "fp32", "bf16_tensor", "fp8_tensor"]


def test_above_the_roof_fails_only_where_strict(run: Run) -> None:
    point = ("--point", "k,flop=1e12,bytes=1GB,time=1ms")
    finished = run(*H100, *point, COLUMNS="100")
    assert finished.code == ExitCode.OK
    assert "k: 1490 % of the roof: check bytes, flop, L2 hits, clocks" in finished.out
    failed = run(*H100, *point, "--strict")
    assert failed.code == ExitCode.GATE_FAILED
    assert failed.err.startswith("kmeter: above the roof: '")
    assert run(*H100, "--ai", "1", "--strict").code == ExitCode.OK


def test_files_are_written_whole(run: Run, tmp_path: Path) -> None:
    svg, csv = tmp_path / "r.svg", tmp_path / "r.csv"
    assert run(*H100, "--ai", "1", "--svg", str(svg), "--csv", str(csv)).code == ExitCode.OK
    assert svg.read_text().startswith("<svg")
    assert len(csv.read_text().splitlines()) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.svg"]


def test_a_name_cannot_move_the_cursor(run: Run) -> None:
    done = run("roofline", "-d", "h100-sxm", "--point", "a\x1b[2Jb,flop=1,bytes=1,time=1")
    assert (done.code, "\x1b" in done.out, "a?[2Jb" in done.out) == (0, False, True)


def test_the_outermost_amounts_that_can_be_written_are_drawn(run: Run, tmp_path: Path) -> None:
    widest = ("--ai", "1e-30", "--ai", "1e30", "--point", "k,flop=1e30,bytes=1e-30,time=1e-30")
    done = run("roofline", "-d", "h100-sxm", *widest, "--svg", str(tmp_path / "r.svg"))
    assert (done.code, done.err) == (0, "")
    assert "AI 1e+30: compute-bound" in done.out


def test_a_name_moves_no_cursor_and_breaks_no_file(run: Run, tmp_path: Path) -> None:
    svg, csv = tmp_path / "r.svg", tmp_path / "r.csv"
    point = "a\x1b[31m\x01\udcffb\n,flop=1e9,bytes=1e9,time=1ms"
    done = run(*H100, "--point", point, "--svg", str(svg), "--csv", str(csv))
    assert done.code == ExitCode.OK
    assert "A a?[31m??b " in done.out
    ElementTree.parse(svg)
    assert csv.read_text().splitlines()[1].startswith("a?[31m??b,")


def test_a_further_unit_that_a_card_lacks_is_told(run: Run) -> None:
    done = run(*H100, "--dtype", "fp32,fp4", COLUMNS="100")
    assert done.code == ExitCode.OK
    assert "fp4 tensor –, " in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--ai", "-1"), "above 0 and finite"),
        (("--ai", "0"), "above 0 and finite"),
        (("--ai", "nan"), "above 0 and finite"),
        (("--ai", "inf"), "above 0 and finite"),
        (("--ai", "1e308"), "too large"),
        (("--ai", "1e-308"), "too small"),
        (("--peak-bw", "1e300"), "too large"),
        (("--point", "k,flop=1e99,bytes=1,time=1"), "too large"),
        (("--point", "k,flop=1,bytes=1,time=1e-99s"), "too small"),
        (("--ai", "much"), "FLOP per byte"),
        (("--peak-bw", "0"), "must be above 0"),
        (("--peak-bw", "-3"), "must be above 0"),
        (("--peak-bw", "400Gb/s"), "bits"),
        (("--peak-bw", "400Gbps"), "bits"),
        (("--peak-tflops", "x"), "is not"),
        (("--dtype", "fp31"), "is no data type"),
        (("--dtype", ""), "is no data type"),
        (("--dtype", "fp4"), "9.0 has no fp4 tensor unit"),
        (("--point", "k"), "needs a name, flop, bytes and time"),
        (("--point", ",flop=1,bytes=1,time=1"), "needs a name"),
        (("--point", "k,flop=1,bytes=1,time=1,flop=2"), "no new key"),
        (("--point", "k,flop=1,bytes=1,time=1,colour=2"), "needs a name, flop"),
        (("--point", "k,flop=1,bytes=1,time=0"), "must be above 0"),
        (("--point", "k,flop=1,bytes=1GB/s,time=1"), "unknown unit"),
        (("--point", "k,flop=1,bytes=1,time=1h"), "is not a time"),
        (("--theme", "pink"), "auto, light or dark"),
        (("--svg", "/no/such/folder/r.svg"), "cannot write"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], says: str) -> None:
    finished = run(*H100, *arguments)
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert finished.out == ""
    assert len(finished.err.splitlines()) == 1


# ---- compare --------------------------------------------------------------------------------


def test_compare_names_and_prices(run: Run) -> None:
    finished = run(
        "compare", "h100-sxm", "a100-sxm-80gb", "4090", "--ai", "0.33",
        "--cost", "H100 SXM=2.69,4090=0.35", "--json",
    )  # fmt: skip
    assert finished.code == ExitCode.OK, finished.err
    gpus = json.loads(finished.out)["gpus"]
    assert [gpu["cost_per_hour"] for gpu in gpus] == [2.69, None, 0.35]
    assert gpus[2]["at"][0]["relative"] == pytest.approx(1008 / 3352.32)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("h100", "--ai", "1"), "could be"),
        (("4090", "--ai", "0"), "above 0"),
        (("4090",), "--ai"),
        (("4090", "--ai", "1", "--dtype", "fp32,fp64"), "one --dtype"),
        (("4090", "--ai", "1", "--cost", "4090=0"), "above 0"),
        (("4090", "--ai", "1", "--cost", "4090=1e-300"), "too small"),
        (("4090", "--ai", "1", "--cost", "4090=x"), "is no price"),
        (("4090", "--ai", "1", "--cost", "4090"), "is no price"),
        (("4090", "--ai", "1", "--cost", "4090=1,rtx-4090=2"), "priced twice"),
        (("4090", "--ai", "1", "--cost", "h200=1"), "is not compared"),
    ],
)
def test_bad_comparisons_are_one_line(run: Run, arguments: tuple[str, ...], says: str) -> None:
    finished = run("compare", *arguments)
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1
