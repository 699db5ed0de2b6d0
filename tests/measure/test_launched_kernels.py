"""What CUPTI's records say of the kernels of a call, and what an SM makes of them."""

from types import SimpleNamespace
from typing import Any

from kmeter.measure.engines.cupti import Activity, _activity, kernels_of_a_call
from kmeter.model.launched_kernel import LaunchedKernel, judged
from kmeter.views.bench import kernel_text

MARK = "kmeter_nothing"


def record(name: str, at: int, registers: int = 32, **more: Any) -> Any:
    """As cupti-python's record of a kernel."""
    said = {
        "start": at, "end": at + 5, "name": name, "registers_per_thread": registers,
        "static_shared_memory": 0, "dynamic_shared_memory": 0,
        "block_x": 16, "block_y": 16, "block_z": 1, "grid_x": 100, "grid_y": 1, "grid_z": 1,
    }  # fmt: skip
    return SimpleNamespace(**(said | more))


def test_the_kernels_between_the_first_two_marks_each_once() -> None:
    records = [
        Activity(0, 1, "memset"),
        _activity(record(MARK, 10)),
        _activity(record("scan", 20)),
        _activity(record("scan", 30)),
        _activity(record("add", 40, registers=64, dynamic_shared_memory=4096)),
        _activity(record(MARK, 50)),
        _activity(record("other", 60)),
    ]
    found = kernels_of_a_call(records)
    assert [(k.name, k.registers_per_thread, k.dynamic_shared_bytes) for k in found] == [
        ("scan", 32, 0),
        ("add", 64, 4096),
    ]
    assert found[0].block == (16, 16, 1)


def test_a_copy_is_no_kernel_and_a_call_without_marks_has_none() -> None:
    assert _activity(SimpleNamespace(start=0, end=1)).kernel is None
    assert kernels_of_a_call([Activity(0, 1, "memcpy")]) == ()


def test_occupancy_is_that_of_the_card() -> None:
    kernel = LaunchedKernel("scan", 64, 0, 0, (256, 1, 1), (100, 1, 1))
    (found,) = judged([kernel], "8.6")
    assert (found.occupancy, found.limiters) == (32 / 48, ("registers",))
    assert judged([kernel], None) == (kernel,)
    assert judged([LaunchedKernel("k", 32)], "8.6")[0].occupancy is None


def test_a_kernel_in_a_line() -> None:
    (found,) = judged([LaunchedKernel("scan", 64, 1024, 0, (256, 1, 1))], "8.6")
    assert kernel_text(found) == (
        "64 registers, 1 KiB shared, blocks of 256, 66.7 % occupancy by registers ('scan')"
    )
