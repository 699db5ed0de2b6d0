"""``kmeter bench`` as its users call it, on the host."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import RUN
from running import MODULE, Finished, Run

from kmeter.views.bench_json import bench_document

FILES = Path(__file__).parent.parent / "data" / "bench"
SWEEP = str(FILES / "sweep.py")
FAST = ("--precision", "5%", "--time-limit", "200ms")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def bench(run: Run, home: Path) -> Run:
    def call(*arguments: str, **environment: str) -> Finished:
        return run("bench", *arguments, *FAST, **environment)

    return call


def document(finished: Finished) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(finished.out)
    return found


def test_a_first_file_runs_as_it_is_written(run: Run, bench: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "mine.py")
    written = run("bench", "--init", file)
    assert written.code == 0
    assert f"kmeter bench {file}" in written.out
    assert run("bench", "--init", file).code == 2, "it is not overwritten"
    rows = document(bench(file, "--json"))["results"]
    assert [row["parameters"] for row in rows] == [{"n": 65536}, {"n": 4194304}]
    assert all(row["correct"] for row in rows)


@pytest.mark.parametrize("wanted", ["pip install", "1 << 16"])
def test_the_first_file_says_what_it_is_about(run: Run, tmp_path: Path, wanted: str) -> None:
    file = tmp_path / "mine.py"
    run("bench", "--init", str(file))
    assert ("cupy" if wanted == "pip install" else wanted) in file.read_text()


def test_a_list_runs_nothing(run: Run) -> None:
    finished = run("bench", SWEEP, "--list", COLUMNS="100")
    assert finished.code == 0
    assert "add[n=1024, dtype=float32]  yes      bytes, FLOP" in finished.out
    cases = json.loads(run("bench", SWEEP, "--list", "--json").out)["cases"]
    assert len(cases) == 7
    assert cases[0]["tags"] == ["small", "vector"]


def test_parameters_and_names_narrow(bench: Run) -> None:
    finished = bench(SWEEP, "add", "-P", "n=1024", "-P", "dtype=float32", "--json")
    assert [row["parameters"] for row in document(finished)["results"]] == [
        {"n": 1024, "dtype": "float32"}
    ]


def test_a_kernelmeter_file_runs_with_its_import_changed(bench: Run, tmp_path: Path) -> None:
    """The shape of its examples: alias km, a name first, args, ref, bytes_per_call of arguments."""
    file = tmp_path / "vector_add.py"
    file.write_text(
        "import numpy as np\nimport kmeter as km\n\nN = 1 << 12\n\n"
        "def _make_args():\n    return (np.random.rand(N), np.random.rand(N))\n\n"
        '@km.benchmark("add", args=_make_args, ref=np.add,\n'
        "              bytes_per_call=lambda x, y: 3 * x.size * x.itemsize, warmup=3, iters=40)\n"
        "def add(x, y):\n    return x + y\n\n"
        '@km.benchmark("plain", args=_make_args, flops_per_call=N, peak_tflops=1.5)\n'
        "def plain(x, y):\n    return x + y\n"
    )
    rows = document(bench(str(file), "--json", "--precision", "0.01%"))["results"]
    assert [row["name"] for row in rows] == ["add", "plain"]
    assert len(rows[0]["samples_s"]) == 40
    assert rows[0]["bytes_per_call"] == 3 * 8 * 4096
    assert rows[1]["correct"] is None


# ---- files ----------------------------------------------------------------------------------


def test_every_file_is_written(bench: Run, tmp_path: Path) -> None:
    names = ("save", "csv", "markdown", "html", "nvbench")
    options = [part for name in names for part in (f"--{name}", str(tmp_path / name))]
    assert bench(SWEEP, "scale", *options).code == 0
    assert json.loads((tmp_path / "save").read_text())["schema"] == "kmeter.bench/1"
    assert (tmp_path / "csv").read_text().startswith("name,parameters,status")
    assert "| scale |" in (tmp_path / "markdown").read_text()
    assert (tmp_path / "html").read_text().startswith("<!DOCTYPE html>")
    assert "benchmarks" in json.loads((tmp_path / "nvbench").read_text())


def test_a_folder_that_is_not_there_is_told_before_anything_runs(
    bench: Run, tmp_path: Path
) -> None:
    finished = bench(SWEEP, "--save", str(tmp_path / "no" / "x.json"))
    assert finished.code == 2
    assert finished.out == ""
    assert "no such folder" in finished.err


def test_files_are_written_though_nobody_reads_on(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "run.json"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", MODULE, "bench", SWEEP, "scale", *FAST, "--save", str(path)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert json.loads(path.read_text())["is_complete"]


def test_the_environment_is_kept(bench: Run) -> None:
    environment = document(bench(SWEEP, "scale", "--json"))["environment"]
    assert environment["gpu_name"] is None
    assert "libcuda" in environment["no_gpu_reason"]
    assert len(environment["file_sha256"]) == 64
    assert environment["packages"]["numpy"]


def test_a_saved_run_is_shown_without_running_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(bench_document(RUN)))
    finished = run("bench", "--show", str(path), COLUMNS="120")
    assert "NVIDIA H200 (9.0)" in finished.out
    assert finished.code == 1, "it holds failures"
    both = run("bench", "--show", str(path), "--compare", str(path), "--json")
    assert {item["verdict"] for item in json.loads(both.out)["comparison"]["changes"]} >= {"same"}


# ---- comparing ------------------------------------------------------------------------------


def compared(bench: Run, path: Path, *options: str) -> Finished:
    return bench(SWEEP, "scale", "--compare", str(path), "--json", *options)


@pytest.fixture
def before(bench: Run, tmp_path: Path) -> Path:
    path = tmp_path / "before.json"
    bench(SWEEP, "scale", "--save", str(path))
    return path


def slowed(path: Path, times: float) -> Path:
    """The same baseline, as if its kernel had taken so many times as long."""
    content = json.loads(path.read_text())
    for row in content["results"]:
        row["samples_s"] = [times * sample for sample in row["samples_s"]]
    path.write_text(json.dumps(content))
    return path


def test_a_change_for_the_worse_ends_with_1(bench: Run, before: Path) -> None:
    finished = compared(bench, slowed(before, 0.2))
    assert finished.code == 1
    assert "scale is slower (+" in finished.err
    assert document(finished)["comparison"]["changes"][0]["verdict"] == "slower"


def test_a_change_for_the_better_ends_with_0(bench: Run, before: Path) -> None:
    finished = compared(bench, slowed(before, 5))
    assert finished.code == 0
    assert document(finished)["comparison"]["changes"][0]["verdict"] == "faster"


def test_a_missing_benchmark_ends_with_1_unless_names_narrow(bench: Run, before: Path) -> None:
    content = json.loads(before.read_text())
    gone = {**content["results"][0], "name": "gone"}
    before.write_text(json.dumps({**content, "results": [*content["results"], gone]}))
    assert "gone" not in compared(bench, slowed(before, 5)).out
    finished = bench(str(FILES / "sweep.py"), "--compare", str(before), "-P", "factor=2")
    assert "gone" not in finished.err
    whole = bench(str(FILES / "sweep.py"), "--compare", str(slowed(before, 5)))
    assert whole.code == 1
    assert "gone is missing" in whole.err


def test_cannot_tell_is_4_with_strict_only(bench: Run, before: Path) -> None:
    content = json.loads(slowed(before, 5).read_text())
    content["results"][0]["samples_s"] = content["results"][0]["samples_s"][:3]
    before.write_text(json.dumps(content))
    assert compared(bench, before).code == 0
    finished = compared(bench, before, "--strict")
    assert finished.code == 4
    assert "cannot tell: scale" in finished.err


def test_another_card_is_not_compared_without_across(bench: Run, tmp_path: Path) -> None:
    path = tmp_path / "h200.json"
    path.write_text(json.dumps(bench_document(RUN)))
    finished = bench(SWEEP, "scale", "--compare", str(path))
    assert finished.code == 2
    assert "NVIDIA H200 then, no GPU now" in finished.err
    assert "scale" in finished.out, "what was measured is shown all the same"
    across = bench(SWEEP, "scale", "--compare", str(path), "--across")
    assert across.code == 0
    assert "against" in across.out


def test_against_another_file(bench: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(Path(SWEEP).read_text().replace("return x * 2", "return sum([x, x] * 9)/9"))
    finished = bench(SWEEP, "scale", "--against", str(other), COLUMNS="100")
    assert finished.code == 0
    assert "faster" in finished.out


def test_tags_make_a_history(bench: Run, run: Run, home: Path) -> None:
    assert "No run is kept yet" in run("bench", "--history").out
    bench(SWEEP, "scale", "--tag", "main")
    assert "main" in run("bench", "--history").out
    (kept,) = json.loads(run("bench", "--history", "--json").out)["tags"]["main"]
    slowed(Path(kept), 5)
    finished = bench(SWEEP, "scale", "--compare", "main")
    assert finished.code == 0
    assert "against main" in finished.out


def test_a_baseline_is_read_before_anything_is_measured(bench: Run) -> None:
    finished = bench(SWEEP, "--compare", "no-such-thing")
    assert finished.code == 2
    assert finished.out == ""
    assert "no file and no tag" in finished.err


# ---- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a file"),
        ((SWEEP, "--timer", "sundial"), "--timer is one of"),
        ((SWEEP, "--cache", "lukewarm"), "--cache is one of cold, clean, warm"),
        ((SWEEP, "--cache", "cold", "--no-flush-l2"), "--no-flush-l2 is --cache warm"),
        ((SWEEP, "--precision", "0"), "--precision is above 0"),
        ((SWEEP, "--time-limit", "0s"), "--time-limit is above 0"),
        ((SWEEP, "--timeout", "soon"), "is not a time"),
        ((SWEEP, "-P", "n"), "-P takes KEY=VALUE"),
        ((SWEEP, "-P", "m=3"), "no benchmark has a parameter 'm'"),
        ((SWEEP, "nothing"), "there is no benchmark 'nothing'"),
        ((SWEEP, "--tag", "../x"), "is no tag"),
        ((SWEEP, "--fail-slower", "x"), "is not a share"),
        ((SWEEP, "-d", "h100-sxm"), "is no card of this machine"),
        ((SWEEP, "-d", "1"), "libcuda"),
        ((SWEEP, "--timer", "events", "scale"), ""),
    ],
)
def test_a_mistake_is_one_line(run: Run, arguments: tuple[str, ...], words: str) -> None:
    finished = run("bench", *arguments)
    assert finished.code in {1, 2, 3}
    assert words in finished.err
    assert finished.err.count("\n") == 1


def test_a_gpu_timer_without_a_gpu_costs_the_row(bench: Run) -> None:
    row = document(bench(SWEEP, "scale", "--timer", "events", "--json"))["results"][0]
    assert row["status"] == "failed"
    assert "needs a GPU" in row["reason"]
