"""Files with right answers: our own, and those of others where they are at hand."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kmeter.model.compiled_kernel import CompiledKernel

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "data" / "kernels"
OTHERS = Path(os.environ.get("KMETER_FILES", ROOT.parent / "shared" / "files"))

Row = dict[str, Any]
_FIELDS = {
    "kernel": "name",
    "arch": "architecture",
    "regs": "registers_per_thread",
    "static_smem": "static_shared_bytes",
    "barriers": "barriers",
    "stack": "stack_bytes",
    "cumulative_stack": "cumulative_stack_bytes",
    "spill_stores": "spill_store_bytes",
    "spill_loads": "spill_load_bytes",
    "said_by": "said_by",
}


def files_in(*folders: Path) -> list[Any]:
    """A parameter for every file that a folder's ``expected.json`` knows."""
    return [
        pytest.param(folder / name, answer, id=f"{folder.parent.name}-{name}")
        for folder in folders
        if (folder / "expected.json").is_file()
        for name, answer in json.loads((folder / "expected.json").read_text()).items()
    ]


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def assert_kernels(got: list[CompiledKernel], expected: Iterable[Row]) -> None:
    rows = list(expected)
    assert [kernel.name for kernel in got] == [row["kernel"] for row in rows]
    for kernel, row in zip(got, rows, strict=True):
        known = {key: row[key] for key in _FIELDS if key in row}
        found = {key: getattr(kernel, _FIELDS[key]) for key in known}
        assert found == known
