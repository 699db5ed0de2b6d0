"""Reports of Nsight Compute (``.ncu-rep``), read by NVIDIA's own package where it is installed."""

import importlib
from pathlib import Path
from typing import Any

from kmeter.errors import UsageError
from kmeter.kernels.ncu_metrics import LaunchId, launch_of, with_missing_named
from kmeter.kernels.ncu_names import WANTED
from kmeter.kernels.profiler_lines import printable
from kmeter.kernels.profiler_reading import Amounts, Place, Reading
from kmeter.model.profiled_kernel import ProfiledKernel, ProfiledLaunch, merged
from kmeter.units import quoted

SUFFIXES = (".ncu-rep", ".ncu-repz")
_METRICS = tuple(sorted(WANTED))


def reported_kernels(path: Path) -> list[ProfiledKernel]:
    """The kernels of a report, each merged over its launches, in order.

    Raises UsageError where the package is missing, and for a file that is no report or has no
    kernels.
    """
    report = _loaded(path)
    try:
        launches = [
            _launch(action, path.name)
            for at_range in range(report.num_ranges())
            for action in _actions(report.range_by_idx(at_range))
        ]
    except UsageError:
        raise
    except Exception as error:
        raise _no_report(path, error) from None
    if not launches:
        raise UsageError(f"{path.name} has no kernels, or is no report of Nsight Compute")
    return [with_missing_named(kernel) for kernel in merged(launches)]


def _loaded(path: Path) -> Any:
    try:
        module: Any = importlib.import_module("ncu_report")
    except (ImportError, OSError):
        raise UsageError(f"{path.name} needs ncu-report", "pip install 'kmeter[ncu]'") from None
    if not path.is_file():
        raise UsageError(f"cannot read {path}: no such file")
    try:
        return module.load_report(str(path))
    except Exception as error:
        raise _no_report(path, error) from None


def _no_report(path: Path, error: Exception) -> UsageError:
    said = printable(str(error))
    return UsageError(f"{path.name} cannot be read as a report: {quoted(said, 200)}")


def _actions(of_range: Any) -> list[Any]:
    """The launches in a range."""
    return [of_range.action_by_idx(at) for at in range(of_range.num_actions())]


def _launch(action: Any, file: str) -> ProfiledLaunch:
    readings: dict[str, Reading] = {}
    for name in _METRICS:
        metric = action.metric_by_name(name)
        if metric is not None and metric.has_value():
            place = Place(file, 0, name)
            readings[name] = Reading(repr(metric.as_double()), metric.unit() or "", place, place)
    return launch_of(LaunchId(_name(action)), Amounts(readings, "."))


def _name(action: Any) -> str:
    """With its signature, as the command line prints it; the bare name where there is none."""
    base = getattr(action, "NameBase_DEMANGLED", None)
    full = "" if base is None else action.name(base)
    return printable(full or action.name()) or "(no name)"
