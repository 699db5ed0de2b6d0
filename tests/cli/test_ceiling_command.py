"""``kmeter ceiling`` over a recorded measuring process: what it prints, keeps, judges and survives."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeGpu, environment
from recorded import EVENTS, h200_run
from running import Finished, Run, replaying

import kmeter.sources as references
from kmeter.cli._interrupt import interruptible
from kmeter.fleet.reports import gather
from kmeter.model.ceiling import Status
from kmeter.model.fleet_verdict import judge

FAKE = Path(__file__).parent.parent / "fakes" / "worker.py"
REPLAY = replaying(FAKE)
REFERENCES = Path(references.__file__).parent / "references"
UUID = h200_run().uuid or ""

Ceiling = Callable[..., Finished]


@pytest.fixture
def told(tmp_path: Path) -> dict[str, str]:
    """The environment of a replay: a recording, and a home of its own."""
    return os.environ | {
        "COLUMNS": "100",
        "KMETER_FAKE_EVENTS": str(EVENTS),
        "KMETER_FAKE_ONCE": str(tmp_path / "once"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }


@pytest.fixture
def kmeter(told: dict[str, str]) -> Ceiling:
    """Run kmeter with a recorded measuring process."""

    def run(*arguments: str, **more: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-c", REPLAY, *arguments],
            env=told | more,
            capture_output=True,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def saved(told: dict[str, str]) -> Path:
    return Path(told["XDG_DATA_HOME"]) / "kmeter" / "ceilings" / f"{UUID}.json"


def document(finished: Finished) -> dict[str, Any]:
    assert finished.code == 0, finished.err
    found: dict[str, Any] = json.loads(finished.out)
    return found


# ---- what is measured -----------------------------------------------------------------------


def test_a_name_means_all_that_begin_with_it(kmeter: Ceiling) -> None:
    found = document(kmeter("ceiling", "dram", "l2-read", "--json", "--no-save"))
    assert found["schema"] == "kmeter.ceiling/1"
    names = [c["name"] for c in found["ceilings"]]
    assert names[:2] == ["dram-read", "dram-write"]
    assert "l2-read" in names
    assert "latency-l2" not in names


def test_numbers_have_units_limits_and_conditions(kmeter: Ceiling) -> None:
    found = document(kmeter("ceiling", "dram-copy", "--json", "--no-save"))
    (copy,) = found["ceilings"]
    assert copy["measure"] == "bytes_per_s"
    assert 4e12 < copy["value"] < 4.8e12
    assert copy["counts"] == "read + write"
    assert copy["limit"]["source"] == "derived"
    assert 0.85 < copy["fraction_of_limit"] < 0.95
    assert copy["conditions"]["power_w"] > 100
    assert found["peak_bytes"] <= found["planned_bytes"]
    assert found["is_complete"] is True


def test_a_table_names_every_ceiling(kmeter: Ceiling) -> None:
    finished = kmeter("ceiling", "latency", "--no-save")
    assert finished.code == 0
    assert "latency-dram" in finished.out
    assert "\x1b" not in finished.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("dram-cpy",), "there is no ceiling 'dram-cpy'. Nearest: dram-copy"),
        (("--mb", "x"), "--mb takes the MiB of an array, not 'x'"),
        (("--mb", "-4"), "--mb takes the MiB of an array, not '-4'"),
        (("--repeat", "0"), "0 is not in the range"),
        (("--tolerance", "5"), "is not between 0 and 100 %"),
        (("-d", "h100-sxm"), "'h100-sxm' is no card of this machine"),
        (("--check", "missing.json"), "cannot read missing.json"),
    ],
)
def test_a_wrong_word_is_one_line(kmeter: Ceiling, arguments: tuple[str, ...], says: str) -> None:
    finished = kmeter("ceiling", *arguments)
    assert finished.code == 2
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1


def test_the_list_says_what_each_shows(run: Run) -> None:
    listed = run("ceiling", "--list")
    assert listed.code == 0
    assert "Copies from pinned host memory" in " ".join(listed.out.split())
    found = json.loads(run("ceiling", "--list", "--json").out)
    assert {c["name"] for c in found["ceilings"]} >= {"dram-read", "tensor-fp8", "roofline"}


def test_without_a_gpu_it_says_so(run_process: Run) -> None:
    finished = run_process("ceiling", "dram-read", LD_LIBRARY_PATH="/nowhere")
    assert finished.code == 3
    assert "a GPU of this machine is needed" in finished.err
    assert finished.out == ""


def test_without_cupy_it_says_what_to_install(tmp_path: Path, libraries: Path) -> None:
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("raise ImportError('none')")
    told = environment(tmp_path, libraries, [FakeGpu()])
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from kmeter.cli.main import main; sys.exit(main())",
         "ceiling", "dram-read"],
        env=os.environ | told | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert 'pip install "kmeter[cuda13]"' in done.stderr


def test_a_driver_that_cupy_cannot_use_is_one_line(tmp_path: Path, libraries: Path) -> None:
    told = environment(tmp_path, libraries, [FakeGpu()])
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from kmeter.cli.main import main; sys.exit(main())",
         "ceiling", "dram-read"],
        env=os.environ | told, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("kmeter: CuPy cannot use this GPU")
    assert len(done.stderr.splitlines()) == 1


# ---- what is kept ---------------------------------------------------------------------------


def test_ceilings_are_kept_under_the_cards_uuid(kmeter: Ceiling, saved: Path) -> None:
    kmeter("ceiling", "dram-copy")
    kmeter("ceiling", "arithmetic-fp32")
    kept = json.loads(saved.read_text())
    assert [c["name"] for c in kept["ceilings"]] == ["arithmetic-fp32", "dram-copy"]
    assert kept["driver_version"] == "580.159.04"


def test_no_save_keeps_nothing(kmeter: Ceiling, saved: Path) -> None:
    kmeter("ceiling", "dram-copy", "--no-save")
    assert not saved.exists()


def test_a_failure_is_not_kept(kmeter: Ceiling, saved: Path) -> None:
    assert kmeter("ceiling", "dram-copy", KMETER_FAKE_MISHAP="broken:dram-copy").code == 1
    assert json.loads(saved.read_text())["ceilings"] == []


def test_where_nothing_can_be_kept_the_result_is_still_shown(kmeter: Ceiling) -> None:
    finished = kmeter("ceiling", "dram-copy", XDG_DATA_HOME="/proc/none")
    assert finished.code == 0
    assert "dram-copy" in finished.out
    assert "the ceilings are not saved" in finished.err


def test_roofline_judges_by_the_cards_own_ceilings(
    kmeter: Ceiling, tmp_path: Path, libraries: Path
) -> None:
    kmeter("ceiling", "dram", "arithmetic-fp32")
    number = int(UUID.removeprefix("GPU-").replace("-", ""), 16)
    point = "k,flop=1GFLOP,bytes=4GB,time=1ms"
    for card, is_own in ((FakeGpu(number=number), True), (FakeGpu(), False)):
        told = environment(tmp_path, libraries, [card])
        arguments = ("roofline", "--peak-bw", "4814", "--point", point)
        found = document(kmeter(*arguments, "--json", **told))
        assert bool(found["ceilings"]) is is_own
        (placed,) = found["points"]
        assert (placed["fraction_of_ceiling"] is not None) is is_own
        if is_own:
            assert [roof["source"] for roof in found["ceilings"]] == ["measured", "measured"]
            assert placed["fraction_of_ceiling"] == pytest.approx(4e12 / 4.71e12, rel=0.01)
            assert "% of measured" in kmeter(*arguments, **told).out
        else:
            assert "no ceilings" in placed["fraction_of_ceiling_reason"]


# ---- the gate -------------------------------------------------------------------------------


@pytest.fixture
def reference(kmeter: Ceiling, tmp_path: Path) -> Callable[[float], str]:
    """A file in which the copy was faster by a factor."""

    def write(factor: float) -> str:
        found = document(kmeter("ceiling", "dram-copy", "--json", "--no-save"))
        found["ceilings"][0]["value"] *= factor
        path = tmp_path / "reference.json"
        path.write_text(json.dumps(found))
        return str(path)

    return write


def test_a_card_as_fast_as_the_reference_passes(
    kmeter: Ceiling, reference: Callable[[float], str]
) -> None:
    assert kmeter("ceiling", "dram-copy", "--check", reference(1.02)).code == 0


def test_a_slower_card_fails_and_is_named(
    kmeter: Ceiling, reference: Callable[[float], str]
) -> None:
    finished = kmeter("ceiling", "dram-copy", "--check", reference(1.25), "--tolerance", "5%")
    assert finished.code == 1
    assert "below the reference: dram-copy: 80 % of the reference (no cause seen)" in finished.err


def test_a_file_can_be_shown_again_without_a_gpu(run: Run, tmp_path: Path) -> None:
    shown = run("ceiling", "--show", "h200", "--json")
    found = document(shown)
    assert found["gpu_name"] == "NVIDIA H200"
    (tmp_path / "copy.json").write_text(shown.out)
    again = document(run("ceiling", "--show", str(tmp_path / "copy.json"), "--json"))
    assert again == found
    assert "dram-copy" in run("ceiling", "--show", "h200").out


def test_a_reference_comes_with_kmeter(kmeter: Ceiling) -> None:
    assert kmeter("ceiling", "dram", "tensor", "--check", "h200", "--tolerance", "1%").code == 0


def test_a_file_of_something_else_is_no_reference(kmeter: Ceiling, tmp_path: Path) -> None:
    for text in ("{}", "[", '{"schema": "kmeter.info/1"}', '{"schema": "kmeter.ceiling/9"}'):
        (tmp_path / "odd.json").write_text(text)
        finished = kmeter("ceiling", "dram-copy", "--check", str(tmp_path / "odd.json"))
        assert finished.code == 2, text
        assert "odd.json" in finished.err


def _worse(change: Callable[[dict[str, Any]], None]) -> str:
    found = json.loads((REFERENCES / "h200.json").read_text())
    for ceiling in found["ceilings"]:
        change(ceiling)
    return json.dumps(found)


@pytest.mark.parametrize(
    "text",
    [
        _worse(lambda c: c.update(value=-1.0)),
        _worse(lambda c: c.update(value=1e308)),
        _worse(lambda c: c["limit"].update(value=1e-300)),
        _worse(lambda c: c["conditions"].update(throttle_reasons_mask=-1)),
        _worse(lambda c: c.update(note="\x1b]0;x\x07")),
        _worse(lambda c: c.update(points=[{"x": 0, "value": 0}])),
    ],
    ids=["negative", "huge", "tiny limit", "mask", "escape", "points"],
)
def test_an_impossible_file_is_refused_in_one_line(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    finished = run("ceiling", "--show", str(tmp_path / "bad.json"))
    assert finished.code == 2
    assert "bad.json" in finished.err
    assert len(finished.err.splitlines()) == 1
    assert "\x1b" not in finished.err


def test_one_point_is_no_curve(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(_worse(lambda c: c.update(points=[{"x": 5, "value": 7}])))
    assert run("ceiling", "--show", str(tmp_path / "one.json")).code == 0


def test_a_broken_saved_file_is_replaced_and_said(kmeter: Ceiling, saved: Path) -> None:
    saved.parent.mkdir(parents=True)
    saved.write_text("{")
    finished = kmeter("ceiling", "dram-copy")
    assert finished.code == 0
    assert "it is replaced" in finished.err
    assert [c["name"] for c in json.loads(saved.read_text())["ceilings"]] == ["dram-copy"]


# ---- reports of a fleet ---------------------------------------------------------------------


def test_a_report_is_saved_where_it_is_wanted(kmeter: Ceiling, tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "new"
    finished = kmeter("ceiling", "dram-read", "--no-save", "--save-to", str(folder))
    assert finished.code == 0
    (path,) = folder.iterdir()
    assert finished.err == f"kmeter: reported to {path}\n"
    assert UUID in path.name
    (report,) = gather([folder]).reports
    assert [figure.name for figure in report.ceilings] == ["dram-read"]
    assert report.ceilings[0].value == h200_run().rate("dram-read")


def test_a_failed_probe_is_reported_too(kmeter: Ceiling, tmp_path: Path) -> None:
    finished = kmeter(
        "ceiling", "dram-read", "--save-to", str(tmp_path), KMETER_FAKE_MISHAP="kill:dram-read"
    )
    assert finished.code == 1
    (report,) = [r for r in gather([tmp_path]).reports if r.uuid == UUID]
    assert report.ceilings[0].status is Status.FAILED


@pytest.fixture
def every(tmp_path: Path, libraries: Path) -> Callable[..., Finished]:
    """Run ``kmeter ceiling -d all`` on a machine with these GPUs."""

    def run(
        gpus: list[FakeGpu],
        fleet: dict[str, Any],
        *arguments: str,
        in_nvml: list[FakeGpu] | None = None,
    ) -> Finished:
        (tmp_path / "fleet.json").write_text(json.dumps(fleet))
        told = environment(tmp_path, libraries, gpus, in_nvml=in_nvml) | {
            "KMETER_FAKE_EVENTS": str(EVENTS), "KMETER_FAKE_FLEET": str(tmp_path / "fleet.json"),
            "XDG_DATA_HOME": str(tmp_path / "data"),
        }  # fmt: skip
        script = replaying(FAKE.with_name("fleet_worker.py"))
        done = subprocess.run(
            [sys.executable, "-c", script, "ceiling", "-d", "all", "dram-read", *arguments],
            env=os.environ | told, capture_output=True, check=False,
        )  # fmt: skip
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def test_every_gpu_is_measured_and_reported(every: Ceiling, tmp_path: Path) -> None:
    gpus = [FakeGpu(number=1), FakeGpu(number=2)]
    finished = every(gpus, {}, "--save-to", str(tmp_path / "out"))
    assert finished.code == 0
    assert finished.out == ""
    assert finished.err.count("reported to") == 2
    assert {r.uuid for r in gather([tmp_path / "out"]).reports} == {gpu.uuid for gpu in gpus}


def test_a_gpu_that_cannot_be_measured_is_reported_with_its_reason(
    every: Ceiling, tmp_path: Path
) -> None:
    gpus = [FakeGpu(number=1), FakeGpu(number=2), FakeGpu(number=3, lost_after=0)]
    refuses = {gpus[0].uuid: {"mishap": "refuse"}}
    finished = every(gpus, refuses, "--save-to", str(tmp_path / "out"))
    assert finished.code == 1
    assert "CuPy cannot use this GPU" in finished.err
    reports = {r.uuid: r for r in gather([tmp_path / "out"]).reports}
    assert reports[gpus[0].uuid].refusal == "CuPy cannot use this GPU"
    assert not reports[gpus[1].uuid].refusal
    assert "lost" in reports[gpus[2].uuid].refusal


def test_two_lost_gpus_are_two(every: Ceiling, tmp_path: Path) -> None:
    """CUDA sees neither, and NVML no more than that they are there."""
    well, gone = FakeGpu(number=1), [FakeGpu(number=n, lost_after=0) for n in (2, 3)]
    finished = every([well], {}, "--save-to", str(tmp_path / "out"), in_nvml=[well, *gone])
    assert finished.code == 1
    reports = gather([tmp_path / "out"]).reports
    assert len(judge(reports).flagged) == 2
    assert len({report.identity for report in reports}) == 3


def test_a_failed_test_of_any_gpu_fails_the_command(every: Ceiling, tmp_path: Path) -> None:
    gpus = [FakeGpu(number=1), FakeGpu(number=2)]
    finished = every(gpus, {gpus[0].uuid: {"share": 0.0}}, "--save-to", str(tmp_path / "out"))
    assert finished.code == 0  # it is the verdict that finds a value that cannot be
    assert judge(gather([tmp_path / "out"]).reports).flagged[0].uuid == gpus[0].uuid


def test_what_is_shown_is_not_reported(kmeter: Ceiling, tmp_path: Path) -> None:
    finished = kmeter("ceiling", "--show", "h200", "--save-to", str(tmp_path / "out"))
    assert finished.code == 2
    assert "--save-to does not go with it" in finished.err


def test_a_folder_is_made_before_anything_is_measured(kmeter: Ceiling, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    finished = kmeter("ceiling", "dram-read", "--save-to", str(tmp_path / "file" / "x"))
    assert (finished.code, finished.out) == (2, "")


@pytest.mark.parametrize(
    "options", [(), ("--json", "--save-to", "x"), ("--check", "h200", "--save-to", "x")]
)
def test_every_gpu_needs_a_place_for_reports(every: Ceiling, options: tuple[str, ...]) -> None:
    finished = every([FakeGpu()], {}, *options)
    assert finished.code == 2
    assert "-d all goes with --save-to DIR" in finished.err


# ---- accidents ------------------------------------------------------------------------------


def test_a_crash_fails_one_ceiling_and_the_command(kmeter: Ceiling) -> None:
    finished = kmeter("ceiling", "dram-read", "dram-copy", KMETER_FAKE_MISHAP="kill:dram-read")
    assert finished.code == 1
    assert "dram-read failed: the measuring process ended (signal 9)" in finished.out
    assert "failed: dram-read" in finished.err


def test_ctrl_c_keeps_what_was_finished(told: dict[str, str], saved: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", REPLAY, "ceiling", "dram-read", "dram-copy", "--json"],
        env=told | {"KMETER_FAKE_MISHAP": "hang:dram-copy"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _wait_for(Path(told["KMETER_FAKE_ONCE"]))
    time.sleep(0.5)  # for what was told before it to be heard, on a busy machine too
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    found = json.loads(out)
    assert found["is_complete"] is False
    assert [c["name"] for c in found["ceilings"]] == ["dram-read"]
    assert [c["name"] for c in json.loads(saved.read_text())["ceilings"]] == ["dram-read"]


# ---- clocks ---------------------------------------------------------------------------------


def clocks_log(tmp_path: Path) -> list[str]:
    log = tmp_path / "clocks"
    return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, libraries: Path) -> dict[str, str]:
    told = environment(tmp_path, libraries, [FakeGpu()])
    return told | {"KMETER_FAKE_CLOCKS": str(tmp_path / "clocks")}


def test_clocks_are_left_alone(kmeter: Ceiling, machine: dict[str, str], tmp_path: Path) -> None:
    kmeter("ceiling", "dram-copy", **machine)
    assert clocks_log(tmp_path) == []


def test_locked_clocks_are_given_back(
    kmeter: Ceiling, machine: dict[str, str], tmp_path: Path
) -> None:
    assert kmeter("ceiling", "dram-copy", "--lock-clocks", "1410", **machine).code == 0
    assert clocks_log(tmp_path) == ["lock 1410 1410", "reset"]


def test_locked_clocks_are_given_back_after_a_crash(
    kmeter: Ceiling, machine: dict[str, str], tmp_path: Path
) -> None:
    kmeter("ceiling", "dram-copy", "--lock-clocks", "1410", KMETER_FAKE_MISHAP="mute", **machine)
    assert clocks_log(tmp_path) == ["lock 1410 1410", "reset"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_locked_clocks_are_given_back_on_every_signal(
    told: dict[str, str], machine: dict[str, str], tmp_path: Path, ending: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", REPLAY, "ceiling", "dram-copy", "--lock-clocks", "1410"],
        env=told | machine | {"KMETER_FAKE_MISHAP": "hang:dram-copy"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_for(Path(told["KMETER_FAKE_ONCE"]))
    process.send_signal(ending)
    assert process.wait(20) == 130
    assert clocks_log(tmp_path) == ["lock 1410 1410", "reset"]


def test_a_signal_that_is_ignored_stays_so() -> None:
    """``nohup`` has SIGHUP ignored, so that a command goes on when its terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_clocks_that_may_not_be_locked_end_it_before_it_begins(
    kmeter: Ceiling, tmp_path: Path, libraries: Path
) -> None:
    gpu = FakeGpu(nvml={"nvmlDeviceSetGpuLockedClocks": "error 4"})
    told = environment(tmp_path, libraries, [gpu])
    finished = kmeter("ceiling", "dram-copy", "--lock-clocks", "1410", **told)
    assert finished.code == 2
    assert "the clocks cannot be locked: no permission" in finished.err


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
