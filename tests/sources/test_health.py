"""A GPU's surroundings: its host's name, the other GPUs there, and errors of its memory."""

import socket
from typing import Any, cast

import pytest

from kmeter.measure.telemetry import Sampler
from kmeter.sources._health import host_name, neighbours, uncorrected_errors
from kmeter.sources._nvml import Nvml, Reading


class StubNvml:
    """An NVML with GPUs by index; what it does not know has a reason."""

    def __init__(self, busy: dict[str, int | None], errors: int | None = None) -> None:
        self._busy, self._errors = busy, errors

    def constant(self, name: str) -> int:
        return int(name == "NVML_MEMORY_ERROR_TYPE_UNCORRECTED")

    def read(self, function: str, *arguments: Any) -> Reading:
        names = list(self._busy)
        if function == "nvmlDeviceGetCount":
            return Reading(len(names))
        if function == "nvmlDeviceGetIndex":
            return Reading(names.index(arguments[0]))
        if function == "nvmlDeviceGetHandleByIndex":
            return Reading(names[arguments[0]])
        if function == "nvmlDeviceGetTotalEccErrors":
            assert arguments[1:] == (1, 0)
            return _reading(self._errors)
        if function == "nvmlDeviceGetUtilizationRates":
            share = self._busy[arguments[0]]
            return _reading(None if share is None else type("Rates", (), {"gpu": share}))
        return _reading(None)


def _reading(value: Any) -> Reading:
    return Reading(reason="not supported") if value is None else Reading(value)


def stub(busy: dict[str, int | None], errors: int | None = None) -> Nvml:
    return cast("Nvml", StubNvml(busy, errors))


def test_the_host_has_its_own_name_or_that_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KMETER_HOST", raising=False)
    assert host_name() == socket.gethostname()
    monkeypatch.setenv("KMETER_HOST", "node17")
    assert host_name() == "node17"


def test_neighbours_are_the_other_gpus() -> None:
    assert neighbours(stub({"a": 0, "b": 0, "c": 0}), "b") == ["a", "c"]
    assert neighbours(stub({"a": 0}), "a") == []
    assert neighbours(stub({"a": 0}), None) is None


def test_errors_that_could_not_be_corrected_are_counted() -> None:
    assert uncorrected_errors(stub({"a": 0}, errors=3), "a") == 3
    assert uncorrected_errors(stub({"a": 0}), "a") is None
    assert uncorrected_errors(stub({"a": 0}, errors=3), None) is None


@pytest.mark.parametrize(
    ("others", "busy"),
    [({}, 0), ({"b": 0, "c": 9}, 0), ({"b": 10, "c": 100}, 2), ({"b": 50, "c": None}, None)],
)
def test_neighbours_at_work_are_counted_after_each_probe(
    others: dict[str, int | None], busy: int | None
) -> None:
    nvml = stub({"a": 100, **others})
    sampler = Sampler(nvml, "a", neighbours(nvml, "a"))
    sampler.start()
    assert sampler.stop().busy_neighbours == busy


def test_without_neighbours_to_look_at_nobody_knows() -> None:
    assert Sampler(stub({"a": 0, "b": 100}), None).stop().busy_neighbours is None
