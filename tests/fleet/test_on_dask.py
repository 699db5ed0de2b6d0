"""Real workers of dask.distributed over recorded GPUs: killed, frozen, hanging, reporting for another one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fakes
import pytest
from fakes import FakeGpu
from recorded import EVENTS
from running import Finished, Run, replaying

pytest.importorskip("distributed")

FAKE = Path(__file__).parent.parent / "fakes" / "fleet_worker.py"
REPLAY = replaying(FAKE)
GPUS = [FakeGpu(number=number, name="NVIDIA H200") for number in range(1, 7)]
SLOW = {"share": 1 / 3, "sm_clock_hz": 6.6e8}
TESTS = ("dram-read", "dram-copy", "latency-l2")

Kmeter = Callable[..., Finished]


def environment(
    folder: Path, libraries: Path, fleet: Mapping[str, Any], *gpus: FakeGpu
) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    table = folder / "fleet.json"
    table.write_text(json.dumps(fleet))
    told = {"KMETER_FAKE_EVENTS": str(EVENTS), "KMETER_FAKE_FLEET": str(table), "COLUMNS": "100"}
    return os.environ | fakes.environment(folder, libraries, list(gpus) or GPUS) | told


def run_kmeter(told: Mapping[str, str], *arguments: str) -> Finished:
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, *arguments], env=told, capture_output=True, check=False
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def fleet_run(tmp_path: Path, libraries: Path) -> Kmeter:
    """``kmeter fleet run --local`` over six recorded GPUs, each as the table says."""

    def run(fleet: Mapping[str, Any], *options: str) -> Finished:
        told = environment(tmp_path / "machine", libraries, {GPUS[2].uuid: SLOW} | dict(fleet))
        kept = ("--save-to", str(tmp_path / "reports"))
        return run_kmeter(told, "fleet", "run", "--local", "--json", *kept, *options, *TESTS)

    return run


def verdict(finished: Finished) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(finished.out)
    return document


def flagged(document: Mapping[str, Any]) -> dict[str, set[str]]:
    """The causes of each GPU that stands out."""
    found: dict[str, set[str]] = {}
    for finding in document["findings"]:
        found.setdefault(finding["uuid"], set()).update(finding["causes"])
    return found


def from_files(folder: Path) -> dict[str, Any]:
    """What ``kmeter fleet report`` says of the same reports."""
    told = os.environ | {"COLUMNS": "100"}
    return verdict(run_kmeter(told, "fleet", "report", str(folder), "--json"))


CLOCK = {"SM clock 660 MHz, usual 1.98 GHz"}


def test_a_local_cluster_measures_every_gpu(fleet_run: Kmeter, tmp_path: Path) -> None:
    finished = fleet_run({})
    document = verdict(finished)
    assert finished.code == 1
    assert document["gpus"] == 6
    assert flagged(document) == {GPUS[2].uuid: CLOCK}
    assert from_files(tmp_path / "reports") == document


def test_a_worker_that_is_killed_loses_nothing(fleet_run: Kmeter, tmp_path: Path) -> None:
    finished = fleet_run({GPUS[4].uuid: {"mishap": "kill"}})
    document = verdict(finished)
    assert f"the worker that measured {GPUS[4].uuid} died" in finished.err
    assert flagged(document) == {GPUS[2].uuid: CLOCK}
    assert (document["gpus"], document["interrupted"]) == (6, [])
    assert from_files(tmp_path / "reports") == document


def test_a_gpu_that_kills_its_workers_costs_itself(fleet_run: Kmeter, tmp_path: Path) -> None:
    document = verdict(fleet_run({GPUS[4].uuid: {"mishap": "kill always"}}))
    assert flagged(document) == {
        GPUS[2].uuid: CLOCK,
        GPUS[4].uuid: {"its worker died twice while it was measured"},
    }
    assert document["gpus"] == 6
    assert from_files(tmp_path / "reports") == document


@pytest.mark.parametrize("mishap", ["hang", "freeze"])
def test_who_hangs_is_reported_and_the_others_are_measured(
    fleet_run: Kmeter, tmp_path: Path, mishap: str
) -> None:
    document = verdict(fleet_run({GPUS[4].uuid: {"mishap": mishap}}, "--timeout", "3"))
    assert flagged(document) == {
        GPUS[2].uuid: CLOCK,
        GPUS[4].uuid: {"no word from it for 3 s"},
    }
    assert {group["gpus"] for group in document["groups"]} == {5}
    assert from_files(tmp_path / "reports") == document


def test_who_is_slow_and_says_so_does_not_hang(fleet_run: Kmeter) -> None:
    """Each test takes less than the patience, all of them more."""
    document = verdict(fleet_run({GPUS[4].uuid: {"pace_s": 1.5}}, "--timeout", "3"))
    assert flagged(document) == {GPUS[2].uuid: CLOCK}


def test_ctrl_c_shows_and_keeps_what_was_measured(tmp_path: Path, libraries: Path) -> None:
    told = environment(
        tmp_path / "machine", libraries, {GPUS[4].uuid: {"mishap": "hang"}, GPUS[2].uuid: SLOW}
    )
    command = ("fleet", "run", "--local", "--json", "--save-to", str(tmp_path / "reports"))
    with subprocess.Popen(
        [sys.executable, "-c", REPLAY, *command, *TESTS],
        env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        _wait_for(tmp_path / "machine" / f"seen-{GPUS[4].uuid}")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: Dask's processes get it, too
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == b"kmeter: interrupted"
    assert b"Traceback" not in err
    document = json.loads(out)
    assert document["gpus"] == 4
    assert flagged(document) == {GPUS[2].uuid: CLOCK}
    assert from_files(tmp_path / "reports") == document


def _wait_for(mark: Path) -> None:
    end = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < end, f"no {mark.name}"
        time.sleep(0.05)


def test_a_gpu_that_is_reported_twice_counts_once(fleet_run: Kmeter, tmp_path: Path) -> None:
    other = {"mishap": "other", "reports": GPUS[0].uuid}
    document = verdict(fleet_run({GPUS[5].uuid: other}))
    assert document["gpus"] == 5
    assert [gpu["uuid"] for gpu in document["duplicates"]] == [GPUS[0].uuid]
    assert flagged(document) == {GPUS[2].uuid: CLOCK}


def test_a_gpu_that_was_slow_once_is_not_called_bad(fleet_run: Kmeter, tmp_path: Path) -> None:
    finished = fleet_run({GPUS[1].uuid: {"shares": {"dram-copy": 0.9}, "once": True}})
    document = verdict(finished)
    assert "measured again: 2 GPUs that are slow" in finished.err
    assert [(f["uuid"], f["test"]) for f in document["recovered"]] == [(GPUS[1].uuid, "dram-copy")]
    assert flagged(document) == {GPUS[2].uuid: CLOCK}
    assert flagged(from_files(tmp_path / "reports")) == flagged(document)


# ---- a scheduler and hosts of their own -----------------------------------------------------


WITHOUT_KMETER = (
    "import sys; sys.modules['kmeter'] = None; from distributed.cli.dask_worker import main; main()"
)


@contextmanager
def dask(
    told: Mapping[str, str], name: str, *arguments: str, code: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """A scheduler or worker until the block ends; its words go to ``stderr`` as text."""
    begin = ("-c", code) if code else ("-m", f"distributed.cli.dask_{name}")
    process = subprocess.Popen(
        [sys.executable, *begin, *arguments],
        env=told, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def address_of(scheduler: "subprocess.Popen[str]") -> str:
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        if found := re.search(r"tcp://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError("the scheduler said no address")


def test_the_gpus_of_a_schedulers_hosts(tmp_path: Path, libraries: Path) -> None:
    """Two hosts with GPUs of their own; both see the first one, which counts once."""
    local = ("--host", "127.0.0.1", "--no-dashboard")
    fleet = {GPUS[2].uuid: SLOW}
    hosts = {"one": GPUS[:3], "two": [GPUS[0], *GPUS[3:]]}
    with dask(os.environ, "scheduler", *local, "--port", "0") as scheduler:
        address = address_of(scheduler)
        workers = [
            dask(
                environment(tmp_path / host, libraries, fleet, *gpus) | {"KMETER_HOST": host},
                "worker", address, *local, "--nthreads", "1",
            )
            for host, gpus in hosts.items()
        ]  # fmt: skip
        with workers[0], workers[1]:
            told = environment(tmp_path / "desk", libraries, {})
            _wait_for_workers(address, 2)
            finished = run_kmeter(told, "fleet", "run", "--scheduler", address, "--json", *TESTS)
    document = verdict(finished)
    assert finished.code == 1, finished.err
    assert document["gpus"] == 6
    assert flagged(document) == {GPUS[2].uuid: CLOCK}


def test_a_scheduler_that_goes_away_costs_what_was_not_measured(
    tmp_path: Path, libraries: Path
) -> None:
    local = ("--host", "127.0.0.1", "--no-dashboard")
    folder = tmp_path / "machine"
    told = environment(folder, libraries, {GPUS[4].uuid: {"mishap": "hang"}, GPUS[2].uuid: SLOW})
    with dask(os.environ, "scheduler", *local, "--port", "0") as scheduler:
        address = address_of(scheduler)
        with dask(told, "worker", address, *local, "--nthreads", "1"):
            _wait_for_workers(address, 1)
            command = ("fleet", "run", "--scheduler", address, "--json", *TESTS)
            with subprocess.Popen(
                [sys.executable, "-c", REPLAY, *command],
                env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as process:  # fmt: skip
                _wait_for(folder / f"seen-{GPUS[4].uuid}")
                scheduler.kill()
                out, err = process.communicate(timeout=90)
    assert process.returncode == 2
    assert b"the scheduler answers no more" in err
    assert b"Traceback" not in err
    assert json.loads(out)["gpus"] == 4


def test_a_worker_without_kmeter_is_named_and_lives_on(tmp_path: Path, libraries: Path) -> None:
    local = ("--host", "127.0.0.1", "--no-dashboard")
    told = environment(tmp_path / "machine", libraries, {GPUS[2].uuid: SLOW})
    with dask(os.environ, "scheduler", *local, "--port", "0") as scheduler:
        address = address_of(scheduler)
        bare = ("worker", address, *local, "--no-nanny")
        with (
            dask(told, "worker", address, *local, "--nthreads", "1"),
            dask(os.environ, *bare, code=WITHOUT_KMETER) as other,
        ):
            _wait_for_workers(address, 2)
            finished = run_kmeter(told, "fleet", "run", "--scheduler", address, "--json", *TESTS)
            assert other.poll() is None
    assert "kmeter cannot be imported there" in finished.err
    assert verdict(finished)["gpus"] == 6


@pytest.mark.parametrize("address", ["foo", "", "http://127.0.0.1:8786", "tcp://", "/tmp"])
def test_what_is_no_address_is_one_line(run: Run, address: str) -> None:
    finished = run("fleet", "run", "--scheduler", address)
    assert finished.code == 2
    assert "is no address. Write tcp://HOST:PORT" in finished.err


@pytest.mark.parametrize("text", ["", "{}", "not json", "[]", '{"address": 5}'])
def test_a_file_of_no_scheduler_is_one_line(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "scheduler.json").write_text(text)
    finished = run("fleet", "run", "--scheduler", str(tmp_path / "scheduler.json"))
    assert finished.code == 2
    assert finished.err.count("\n") == 1


def test_a_gpu_that_cuda_cannot_open_costs_only_itself(tmp_path: Path, libraries: Path) -> None:
    broken = FakeGpu(number=9, name="NVIDIA H200", cuda_error=999)
    told = environment(tmp_path / "machine", libraries, {}, *GPUS, broken)
    finished = run_kmeter(
        told, "fleet", "run", "--local", "--json", "--save-to", str(tmp_path / "reports"), *TESTS
    )
    document = verdict(finished)
    assert finished.code == 1
    assert document["gpus"] == 7
    assert flagged(document) == {None: {"the driver answers nothing about it"}}
    assert from_files(tmp_path / "reports") == document


def test_no_scheduler_is_one_line(tmp_path: Path, libraries: Path) -> None:
    told = environment(tmp_path / "desk", libraries, {})
    finished = run_kmeter(told, "fleet", "run", "--scheduler", "tcp://127.0.0.1:9")
    assert finished.code == 2
    assert finished.err.startswith("kmeter: no Dask scheduler at tcp://127.0.0.1:9")
    assert finished.err.count("\n") == 1


def test_a_local_cluster_needs_a_gpu(tmp_path: Path, libraries: Path) -> None:
    told = environment(tmp_path / "desk", libraries, {})
    told |= fakes.environment(tmp_path / "desk", libraries, [])
    finished = run_kmeter(told, "fleet", "run", "--local")
    assert finished.code == 3
    assert "--scheduler ADDRESS measures where GPUs are" in finished.err


def _wait_for_workers(address: str, count: int) -> None:
    waiting = (
        f"from distributed import Client; c = Client({address!r}); c.wait_for_workers({count})"
    )
    subprocess.run([sys.executable, "-c", waiting], check=True, timeout=60)
