"""Reports of Nsight Compute, by way of a module that stands in for NVIDIA's."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from kmeter.errors import UsageError
from kmeter.kernels.ncu_report import reported_kernels

Values = Mapping[str, tuple[float, str]]


class Metric:
    def __init__(self, value: float | None, unit: str) -> None:
        self._value, self._unit = value, unit

    def has_value(self) -> bool:
        return self._value is not None

    def as_double(self) -> float:
        return self._value or 0.0

    def unit(self) -> str:
        return self._unit


class Action:
    NameBase_DEMANGLED = 1

    def __init__(self, name: str, values: Mapping[str, tuple[float | None, str]]) -> None:
        self._name, self._values = name, values

    def name(self, base: int = 0) -> str:
        return f"{self._name}(float *)" if base else self._name

    def metric_by_name(self, name: str) -> Metric | None:
        return Metric(*self._values[name]) if name in self._values else None


class Range:
    def __init__(self, actions: list[Action]) -> None:
        self._actions = actions

    def num_actions(self) -> int:
        return len(self._actions)

    def action_by_idx(self, at: int) -> Action:
        return self._actions[at]


class Report:
    def __init__(self, *ranges: list[Action]) -> None:
        self._ranges = ranges

    def num_ranges(self) -> int:
        return len(self._ranges)

    def range_by_idx(self, at: int) -> Range:
        return Range(self._ranges[at])


class FakeModule(ModuleType):
    """Loads the same report from any path, or fails."""

    def __init__(self, report: Report | Exception) -> None:
        super().__init__("ncu_report")
        self._report = report

    def load_report(self, path: str) -> Report:
        if isinstance(self._report, Exception):
            raise self._report
        return self._report


def install(monkeypatch: pytest.MonkeyPatch, report: Report | Exception) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", FakeModule(report))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "run.ncu-rep"
    file.write_bytes(b"NVR\0")
    return file


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        reported_kernels(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_launches_of_all_ranges_are_merged_by_name(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    smooth = Action(
        "smooth",
        {
            "gpu__time_duration.sum": (8000.0, "nsecond"),
            "dram__bytes_read.sum": (512.0, "byte"),
            "dram__bytes_write.sum": (128.0, "byte"),
            "launch__registers_per_thread": (24.0, "register/thread"),
            "launch__block_dim_x": (32.0, ""),
            "launch__block_dim_y": (4.0, ""),
            "launch__block_dim_z": (1.0, ""),
            "launch__grid_size": (64.0, ""),
        },
    )
    longer = Action("smooth", {"gpu__time_duration.sum": (12000.0, "ns")})
    other = Action("norm", {"gpu__time_duration.sum": (1.0, "us"), "lts__t_bytes.sum": (None, "")})
    install(monkeypatch, Report([smooth], [longer, other]))
    kernel, norm = reported_kernels(path)
    assert (kernel.name, kernel.launches) == ("smooth(float *)", 2)
    assert kernel.seconds_each == pytest.approx((8e-6, 12e-6))
    assert kernel.dram_bytes_each == (640, None)
    assert (kernel.block, kernel.threads_per_block, kernel.blocks) == ((32, 4, 1), 128, 64)
    assert kernel.registers_per_thread == 24
    assert norm.l2_bytes is None
    assert norm.seconds == pytest.approx(1e-6)
    assert any("ncu --metrics" in note for note in kernel.notes)


def test_without_the_package_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    assert refusal(path) == "run.ncu-rep needs ncu-report. pip install 'kmeter[ncu]'"


def test_a_file_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, Report())
    assert "cannot read" in refusal(tmp_path / "none.ncu-rep")


def test_a_file_that_is_no_report_has_no_ranges(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    install(monkeypatch, Report())
    assert refusal(path) == "run.ncu-rep has no kernels, or is no report of Nsight Compute"


def test_what_the_package_cannot_read_is_one_line(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    install(monkeypatch, RuntimeError("bad\nmagic"))
    assert refusal(path) == "run.ncu-rep cannot be read as a report: 'bad magic'"


def test_a_value_that_makes_no_sense_names_its_metric(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    install(monkeypatch, Report([Action("k", {"lts__t_bytes.sum": (-1.0, "byte")})]))
    assert refusal(path) == "run.ncu-rep: metric lts__t_bytes.sum: '-1.0' is below 0"


def test_a_value_that_is_no_number_is_unknown(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    install(monkeypatch, Report([Action("k", {"lts__t_bytes.sum": (float("nan"), "byte")})]))
    assert reported_kernels(path)[0].l2_bytes is None


def test_the_package_itself_finds_no_kernels_in_what_is_no_report(path: Path) -> None:
    pytest.importorskip("ncu_report")
    assert refusal(path).startswith("run.ncu-rep ")
