"""What kmeter asks of frameworks, with stand-ins for them: nothing of what is not imported."""

import random
import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kmeter.bench import frameworks
from kmeter.errors import UsageError


def torch_like(stream: int, available: bool = True) -> SimpleNamespace:
    entered: list[int] = []

    @contextmanager
    def on(other: int) -> Any:
        entered.append(other)
        yield

    cuda = SimpleNamespace(
        is_available=lambda: available,
        is_initialized=lambda: available,
        current_stream=lambda: SimpleNamespace(cuda_stream=stream),
        ExternalStream=lambda handle: handle,
        stream=on,
        empty_cache=lambda: entered.append(-1),
    )
    seeds: list[int] = []
    return SimpleNamespace(
        cuda=cuda, manual_seed=seeds.append, __version__="9.9", entered=entered, seeds=seeds
    )


def cupy_like(stream: int, available: bool = True) -> SimpleNamespace:
    @contextmanager
    def external(handle: int) -> Any:
        yield

    pool = SimpleNamespace(free_all_blocks=lambda: None)
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_available=lambda: available,
            get_current_stream=lambda: SimpleNamespace(ptr=stream),
            ExternalStream=external,
        ),
        random=SimpleNamespace(seed=lambda number: None),
        get_default_memory_pool=lambda: pool,
        get_default_pinned_memory_pool=lambda: pool,
        __version__="14",
    )


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seat these modules, and hide every other framework but NumPy."""

    def seat(**modules: Any) -> None:
        for framework in frameworks.FRAMEWORKS:
            if framework.name != "numpy":
                monkeypatch.delitem(sys.modules, framework.name, raising=False)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)

    return seat


def test_without_a_framework_the_default_stream_counts(only: Any) -> None:
    only()
    assert frameworks.current_stream() == 0
    assert set(frameworks.versions()) == {"numpy"}


def test_the_frameworks_current_stream_is_found(only: Any) -> None:
    only(torch=torch_like(7))
    assert frameworks.current_stream() == 7
    only(torch=torch_like(0), cupy=cupy_like(9))
    assert frameworks.current_stream() == 9, "the one that left the default stream"


def test_a_framework_without_a_gpu_has_no_say(only: Any) -> None:
    torch, cupy = torch_like(7, available=False), cupy_like(9, available=False)
    only(torch=torch, cupy=cupy)
    assert frameworks.current_stream() == 0
    frameworks.seed(1)
    frameworks.free_memory()
    with frameworks.on_stream(3):
        pass
    assert torch.entered == []


def test_a_stream_is_made_current_everywhere(only: Any) -> None:
    torch = torch_like(0)
    only(torch=torch, cupy=cupy_like(0))
    with frameworks.on_stream(42):
        assert torch.entered == [42]


class Protocol:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 5)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (Protocol(), 5),
        (SimpleNamespace(cuda_stream=6), 6),
        (SimpleNamespace(ptr=7), 7),
        (SimpleNamespace(handle=SimpleNamespace(value=8)), 8),
        (SimpleNamespace(handle=SimpleNamespace(value=None)), 0),
        (9, 9),
    ],
)
def test_streams_of_every_kind_are_understood(stream: Any, handle: int) -> None:
    assert frameworks.stream_handle(stream) == handle
    assert frameworks.current_stream(stream) == handle


def test_what_is_no_stream_is_told() -> None:
    with pytest.raises(UsageError, match="dict is no CUDA stream"):
        frameworks.stream_handle({})


def test_a_seed_begins_every_generator_anew(only: Any) -> None:
    torch = torch_like(0)
    only(torch=torch)
    drawn = []
    for _ in range(2):
        frameworks.seed(2**40 + 1)
        drawn.append((random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]
    assert torch.seeds == [2**40 + 1] * 2


def test_versions_are_those_of_what_was_imported(only: Any) -> None:
    only(torch=torch_like(0), triton=SimpleNamespace())
    assert dict(frameworks.versions()) == {"torch": "9.9", "numpy": np.__version__}
