"""Runs of benchmarks made by hand, for views and files: numbers that never change."""

import random
from dataclasses import replace

from kmeter.model.benchmark import (
    BenchRun,
    CacheState,
    Check,
    Environment,
    Outcome,
    Roofs,
    Row,
)
from kmeter.model.ceiling import Conditions

ROOFS = Roofs(
    device_name="NVIDIA H200",
    dram_bytes_per_s=4.814e12,
    flop_per_s=66.9e12,
    unit="fp32",
    clock_hz=1.98e9,
    measured_dram_bytes_per_s=4.7e12,
    measured_flop_per_s=65.3e12,
)
ENVIRONMENT = Environment(
    gpu_name="NVIDIA H200",
    gpu_uuid="GPU-6b6d6574-6572-4832-8030-000000000001",
    compute_capability="9.0",
    driver_version="580.159.04",
    cuda_version="13.0",
    sm_clock_max_hz=1.98e9,
    host_processor="a processor",
    python_version="3.12.3",
    kmeter_version="0.1.0",
    packages={"torch": "2.9.0", "triton": "3.5.0"},
    file="kernels.py",
    file_sha256="0" * 64,
    git_commit="0123456789abcdef0123456789abcdef01234567",
    git_is_dirty=False,
)


def series(seed: int, middle: float, noise: float = 0.01, size: int = 60) -> tuple[float, ...]:
    source = random.Random(seed)
    return tuple(middle * source.lognormvariate(0, noise) for _ in range(size))


ADD = Row(
    "vector_add",
    {"n": 1 << 24},
    engine="events",
    cache_state=CacheState.COLD,
    cache_note="before each call 120 MiB were written, L2 has 60 MiB",
    samples_s=series(1, 49.8e-6),
    reference_samples_s=series(2, 52.1e-6),
    bytes_per_call=3 * 4 * (1 << 24),
    flop_per_call=1 << 24,
    overhead_s=2e-6,
    host_s=9e-6,
    check=Check(True, "", 1e-7, "0.0001 relative", 5),
    roofs=ROOFS,
    conditions=Conditions(1.98e9, "NVML", 3.201e9, 412.0, 41.0, 0, 12),
    stopped_by="precision",
)
TINY = replace(
    ADD, name="tiny", parameters={}, samples_s=series(3, 1.1e-6), reference_samples_s=(),
    bytes_per_call=12288, flop_per_call=None, check=None, conditions=Conditions(),
)  # fmt: skip
MATMUL = replace(
    ADD, name="matmul", parameters={"n": 4096}, samples_s=series(4, 173e-6, 0.02),
    reference_samples_s=series(5, 190e-6), bytes_per_call=3 * 2 * 4096**2,
    flop_per_call=2 * 4096**3, throttled=tuple(range(50, 60)),
    roofs=replace(ROOFS, flop_per_s=989e12, unit="fp16_tensor", measured_flop_per_s=909e12),
    conditions=Conditions(1.62e9, "NVML", 3.201e9, 698.0, 55.0, 0x4, 30),
    stopped_by="time limit",
)  # fmt: skip
WRONG = replace(
    ADD, name="softmax", parameters={}, samples_s=(), reference_samples_s=(),
    outcome=Outcome.WRONG, reason="17 elements are NaN, the first at 4096: nan where 0.5 is right",
    check=Check(False, "17 elements are NaN", None, "0.0001 relative", 1), stopped_by="",
    conditions=Conditions(), host_s=None,
)  # fmt: skip
CRASHED = Row("scan", {}, Outcome.CRASHED, "illegal memory access (cuCtxSynchronize: error 700)")
IMPOSSIBLE = replace(
    ADD, name="copy", parameters={}, samples_s=series(6, 5e-6), outcome=Outcome.IMPOSSIBLE,
    reason="4.027e+04 GB/s from a cold L2 is above DRAM's peak of 4814",
)  # fmt: skip
RUN = BenchRun(
    ENVIRONMENT, "2026-12-01T12:00:00+00:00", (ADD, TINY, MATMUL, WRONG, CRASHED, IMPOSSIBLE)
)
LATER = replace(
    RUN,
    started_at="2026-12-02T12:00:00+00:00",
    rows=(
        replace(ADD, samples_s=series(7, 45.2e-6)),
        replace(TINY, samples_s=series(8, 1.1e-6, 0.001)),
        replace(MATMUL, samples_s=series(9, 185e-6), throttled=()),
        replace(WRONG, outcome=Outcome.OK, reason="", samples_s=series(10, 2e-5)),
        replace(TINY, name="fresh"),
    ),
)
