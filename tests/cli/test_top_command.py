"""``kmeter top``: one reading of GPUs at work, through a fake NVML that answers as an H200 did."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeGpu
from fakes.fixtures import Kmeter
from snapshots import check_snapshot

from kmeter.errors import ExitCode

BUSY = {
    "nvmlDeviceGetClockInfo:1": "1515",
    "nvmlDeviceGetMaxClockInfo:1": "1980",
    "nvmlDeviceGetPowerUsage": "692042",
    "nvmlDeviceGetEnforcedPowerLimit": "700000",
    "nvmlDeviceGetTemperature:0": "58",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "4",
    "nvmlDeviceGetUtilizationRates": "100 25",
    "gpm": "1", "gpm:2": "96", "gpm:3": "14", "gpm:4": "1", "gpm:5": "94", "gpm:10": "17",
    "gpm:11": "0", "gpm:12": "0", "gpm:13": "0", "gpm:20": "4", "gpm:21": "13",
    "gpm:60": "error 3", "gpm:61": "error 3",
}  # fmt: skip
"""A bf16 matrix product on an H200, driver 580.159.04, 2026-12-02; percent, and MiB/s of PCIe."""


def h200(number: int = 1, **more: str) -> FakeGpu:
    return FakeGpu(name="NVIDIA H200", number=number, nvml=BUSY | more)


def documents(kmeter: Kmeter, *arguments: str, gpus: list[FakeGpu]) -> list[dict[str, Any]]:
    finished = kmeter("top", "--json", *arguments, gpus=gpus)
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert document["schema"] == "kmeter.top/1"
    found: list[dict[str, Any]] = document["gpus"]
    return found


def test_a_busy_card_in_base_units(kmeter: Kmeter) -> None:
    (gpu,) = documents(kmeter, gpus=[h200()])
    assert gpu["sm_clock_hz"] == 1.515e9
    assert gpu["memory_used_bytes"] == 414 * 2**20
    assert gpu["memory_reserved_bytes"] == 413 * 2**20
    assert gpu["power_w"] == pytest.approx(692.042)
    assert gpu["tensor_active"] == pytest.approx(0.94)
    assert gpu["dram_active"] == pytest.approx(0.17)
    assert gpu["pcie_received_bytes_per_s"] == 13 * 2**20
    assert gpu["nvlink_sent_bytes_per_s"] is None
    assert gpu["nvlink_sent_bytes_per_s_reason"] == "not supported"
    assert gpu["throttled_by"] == ["power cap"]


def test_a_card_without_counters_says_so(kmeter: Kmeter) -> None:
    (gpu,) = documents(kmeter, gpus=[FakeGpu()])
    assert gpu["tensor_active"] is None
    assert gpu["tensor_active_reason"] == "not supported"
    finished = kmeter("top", gpus=[FakeGpu()])
    assert "no activity of single units: not supported" in finished.out


def test_processes_are_named_where_the_system_knows_them(kmeter: Kmeter) -> None:
    gpu = h200(nvmlDeviceGetComputeRunningProcesses="2 4194301")
    (found,) = documents(kmeter, gpus=[gpu])
    assert [p["pid"] for p in found["processes"]] == [4194301, 4194302]
    assert found["processes"][0] == {"pid": 4194301, "memory_bytes": 2**30, "command": ""}


def test_a_process_may_be_called_anything(kmeter: Kmeter) -> None:
    """Its own name is what a process says it is."""
    script = (
        "import sys, time; open('/proc/self/comm', 'w').write(sys.argv[1]);"
        "print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, "\x1b[2J[b]x[/y]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        gpu = h200(1, nvmlDeviceGetComputeRunningProcesses=f"1 {child.pid}")
        finished = kmeter("top", "--once", gpus=[gpu])
        child.kill()
    assert "?[2J[b]x[/y]" in finished.out
    assert "\x1b" not in finished.out


@pytest.mark.parametrize("width", [40, 80, 160])
def test_one_reading(kmeter: Kmeter, width: int) -> None:
    gpus = [
        h200(1, nvmlDeviceGetComputeRunningProcesses="1 4194301"),
        h200(2, nvmlDeviceGetUtilizationRates="error 3"),
    ]
    finished = kmeter("top", "--once", gpus=gpus, width=str(width))
    assert finished.code == 0
    assert "\x1b" not in finished.out, "stdout is no terminal here"
    check_snapshot(f"top/two-{width}.txt", finished.out)


def test_the_busiest_first(kmeter: Kmeter) -> None:
    gpus = [FakeGpu(number=1), h200(2), h200(3, nvmlDeviceGetPowerUsage="error 3")]
    by_power = documents(kmeter, "--sort", "power", gpus=gpus)
    assert [gpu["ordinal"] for gpu in by_power] == [1, 0, 2], "the unknown last"
    assert [gpu["ordinal"] for gpu in documents(kmeter, gpus=gpus)] == [0, 1, 2]


def test_one_of_several_by_any_of_its_names(kmeter: Kmeter) -> None:
    gpus = [h200(1), h200(2)]
    for name in ("1", "cuda:1", gpus[1].uuid):
        (gpu,) = documents(kmeter, "-d", name, gpus=gpus)
        assert gpu["uuid"] == gpus[1].uuid
    finished = kmeter("top", "-d", "7", gpus=gpus)
    assert finished.code == ExitCode.USAGE
    assert "there is no GPU 7" in finished.err
    shared = kmeter("top", "-d", gpus[1].uuid[:12], gpus=gpus)
    assert "fits several GPUs" in shared.err


def test_a_lost_gpu_does_not_stop_the_others(kmeter: Kmeter) -> None:
    lost, fine = documents(kmeter, gpus=[FakeGpu(number=1, lost_after=32), h200(2)])
    reasons = {value for key, value in lost.items() if key.endswith("_reason")}
    assert "GPU lost" in reasons
    assert fine["sm_clock_hz"] == 1.515e9


def test_a_gpu_that_is_lost_from_the_start_is_there_once(kmeter: Kmeter) -> None:
    """It does not say its index, by which CUDA's GPUs and NVML's are told apart."""
    gpus = [h200(1), FakeGpu(number=2, lost_after=0)]
    found = documents(kmeter, gpus=gpus)
    named = [(gpu["ordinal"], gpu["nvml_index"], gpu["uuid"]) for gpu in found]
    assert named == [(0, 0, gpus[0].uuid), (1, 1, gpus[1].uuid)]


@pytest.mark.parametrize("calls", [32, 36, 40])
def test_of_a_lost_gpu_nothing_stands_that_was_read_before(kmeter: Kmeter, calls: int) -> None:
    """Its limits are read when it begins to be watched, and it is lost after that."""
    (gpu,) = documents(kmeter, gpus=[FakeGpu(lost_after=calls)])
    fields = [name.removesuffix("_reason") for name in gpu if name.endswith("_reason")]
    assert gpu["lost_reason"] is None
    assert {gpu[name] for name in fields if name != "lost"} == {None}
    assert gpu["power_limit_w_reason"] == "GPU lost"


def test_a_hanging_call_costs_its_field(kmeter: Kmeter) -> None:
    hanging = h200(1, **{"nvmlDeviceGetTemperature:0": "hang"})
    (gpu,) = documents(kmeter, gpus=[hanging])
    assert gpu["temperature_c_reason"] == "timed out"
    assert gpu["power_w"] == pytest.approx(692.042)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--interval", "10ms"), "at least 100 ms"),
        (("--sort", "name"), "--sort is one of index"),
    ],
)
def test_what_makes_no_sense(kmeter: Kmeter, arguments: tuple[str, ...], says: str) -> None:
    finished = kmeter("top", *arguments, gpus=[h200()])
    assert finished.code == ExitCode.USAGE
    assert says in finished.err


def test_without_a_gpu(kmeter: Kmeter) -> None:
    finished = kmeter("top", gpus=[])
    assert finished.code == ExitCode.NO_GPU
    assert "--replay FILE" in finished.err


# ---- sessions -------------------------------------------------------------------------------


def test_a_recorded_reading_is_replayed_without_a_gpu(kmeter: Kmeter, tmp_path: Path) -> None:
    file = str(tmp_path / "session.jsonl")
    recorded = documents(kmeter, "--record", file, gpus=[h200(), FakeGpu(number=2)])
    assert documents(kmeter, "--replay", file, gpus=[]) == recorded
    shown = kmeter("top", "--replay", file, "--sort", "power", gpus=[])
    assert shown.code == 0
    assert "power cap" in shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--headless",), "--record FILE"),
        (("--replay", "x", "--record", "y"), "do not go with it"),
        (("--replay", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
    ],
)
def test_what_does_not_go_together(kmeter: Kmeter, arguments: tuple[str, ...], says: str) -> None:
    finished = kmeter("top", *arguments, gpus=[h200()])
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1
