"""What counters say of a load whose work is known: a session recorded on an H200 beside it."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from kmeter.model.achieved import achieved, busiest_unit
from kmeter.model.card import Fact, Identity
from kmeter.model.live import LiveGpu
from kmeter.sources import open_device
from kmeter.sources._session import read_session

ROOT = Path(__file__).parent.parent.parent
SESSION = ROOT / "kmeter" / "tui" / "demo" / "h200-session.jsonl"
PHASES = json.loads((ROOT / "tests" / "data" / "live" / "h200-phases.json").read_text("utf-8"))
WITHIN = 0.10
H200 = open_device("snapshot:h200")
NOBODY = Identity(0, 0, None, None, "NVIDIA H200", False)


def inside(phase: dict[str, Any]) -> list[LiveGpu]:
    """The readings whose whole second lies in the phase."""
    begin, end = (datetime.fromisoformat(phase[key]) for key in ("begin", "end"))
    begin += timedelta(seconds=1.2)
    return [m.gpus[0] for m in read_session(SESSION) if begin < datetime.fromisoformat(m.at) < end]


def phase(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(phase for phase in PHASES if phase["name"] == name)
    return found


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("triad, fp32", "fp32"),
        ("FMAs, fp32", "fp32"),
        ("FMAs, fp64", "fp64"),
        ("matrix product, bf16", "bf16_tensor"),
        ("matrix product, bf16, half of the time", "bf16_tensor"),
        ("matrix product, tf32", "tf32_tensor"),
    ],
)
def test_flop_per_s_is_what_the_load_says(name: str, unit: str) -> None:
    seen = [achieved(gpu, H200, unit).flop_per_s or 0.0 for gpu in inside(phase(name))]
    assert len(seen) > 8
    assert mean(seen) == pytest.approx(phase(name)["flop_per_s"], rel=WITHIN)
    assert all(abs(rate / phase(name)["flop_per_s"] - 1) < WITHIN for rate in seen)


@pytest.mark.parametrize("name", ["triad, fp32", "softmax, fp32"])
def test_bytes_per_s_are_what_the_load_says(name: str) -> None:
    seen = [achieved(gpu, H200, "fp32").dram_bytes_per_s or 0.0 for gpu in inside(phase(name))]
    told = phase(name)["dram_bytes_per_s"]
    assert all(abs(rate / told - 1) < WITHIN for rate in seen)


def test_the_dot_of_the_triad_is_where_it_belongs() -> None:
    point = achieved(inside(phase("triad, fp32"))[3], H200, "fp32").point("now")
    assert point is not None
    assert point.arithmetic_intensity == pytest.approx(2 / 12, rel=WITHIN)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("FMAs, fp32", "fp32"),
        ("FMAs, fp64", "fp64"),
        ("matrix product, tf32", "fp16_tensor"),
    ],
)
def test_the_busiest_unit(name: str, unit: str) -> None:
    assert busiest_unit(inside(phase(name))[2]) == unit


def test_an_idle_gpu_has_no_dot() -> None:
    assert achieved(inside(phase("idle"))[0], H200, "fp32").point("now") is None


def test_a_gpu_without_counters_says_why() -> None:
    gpu = LiveGpu(NOBODY, {"fp32_active": Fact(reason="not supported")})
    found = achieved(gpu, H200, "fp32")
    assert found.flop_per_s is None
    assert found.dram_bytes_per_s is None
    assert found.reason == "not supported"
    assert achieved(gpu, H200, "fp16").reason == "no counter tells how busy fp16 is"
