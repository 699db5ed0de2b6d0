"""The measuring process from outside: it dies, hangs, refuses and babbles, and the run goes on."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded import EVENTS

from kmeter.errors import NoGpuError
from kmeter.measure.client import Client
from kmeter.measure.collect import Collector
from kmeter.measure.events import Ended, Event, Finished, Planned, Started
from kmeter.measure.plan import Options
from kmeter.measure.process import WorkerRefusedError
from kmeter.model.ceiling import Status

FAKE = Path(__file__).parent.parent / "fakes" / "worker.py"
NAMES = ["dram-read", "dram-copy", "l2-read"]

Start = Callable[..., Client]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    def make(mishap: str = "", silence_s: float = 30.0) -> Client:
        monkeypatch.setenv("KMETER_FAKE_EVENTS", str(EVENTS))
        monkeypatch.setenv("KMETER_FAKE_ONCE", str(tmp_path / "once"))
        monkeypatch.setenv("KMETER_FAKE_MISHAP", mishap)
        return Client("0", Options(), command=(sys.executable, str(FAKE)), silence_s=silence_s)

    return make


def finished(events: list[Event]) -> dict[str, Status]:
    return {e.ceiling.name: e.ceiling.status for e in events if isinstance(e, Finished)}


def test_a_run_is_planned_once_and_ends(start: Start) -> None:
    events = list(start().events(NAMES))
    assert isinstance(events[0], Planned)
    assert isinstance(events[-1], Ended)
    assert finished(events) == dict.fromkeys(NAMES, Status.OK)
    collector = Collector()
    for event in events:
        collector.take(event)
    assert collector.run.is_complete
    assert collector.run.rate("dram-copy") is not None


def test_a_process_that_dies_costs_one_probe(start: Start) -> None:
    events = list(start("kill:dram-copy").events(NAMES))
    assert finished(events) == {
        "dram-read": Status.OK,
        "dram-copy": Status.FAILED,
        "l2-read": Status.OK,
    }
    failed = next(e.ceiling for e in events if isinstance(e, Finished) and e.ceiling.reason)
    assert failed.reason == "the measuring process ended (signal 9)"
    assert sum(isinstance(event, Planned) for event in events) == 1


def test_a_process_that_hangs_costs_one_probe(start: Start) -> None:
    events = list(start("hang:dram-copy", silence_s=1.5).events(NAMES))
    assert finished(events)["dram-copy"] is Status.FAILED
    assert finished(events)["l2-read"] is Status.OK


def test_after_a_lost_context_another_process_goes_on(start: Start) -> None:
    events = list(start("broken:dram-read").events(NAMES))
    assert finished(events) == {
        "dram-read": Status.FAILED,
        "dram-copy": Status.OK,
        "l2-read": Status.OK,
    }


def test_what_is_no_event_goes_to_stderr(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(finished(list(start("junk").events(NAMES)))) == 3
    assert "a library says hello" in capsys.readouterr().err


def test_a_refusal_keeps_its_words_and_exit_code(start: Start) -> None:
    with pytest.raises(WorkerRefusedError, match="no GPU here") as caught:
        list(start("refuse").events(NAMES))
    assert caught.value.exit_code == 3


def test_a_process_that_never_begins_is_no_gpu(start: Start) -> None:
    with pytest.raises(NoGpuError, match="exit code 7"):
        list(start("mute").events(NAMES))


def test_the_process_ends_with_whoever_listens(start: Start) -> None:
    client = start("hang:dram-copy", silence_s=30.0)
    stream = client.events(NAMES)
    next(stream)
    stream.close()
    assert client._process is not None
    assert client._process.exit_code is not None


def test_what_is_stopped_goes_on_with_no_other_probe(start: Start) -> None:
    """A process that was stopped looks like one that died, and is no reason to begin another."""
    client, seen = start("hang:dram-copy"), []
    for event in client.events(NAMES):
        seen.append(event)
        if isinstance(event, Started) and event.name == "dram-copy":
            client.stop()
    assert finished(seen) == {"dram-read": Status.OK}
    assert not any(isinstance(event, Ended) for event in seen)
    assert list(client.events(NAMES)) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are not seen here")
def test_a_process_whose_parent_is_killed_ends(tmp_path: Path) -> None:
    child = (
        "import os, time; from kmeter.measure.process import end_with_parent; "
        "end_with_parent(); print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); "
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    end = time.monotonic() + 30
    while _is_running(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    """Whether it is there and has not ended; in a container nobody may take a zombie away."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
