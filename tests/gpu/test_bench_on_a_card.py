"""``kmeter bench`` on a real GPU: each framework alone, tricks, and mishaps.

pytest -m gpu tests/gpu/test_bench_on_a_card.py
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from running import MODULE, Run

pytestmark = pytest.mark.gpu
FILES = Path(__file__).parent.parent / "data" / "bench"

Rows = dict[str, dict[str, Any]]


def bench(run_process: Run, file: str, *options: str) -> tuple[Rows, dict[str, str]]:
    """The rows of a file by label, and the versions of what it imported."""
    finished = run_process("bench", str(FILES / file), "--json", *options)
    assert finished.out, finished.err
    document = json.loads(finished.out)
    rows = {
        row["name"] + "".join(f" {value}" for value in row["parameters"].values()): row
        for row in document["results"]
    }
    for name, row in rows.items():
        print(
            name, row["status"], row["engine"], row["median_s"], row["cache_state"], row["reason"]
        )
        print("   ", row["overhead_s"], row["host_s"], row["speedup"], row["notes"])
    return rows, document["environment"]["packages"]


FRAMEWORKS = ("torch", "triton", "cupy", "numba", "warp")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_framework_works_alone(run_process: Run, name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    rows, packages = bench(run_process, f"with_{name}.py")
    assert {row["status"] for row in rows.values()} == {"ok"}
    assert {row["correct"] for row in rows.values()} == {True}
    others = set(FRAMEWORKS) - {name} - ({"torch"} if name == "triton" else set())
    assert not others & set(packages) or name == "torch", "PyTorch may import Triton itself"


@pytest.fixture(scope="module")
def tricks(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    file = str(FILES / "tricks_on_a_card.py")
    command = [sys.executable, "-c", MODULE, "bench", file, "--json", "--timeout", "20s"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    print(done.stderr)
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads(done.stdout)["results"]}
    for name, row in rows.items():
        print(name, row["status"], row["engine"], row["median_s"], row["reason"], row["notes"])
    return rows


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("cached_by_address", "wrong", ""),
        ("on_another_stream", "wrong", ""),
        ("skips_after_the_first", "wrong", ""),
        ("graph_misses_a_kernel", "failed", "graph"),
        ("honest", "ok", ""),
        ("illegal_access", "crashed", "illegal memory access"),
        ("hangs", "hung", "said nothing for 20 s"),
        ("exits", "failed", "sys.exit(3)"),
        ("takes_all_memory", "failed", "out of memory"),
        ("ends_hard", "crashed", "exit code 5"),
        ("after_all_of_that", "ok", ""),
    ],
)
def test_tricks_and_mishaps_cost_their_row(
    tricks: Rows, name: str, status: str, words: str
) -> None:
    assert tricks[name]["status"] == status
    assert words in tricks[name]["reason"]


@pytest.mark.parametrize("name", ["lazy", "patched_timer"])
def test_what_is_named_pays_for_its_work(tricks: Rows, name: str) -> None:
    row, honest = tricks[name], tricks["honest"]
    assert row["status"] == "wrong" or row["median_s"] > 0.8 * honest["median_s"]


@pytest.mark.parametrize("engine", ["events", "graph"])
@pytest.mark.parametrize("cache", ["cold", "clean", "warm"])
def test_every_state_of_l2(run_process: Run, engine: str, cache: str) -> None:
    rows, _ = bench(run_process, "with_cupy.py", "CuPy raw", "--timer", engine, "--cache", cache)
    row = rows["CuPy raw"]
    assert row["status"] == "ok"
    assert 0.5 < row["fraction_of_roof"] < 1.1


def test_20_small_kernels_cost_little_more_than_their_samples(
    run_process: Run, tmp_path: Path
) -> None:
    """Prints the ratio; a figure, not a gate."""
    file = tmp_path / "many.py"
    file.write_text(
        "import cupy as cp, kmeter\n"
        "for n in range(20):\n"
        "    kmeter.benchmark(f'k{n}', args=lambda: (cp.random.random(1 << 20),), ref=cp.sqrt)"
        "(lambda x: cp.sqrt(x))\n"
    )
    bare_file = tmp_path / "bare.py"
    bare_file.write_text(
        "import cupy as cp\n"
        "for n in range(20):\n"
        "    cp.sqrt(cp.random.random(1 << 20))\n"
        "cp.cuda.Device().synchronize()\n"
    )
    start = time.perf_counter()
    subprocess.run([sys.executable, str(bare_file)], check=True)
    bare = time.perf_counter() - start
    start = time.perf_counter()
    finished = run_process("bench", str(file), "--json")
    whole = time.perf_counter() - start
    samples = sum(row["sampling_s"] for row in json.loads(finished.out)["results"])
    print(f"20 kernels: {whole:.2f} s, their samples {samples:.2f} s, {whole / samples:.2f} x")
    print(
        f"the same calls in a bare script: {bare:.2f} s; less that {(whole - bare) / samples:.2f} x"
    )
    assert samples > 0
