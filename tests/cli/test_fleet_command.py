"""``kmeter fleet report``: what it prints and writes, and the code that it ends with."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from recorded import h200_run
from running import Run

from kmeter.errors import ExitCode
from kmeter.fleet.reports import save_report
from kmeter.model.ceiling import CeilingRun

Written = Callable[..., Path]


def run_of(number: int, share: float = 1.0) -> CeilingRun:
    recorded = h200_run()
    ceilings = tuple(
        replace(c, value=(c.value or 0) * (share if c.measure.more_is_better else 1 / share))
        for c in recorded.ceilings
        if c.value
    )
    return replace(
        recorded, uuid=f"GPU-{number:08x}-0000-0000-0000-000000000000", host=f"node{number // 4}",
        pci_bus_id=f"0000:{number % 4:02x}:00.0", power_limit_w=700.0, ceilings=ceilings,
    )  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A folder with a report a share."""

    def write(*shares: float) -> Path:
        for number, share in enumerate(shares):
            save_report(run_of(number, share), tmp_path / "reports")
        return tmp_path / "reports"

    return write


def test_a_level_fleet_passes(run: Run, written: Written) -> None:
    finished = run("fleet", "report", str(written(*[1.0] * 6)))
    assert finished.code == ExitCode.OK
    assert finished.out.startswith("6 GPUs of 2 hosts: none is slower than its like")


def test_a_slow_gpu_fails_and_is_named(run: Run, written: Written) -> None:
    finished = run("fleet", "report", str(written(1.0, 1.0, 1.0, 1.0, 0.8)))
    assert finished.code == ExitCode.GATE_FAILED
    assert "no cause seen" in finished.out
    assert finished.err == (
        "kmeter: 1 of 5 GPUs stands out: node1 0000:00:00.0 GPU-00000004-0000-0000-0000-000000000000\n"
    )


def test_many_slow_gpus_are_one_line(run: Run, written: Written) -> None:
    finished = run("fleet", "report", str(written(*[1.0] * 12, *[0.5] * 5)))
    assert finished.code == ExitCode.GATE_FAILED
    assert finished.err.count("\n") == 1
    assert finished.err.endswith("; 2 more\n")


@pytest.mark.parametrize("options", [(), ("--strict",)])
def test_three_gpus_cannot_be_judged(run: Run, written: Written, options: tuple[str, ...]) -> None:
    finished = run("fleet", "report", str(written(1.0, 1.0, 0.1)), *options)
    assert "3 GPUs: fewer than 4 cannot be judged" in finished.out
    assert finished.code == (ExitCode.CANNOT_TELL if options else ExitCode.OK)


@pytest.mark.parametrize("options", [(), ("--strict",)])
def test_what_is_not_read_is_named(run: Run, written: Written, options: tuple[str, ...]) -> None:
    folder = written(*[1.0] * 4)
    (folder / "cut.json").write_text('{"schema": "kmeter.ceiling/1", "gpu_')
    finished = run("fleet", "report", str(folder), *options)
    assert "cut.json: cut off" in finished.out
    assert finished.code == (ExitCode.CANNOT_TELL if options else ExitCode.OK)


def test_a_slow_gpu_counts_for_more_than_an_unread_file(run: Run, written: Written) -> None:
    folder = written(1.0, 1.0, 1.0, 1.0, 0.5)
    (folder / "cut.json").write_text("{")
    assert run("fleet", "report", str(folder), "--strict").code == ExitCode.GATE_FAILED


@pytest.mark.parametrize(("expected", "code"), [("4", 0), ("5", 1)])
def test_fewer_reports_than_expected_fail(
    run: Run, written: Written, expected: str, code: int
) -> None:
    finished = run("fleet", "report", str(written(*[1.0] * 4)), "--expect", expected)
    assert finished.code == code
    assert ("4 of 5 GPUs reported" in finished.err) == bool(code)


@pytest.mark.parametrize("text", ["nan", "0s", "soon"])
def test_a_timeout_is_a_second_or_more(run: Run, text: str) -> None:
    assert run("fleet", "run", "--local", "--timeout", text).code == ExitCode.USAGE


def test_one_file_cannot_be_two(run: Run, written: Written, tmp_path: Path) -> None:
    both = str(tmp_path / "x")
    folder = str(written(*[1.0] * 4))
    assert run("fleet", "report", folder, "--html", both, "--prometheus", both).code == 2


def test_a_folder_without_reports_is_bad_input(run: Run, tmp_path: Path) -> None:
    assert run("fleet", "report", str(tmp_path)).code == ExitCode.USAGE
    (tmp_path / "a.txt").write_text("hello")
    finished = run("fleet", "report", str(tmp_path))
    assert finished.code == ExitCode.USAGE
    assert "there is no report: a.txt: no report of kmeter's" in finished.err
    assert run("fleet", "report", str(tmp_path / "nowhere")).code == ExitCode.USAGE


def test_json_names_all(run: Run, written: Written) -> None:
    folder = written(1.0, 1.0, 1.0, 1.0, 0.8)
    (folder / "a.txt").write_text("hello")
    document = json.loads(run("fleet", "report", str(folder), "--json").out)
    assert document["schema"] == "kmeter.fleet/1"
    assert (document["gpus"], document["hosts"], document["gpus_flagged"]) == (5, 2, 1)
    finding = next(f for f in document["findings"] if f["test"] == "dram-read")
    assert finding["share_of_median"] == pytest.approx(0.8)
    assert finding["value"] == pytest.approx(0.8 * (h200_run().rate("dram-read") or 0))
    assert document["unreadable"] == [{"path": "a.txt", "reason": "no report of kmeter's"}]
    group = next(g for g in document["groups"] if g["test"] == "dram-read")
    assert (group["gpus"], group["margin_share"], group["power_limit_w"]) == (5, 0.03, 700)


def test_the_same_files_give_the_same_bytes(written: Written, tmp_path: Path) -> None:
    """Whatever order they were written in, and in a process with another seed for its hashes."""
    folder = written(*[1.0 + 0.002 * n for n in range(9)], 0.5)
    other = tmp_path / "other"
    for path in sorted(folder.iterdir(), reverse=True):
        other.mkdir(exist_ok=True)
        (other / path.name).write_bytes(path.read_bytes())
    outputs = []
    for seed, place in (("1", folder), ("2", other)):
        files = [str(tmp_path / f"{seed}.html"), str(tmp_path / f"{seed}.prom")]
        told = (
            "fleet",
            "report",
            str(place),
            "--json",
            "--html",
            files[0],
            "--prometheus",
            files[1],
        )
        code = "import sys; from kmeter.cli.main import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", code, *told], capture_output=True, check=False,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        outputs.append((done.stdout, *(Path(file).read_bytes() for file in files)))
    assert outputs[0] == outputs[1]


def test_a_page_and_metrics_are_written(run: Run, written: Written, tmp_path: Path) -> None:
    html, metrics = tmp_path / "fleet.html", tmp_path / "fleet.prom"
    folder = str(written(1.0, 1.0, 1.0, 1.0, 0.8))
    run("fleet", "report", folder, "--html", str(html), "--prometheus", str(metrics))
    ElementTree.fromstring(html.read_text("utf-8"))
    assert "kmeter_fleet_flagged_gpus 1.0" in metrics.read_text("utf-8")


def test_a_place_that_cannot_be_written_is_one_line(run: Run, written: Written) -> None:
    finished = run("fleet", "report", str(written(*[1.0] * 4)), "--html", "/nowhere/x.html")
    assert (finished.code, finished.out) == (ExitCode.USAGE, "")
    assert "cannot write '/nowhere/x.html'" in finished.err


@pytest.mark.parametrize("options", [(), ("--local", "--scheduler", "tcp://127.0.0.1:1")])
def test_a_run_needs_one_place(run: Run, options: tuple[str, ...]) -> None:
    finished = run("fleet", "run", *options)
    assert finished.code == ExitCode.USAGE
    assert "either --scheduler ADDRESS or --local" in finished.err


def test_a_ceiling_that_there_is_not_is_refused_before_anybody_is_asked(run: Run) -> None:
    finished = run("fleet", "run", "--local", "dram-reed")
    assert finished.code == ExitCode.USAGE
    assert "dram-read" in finished.err


def test_without_a_subcommand_help_is_shown(run: Run) -> None:
    finished = run("fleet")
    assert finished.code == ExitCode.OK
    assert "Commands:\n  report  Judge what GPUs reported" in finished.out
