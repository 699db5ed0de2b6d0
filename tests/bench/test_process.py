"""The whole way through a process of its own, on the host: tricks, mishaps, sweeps, and the gate."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from running import MODULE, Run

from kmeter.bench.client import Client
from kmeter.bench.collect import Collector
from kmeter.bench.events import Ended, Finished, Lap, Note, Started
from kmeter.bench.referee import Referee
from kmeter.bench.settings import Settings
from kmeter.errors import UsageError
from kmeter.measure.process import WorkerRefusedError
from kmeter.model.benchmark import BenchRun, Outcome, Row

FILES = Path(__file__).parent.parent / "data" / "bench"
QUICK = Settings(precision=0.05, time_limit_s=0.2)


def run_of(file: str | Path, *names: str, timeout_s: float = 30.0, against: str = "") -> BenchRun:
    collector = Collector()
    client = Client(str(FILES / file), QUICK, against, names, timeout_s=timeout_s)
    for event in client.events():
        collector.take(event)
    return collector.run


def rows_of(run: BenchRun) -> dict[str, Row]:
    return {row.label: row for row in run.rows}


# ---- tricks ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tricks() -> dict[str, Row]:
    return rows_of(run_of("tricks.py"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cached-by-address", "where"),
        ("skips-after-the-first", "where"),
        ("skips-while-timed", "timed: "),
        ("patched-engine", "calls back to back take"),
        ("patched-everything", "its clock is wrong"),
        ("cached-by-fingerprint", "timed: "),
        ("stops-in-place", "timed: "),
        ("ruins-its-input", "it writes 2 arrays, the reference gives 1"),
        ("takes-the-references", "not written"),
    ],
)
def test_a_trick_is_wrong(tricks: dict[str, Row], name: str, words: str) -> None:
    assert tricks[name].outcome is Outcome.WRONG
    assert words in tricks[name].reason


def test_a_result_by_address_is_named(tmp_path: Path) -> None:
    """One that is right on other addresses: the reason says what it does."""
    file = tmp_path / "one.py"
    file.write_text(
        "import numpy as np, kmeter\n"
        "kept = {}\n"
        "def args():\n    return (np.random.rand(1000),)\n"
        "@kmeter.benchmark(args=args, ref=np.square)\n"
        "def square(x):\n"
        "    key = x.ctypes.data\n"
        "    if key not in kept: kept[key] = (x, np.square(x))\n"
        "    return kept[key][1].copy()\n"
    )
    assert "keeps results by the address of its inputs" in run_of(file).rows[0].reason


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lazy-later", "computed only when they are looked at"),
        ("generator", "it returns a generator, whose work is not done by then"),
        ("coroutine", "it returns a coroutine, whose work is not done by then"),
    ],
)
def test_work_that_escapes_the_clock_fails(tricks: dict[str, Row], name: str, words: str) -> None:
    assert tricks[name].outcome is Outcome.FAILED
    assert words in tricks[name].reason


def test_what_cannot_be_looked_at_is_named(tricks: dict[str, Row]) -> None:
    assert "it returns a Promise: nobody can see" in tricks["promise"].notes[0]


@pytest.mark.parametrize("name", ["lazy", "lazy-map"])
def test_a_lazy_result_pays_for_its_work(tricks: dict[str, Row], name: str) -> None:
    lazy, honest = tricks[name], tricks["honest"]
    assert lazy.median_s is not None
    assert honest.median_s is not None
    assert lazy.median_s > honest.median_s / 2
    assert "computed when it is looked at" in lazy.notes[0]


def test_patched_clocks_change_nothing_and_are_named(tricks: dict[str, Row]) -> None:
    patched, honest = tricks["patched-clock"], tricks["honest"]
    assert patched.median_s is not None
    assert honest.median_s is not None
    assert patched.median_s > honest.median_s / 2
    assert any("replaces clocks" in note for note in patched.notes)


# ---- honest kernels -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def honest() -> dict[str, Row]:
    return rows_of(run_of("honest.py"))


def test_no_honest_kernel_is_called_wrong(honest: dict[str, Row]) -> None:
    assert {name: row.reason for name, row in honest.items() if row.correct is not True} == {}
    assert len(honest) == 24


def test_a_kernel_that_uses_up_its_inputs_is_told(honest: dict[str, Row]) -> None:
    told = {
        name for name, row in honest.items() if any("changes its inputs" in n for n in row.notes)
    }
    assert told == {"uses_up_its_input"}


# ---- mishaps --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mishaps() -> dict[str, Row]:
    return rows_of(run_of("mishaps.py", timeout_s=4.0))


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("before", Outcome.OK, ""),
        ("segfault", Outcome.CRASHED, "segmentation fault"),
        ("exits", Outcome.FAILED, "it called sys.exit(3)"),
        ("exits_hard", Outcome.CRASHED, "exit code 0"),
        ("hangs", Outcome.HUNG, "it said nothing for 4 s"),
        ("raises", Outcome.FAILED, "mishaps.py:45: ValueError: no"),
        ("eats_memory", Outcome.FAILED, "out of memory"),
        ("babbles", Outcome.OK, ""),
        ("after", Outcome.OK, ""),
    ],
)
def test_a_mishap_costs_one_row(
    mishaps: dict[str, Row], name: str, outcome: Outcome, words: str
) -> None:
    assert mishaps[name].outcome is outcome
    assert words in mishaps[name].reason


def test_every_row_stands_once_in_its_order(mishaps: dict[str, Row]) -> None:
    assert next(iter(mishaps)) == "before"
    assert list(mishaps)[-1] == "after"
    assert len(mishaps) == 9


# ---- files that cannot run ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def broken(:\n", "user.py:1: SyntaxError"),
        ("import numpy\n1 / 0\n", "user.py:2: ZeroDivisionError: division by zero"),
        ("import no_such_thing\n", "user.py:1: it needs no_such_thing, which is not installed"),
        ("import kernelmeter as km\n", "import kmeter as km"),
        ("x = 1\n", "declares no benchmark"),
        ("raise KeyboardInterrupt\n", "user.py:1: KeyboardInterrupt"),
        ("raise ValueError('\\udcff\\x1b')\n", r"user.py:1: ValueError: \udcff\x1b"),
        (
            "class Mute(Exception):\n    def __str__(self): raise self\nraise Mute\n",
            "user.py:3: Mute",
        ),
        ("import sys\nsys.exit(4)\n", "user.py:2: it called sys.exit(4)"),
        ("import os\nos._exit(4)\n", "did not load: its process ended (exit code 4)"),
        (
            "import kmeter\n@kmeter.benchmark(args=3)\ndef f(): pass\n",
            "user.py:2: args is a function",
        ),
        ("import kmeter\n@kmeter.benchmark\ndef f(): pass\n", "user.py:2: TypeError"),
    ],
)
def test_a_file_that_cannot_run_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "user.py"
    file.write_text(text)
    with pytest.raises((WorkerRefusedError, UsageError)) as caught:
        run_of(file)
    assert caught.value.exit_code == 2
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_declares_other_names_each_time(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(
        "import kmeter, os\n@kmeter.benchmark(f'k{os.getpid()}', args=lambda: ())\n"
        "def f(): os._exit(1)\nkmeter.benchmark('other', args=lambda: ())(f)\n"
    )
    with pytest.raises(UsageError, match="other benchmarks each time"):
        run_of(file)


@pytest.mark.parametrize("name", ["\udcff.py", "x" * 5000])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises((WorkerRefusedError, UsageError)):
        run_of(name)


def test_an_interrupt_of_the_kernels_own_costs_one_row(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(
        "import kmeter\n@kmeter.benchmark(args=lambda: ())\ndef f(): raise KeyboardInterrupt\n"
    )
    row = run_of(file).rows[0]
    assert row.outcome is Outcome.FAILED
    assert "KeyboardInterrupt" in row.reason


def test_a_file_that_never_loads(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(UsageError, match="no word for 1 s"):
        run_of(file, timeout_s=1.0)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WorkerRefusedError, match="there is no file"):
        run_of(tmp_path / "none.py")


def test_a_file_may_import_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("def double(x):\n    return x + x\n")
    file = tmp_path / "user.py"
    file.write_text(
        "import kmeter, neighbour\n"
        "kmeter.benchmark('d', args=lambda: (21,), ref=lambda x: 2 * x)(neighbour.double)\n"
    )
    assert run_of(file).rows[0].correct is True


# ---- sweeps and rivals ----------------------------------------------------------------------


def test_a_sweep_of_the_host() -> None:
    rows = rows_of(run_of("sweep.py", "vector"))
    assert len(rows) == 4
    row = rows["add[n=1024, dtype=float64]"]
    assert (row.bytes_per_call, row.flop_per_call) == (24576, 1024)
    assert row.engine == "host"
    assert row.correct is True
    assert row.speedup is not None
    assert len(row.samples_s) == len(row.reference_samples_s)


def test_a_rival_is_timed_in_turns() -> None:
    run = run_of("sweep.py", "scale", against=str(FILES / "sweep.py"))
    row = run.rows[0]
    assert len(row.rival_samples_s) == len(row.samples_s)


def test_a_wrong_rival_is_told(tmp_path: Path) -> None:
    other = tmp_path / "sweep.py"
    other.write_text((FILES / "sweep.py").read_text().replace("return x * 2", "return x * 3"))
    run = run_of("sweep.py", "scale", against=str(other))
    assert "the other file's is wrong" in run.rows[0].reason


def test_arguments_that_hold_arrays_of_their_own_are_not_mixed(tmp_path: Path) -> None:
    """A module with weights: the inputs of one trial never meet the weights of another."""
    file = tmp_path / "user.py"
    file.write_text(
        "import numpy as np, kmeter\n"
        "class Layer:\n    def __init__(self): self.weight = np.random.rand(8)\n"
        "@kmeter.benchmark(args=lambda: (Layer(), np.random.rand(8)), ref=lambda m, x: m.weight * x)\n"
        "def layer(m, x): return x * m.weight\n"
    )
    assert run_of(file).rows[0].correct is True


# ---- the referee ----------------------------------------------------------------------------


def judged(
    median_s: float, laps_s: list[float], host_s: float | None = None, clock: float = 1.0
) -> Row:
    """A row after laps of 1000 calls; ``clock`` is how fast the process's own clock runs."""
    referee = Referee()
    for each_s in laps_s:
        referee.hear(Lap("x", 0), 5.0)
        referee.hear(Lap("x", 1000, 1000 * each_s * clock), 5.0 + 1000 * each_s)
    return referee.judged(Row("x", samples_s=(median_s,) * 9, engine="events", host_s=host_s))


def test_the_referee_allows_for_launch_loop_and_noise() -> None:
    assert judged(2e-6, [14e-6], host_s=9e-6).outcome is Outcome.OK
    assert judged(1e-3, [1.5e-3]).outcome is Outcome.OK
    assert judged(1e-4, [16e-3, 5e-4, 1.1e-4, 9e-3]).outcome is Outcome.OK, "one lap was quiet"


def test_the_referee_allows_for_a_machine_that_became_busy() -> None:
    referee = Referee()
    referee.hear(Lap("x", 0), 5.0)
    referee.hear(Lap("x", 1000, 1.0, around_s=8e-4), 6.0)
    assert referee.judged(Row("x", samples_s=(1e-4,) * 9)).outcome is Outcome.OK


def test_the_referee_sees_work_that_no_lap_is_without() -> None:
    assert judged(2e-6, [500e-6, 480e-6], host_s=9e-6).outcome is Outcome.WRONG
    assert "back to back take 2.4 ms each" in judged(1e-3, [2.5e-3, 2.4e-3]).reason


def test_the_referee_sees_a_slow_clock() -> None:
    slow = judged(1e-5, [1e-4] * 5, clock=0.1)
    assert slow.outcome is Outcome.WRONG
    assert "took 500 ms by another" in slow.reason or "took 500 ms" in slow.reason


# ---- ends -----------------------------------------------------------------------------------


SLEEPER = """
import kmeter, os, pathlib, subprocess, numpy as np
@kmeter.benchmark(args=lambda: (np.ones(10),), iters=6)
def first(x): return x + 1
@kmeter.benchmark(args=lambda: (1,))
def second(x):
    child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pathlib.Path(__file__).with_name("pids").write_text(f"{os.getpid()} {child.pid} ")
    child.wait()
"""


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie waits for its parent alone."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads processes of Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_kmeter_leaves_no_process(tmp_path: Path, number: int) -> None:
    file, save, pids = tmp_path / "user.py", tmp_path / "saved.json", tmp_path / "pids"
    file.write_text(SLEEPER)
    process = subprocess.Popen(
        [sys.executable, "-c", MODULE, "bench", str(file), "--save", str(save)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: pids.exists() and pids.read_text().endswith(" "))
    worker, child = map(int, pids.read_text().split())
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    wait_until(lambda: not is_alive(worker))
    if number == signal.SIGKILL:  # nothing of kmeter lives on to end what the file itself started
        os.kill(child, signal.SIGKILL)
        return
    wait_until(lambda: not is_alive(child))
    assert process.returncode == 130
    assert b"first" in out
    assert b"interrupted" in out
    assert '"first"' in save.read_text()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_command_says_it_in_one_line(run: Run, tmp_path: Path) -> None:
    finished = run("bench", str(tmp_path / "none.py"))
    assert finished.code == 2
    assert finished.err.count("\n") == 1


# ---- what a listener is told ----------------------------------------------------------------


@pytest.mark.parametrize("is_asked_for", [False, True])
def test_how_samples_spread_is_told_to_whoever_asks(tmp_path: Path, is_asked_for: bool) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "import numpy as np, kmeter\n"
        "@kmeter.benchmark(args=lambda: (np.random.rand(1000),))\n"
        "def square(x):\n    return x * x\n"
    )
    settings = replace(QUICK, tells_spread=is_asked_for)
    notes = [event for event in Client(str(file), settings).events() if isinstance(event, Note)]
    spreads = [note.spread_s for note in notes if note.samples]
    assert spreads
    assert all(bool(spread) is is_asked_for for spread in spreads)
    assert all(list(spread) == sorted(spread) for spread in spreads)
    assert max(map(len, spreads)) <= 128


def test_what_is_stopped_goes_on_with_no_other_row(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(
        "import time, kmeter\n"
        "for name in ('one', 'two'):\n"
        "    kmeter.benchmark(name, args=lambda: (1,))(lambda x: time.sleep(0.05))\n"
    )
    client, seen = Client(str(file), QUICK), []
    for event in client.events():
        seen.append(event)
        if isinstance(event, Started):
            client.stop()
    assert [event.label for event in seen if isinstance(event, Started)] == ["one"]
    assert not any(isinstance(event, Finished | Ended) for event in seen)
