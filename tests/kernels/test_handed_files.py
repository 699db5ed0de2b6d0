"""Every reader against files with right answers: the project's own, and more where there are more."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from check_kernel_files import main

OWN = Path(__file__).parents[1] / "data" / "kernels"
MORE = Path(os.environ.get("KMETER_FILES", Path(__file__).parents[2].parent / "shared" / "files"))


def test_the_projects_own_files_come_out_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(OWN) == 0
    assert "cubin: 29 of 29 right" in capsys.readouterr().out


@pytest.mark.skipif(not (MORE / "ptxas").is_dir(), reason="KMETER_FILES names no folder of files")
def test_more_files_come_out_right() -> None:
    assert main(MORE) == 0


@pytest.fixture
def altered(tmp_path: Path) -> Callable[[str, Any], Path]:
    """A folder of one image whose answer is wrong in one place."""

    def alter(key: str, value: Any) -> Path:
        name = "130/plain.sm_75.cubin"
        (tmp_path / "cubin" / "130").mkdir(parents=True)
        shutil.copy(OWN / "cubin" / name, tmp_path / "cubin" / name)
        answer = json.loads((OWN / "cubin" / "expected.json").read_text())[name]
        answer["kernels"][1][key] = value
        (tmp_path / "cubin" / "expected.json").write_text(json.dumps({name: answer}))
        return tmp_path

    return alter


@pytest.mark.parametrize(
    ("key", "value"), [("regs", 99), ("static_smem", 4), ("max_threads", 32), ("kernel", "other")]
)
def test_a_difference_is_found(
    altered: Callable[[str, Any], Path], key: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(altered(key, value)) == 1
    assert "cubin: 0 of 1 right" in capsys.readouterr().out
