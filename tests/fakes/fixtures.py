"""The fake driver and NVML, built once, and kmeter run under them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Finished, Run

import fakes
from fakes import FakeGpu

Kmeter = Callable[..., Finished]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libcuda.so.1 and libnvidia-ml.so.1."""
    folder = tmp_path_factory.mktemp("libraries")
    fakes.build(folder)
    return folder


@pytest.fixture
def kmeter(run_process: Run, libraries: Path, tmp_path: Path) -> Kmeter:
    """Run kmeter on a machine with these GPUs: ``kmeter("info", gpus=[FakeGpu()])``."""

    def run(*arguments: str, gpus: list[FakeGpu], width: str = "120", **options: Any) -> Finished:
        environment = options.pop("environment", {})
        told = fakes.environment(tmp_path, libraries, gpus, **options)
        return run_process(*arguments, COLUMNS=width, **told | environment)

    return run


@pytest.fixture
def info(kmeter: Kmeter) -> Callable[..., list[dict[str, Any]]]:
    """The devices of ``kmeter info --json`` on a machine with these GPUs."""

    def run(*gpus: FakeGpu, **options: Any) -> list[dict[str, Any]]:
        finished = kmeter("info", "--json", gpus=list(gpus), **options)
        assert finished.code == 0, finished.err
        devices: list[dict[str, Any]] = json.loads(finished.out)["devices"]
        return devices

    return run
