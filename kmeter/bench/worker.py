"""The process that runs a user's file: ``python -m kmeter.bench.worker``, a request in, events out.

It is a process of its own because the file may crash, hang or exit, and because an error in a CUDA
kernel ends every later one of the process.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from kmeter.bench import frameworks
from kmeter.bench.cases import Case, cases_of, chosen, plain
from kmeter.bench.environment import environment_of
from kmeter.bench.events import CaseInfo, Ended, Event, Finished, Loaded, Refused, Started, line_of
from kmeter.bench.loading import load
from kmeter.bench.request import Request
from kmeter.bench.runner import run_case
from kmeter.bench.trial import Trial
from kmeter.bench.workbench import Workbench, opened
from kmeter.errors import ExitCode, KmeterError, UsageError

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


FIRST = "0"
"""The one card that matters: where another is meant, the process is shown that one alone."""


def main() -> int:
    """Read one request from stdin, write events to stdout."""
    _die_with_parent()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the file prints must not get between the events

    def emit(event: Event) -> None:
        out.write(line_of(event))

    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        return serve(request, emit)
    except KmeterError as error:
        emit(Refused(error.exit_code, str(error)))
        return error.exit_code


def _die_with_parent() -> None:
    """Where the system can, end with the parent however that ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def serve(request: Request, emit: Callable[[Event], None]) -> int:
    """Run the file and the rows that are asked for; raises KmeterError where none can be."""
    path = Path(request.file)
    cases = chosen(cases_of(load(path)), request.names, request.narrowed)
    rivals = _rivals(request.against)
    if rivals and not any(case.label in rivals for case in cases):
        raise UsageError(f"{request.file} and {request.against} have no benchmark in common")
    if request.only_list:
        bench = Workbench(None, "no card was looked for")
    else:
        with _imported_meanwhile("cupti"):
            bench = opened(FIRST)
    environment = environment_of(bench, path)
    frameworks.spare_what_is_loaded()
    emit(Loaded(environment, [info_of(case) for case in cases]))
    if request.only_list:
        return ExitCode.OK
    sampler = _sampler(bench)
    first = True
    for case in cases:
        if case.label in request.done:
            continue
        emit(Started(case.label))
        rival = rivals.get(case.label)
        ran = run_case(Trial(case, rival, request.settings, bench, sampler, emit), bench, path)
        starved = ran.lacked_memory and not first
        emit(Finished(case.label, ran.row, ran.is_last, starved))
        if ran.is_last:
            _leave_at_once()
        first = False
    emit(Ended(replace(environment, packages=dict(frameworks.versions()))))
    return ExitCode.OK


@contextlib.contextmanager
def _imported_meanwhile(package: str) -> Iterator[None]:
    """Import it in a thread, while the driver is waited for; whoever needs it imports it as ever."""

    def work() -> None:
        with contextlib.suppress(Exception):  # told where it is needed
            import_module(package)

    thread = threading.Thread(target=work, name=f"import {package}")
    thread.start()
    yield
    thread.join()


def _leave_at_once() -> NoReturn:
    """End without what the file's own objects do in the end: after a CUDA error each complains."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ExitCode.OK)


def _rivals(file: str) -> dict[str, Case]:
    """The cases of the other file, by label."""
    if not file:
        return {}
    return {case.label: case for case in cases_of(load(Path(file)))}


def _sampler(bench: Workbench) -> Any:
    from kmeter.measure.telemetry import Sampler
    from kmeter.sources._nvml import Nvml
    from kmeter.sources.cuda import nvml_handle

    nvml = Nvml()
    return Sampler(nvml, nvml_handle(nvml, FIRST) if bench.machine else None)


def info_of(case: Case) -> CaseInfo:
    """A case as ``--list`` shows it."""
    benchmark = case.benchmark
    return CaseInfo(
        label=case.label,
        name=case.name,
        parameters={key: str(value) for key, value in plain(case.parameters).items()},
        has_reference=benchmark.ref is not None,
        counts_bytes=benchmark.bytes_per_call is not None,
        counts_flop=benchmark.flops_per_call is not None,
        dtype=benchmark.dtype,
        timer=benchmark.timer,
        tags=benchmark.tags,
    )


if __name__ == "__main__":
    sys.exit(main())
