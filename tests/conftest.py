"""Fixtures that every test may use: kmeter run in this process, or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from running import MODULE, Finished, Run

pytest_plugins = ["fakes.fixtures"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``kmeter`` in this process: ``run("gpus", "h100", COLUMNS="80")``."""
    from kmeter.cli.main import main

    def run_here(*arguments: str, **environment: str) -> Finished:
        for name, value in ({"COLUMNS": "80", "TERM": "dumb"} | environment).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = main(list(arguments))
        printed = capsys.readouterr()
        return Finished(code, printed.out, printed.err)

    return run_here


@pytest.fixture
def run_process() -> Run:
    """Run ``kmeter`` in a process of its own, as a user does."""

    def run_there(*arguments: str, **environment: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-c", MODULE, *arguments],
            env=os.environ | {"COLUMNS": "80"} | environment,
            capture_output=True,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_there


@pytest.fixture
def loaded_by() -> Callable[[str], set[str]]:
    """The modules that a statement loads, in a fresh interpreter."""

    def loaded(statement: str) -> set[str]:
        script = (
            "import sys\n"
            f"try:\n    {statement}\nfinally:\n    print(*sorted(sys.modules), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        return set(done.stderr.splitlines()[-1].split())

    return loaded
