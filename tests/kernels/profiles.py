"""Profilers' files with right answers: those of our own making, and more where they are present."""

import json
import math
import os
from pathlib import Path
from typing import Any

from kmeter.model.profiled_kernel import ProfiledKernel

OWN = Path(__file__).parents[1] / "data" / "kernels" / "ncu"
_DEFAULT = Path(__file__).parents[2].parent / "shared" / "files"
OTHERS = Path(os.environ.get("KMETER_FILES", _DEFAULT)) / "ncu"

Answer = dict[str, Any]


def answers(folder: Path) -> list[tuple[Path, Answer]]:
    """Every file of a folder with what a correct reader gives; empty where the folder is absent."""
    index = folder / "expected.json"
    if not index.is_file():
        return []
    return [
        (folder / name, answer) for name, answer in json.loads(index.read_text("utf-8")).items()
    ]


def said(kernel: ProfiledKernel, key: str) -> Any:
    """What a kernel says to a key of the answers."""
    return {
        "kernel": kernel.name,
        "launches": kernel.launches,
        "duration_s_mean": kernel.seconds,
        "duration_s_each": kernel.seconds_each,
        "duration_s_min": kernel.seconds_min,
        "duration_s_max": kernel.seconds_max,
        "duration_s_total": _times(kernel.seconds, kernel.launches),
        "dram_bytes_mean": kernel.dram_bytes,
        "dram_bytes_each": kernel.dram_bytes_each,
        "dram_read_bytes": kernel.dram_read_bytes,
        "dram_write_bytes": kernel.dram_write_bytes,
        "l2_bytes_mean": kernel.l2_bytes,
        "l2_bytes_each": kernel.l2_bytes_each,
        "l1_bytes_mean": kernel.l1_bytes,
        "l1_bytes_each": kernel.l1_bytes_each,
        "flop": {**kernel.flop, "tensor_instructions": kernel.tensor_instructions},
        "registers": kernel.registers_per_thread,
        "block": kernel.threads_per_block,
        "grid": kernel.blocks,
    }[key]


def agree(value: Any, right: Any, tolerance: float) -> bool:
    """Whether a value is the right one; a mapping may say more than the answer."""
    if isinstance(right, dict):
        return all(agree(value[key], right[key], tolerance) for key in right)
    if isinstance(right, list):
        return len(value) == len(right) and all(map(agree, value, right, [tolerance] * len(right)))
    if right is None:
        return value is None or value == ()
    if isinstance(right, str):
        return bool(value == right)
    return value is not None and math.isclose(value, right, rel_tol=tolerance)


def _times(seconds: float | None, launches: int) -> float | None:
    return None if seconds is None else seconds * launches
