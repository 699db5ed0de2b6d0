"""One case from its arguments to its row, whatever happens to it."""

import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kmeter.bench import frameworks
from kmeter.bench.loading import told
from kmeter.bench.trial import Trial, is_out_of_memory
from kmeter.bench.workbench import Workbench
from kmeter.errors import KmeterError
from kmeter.model.benchmark import Outcome, Row

_now = time.perf_counter
"""Taken when kmeter is loaded: what a benchmark's file replaces does not reach it."""


class Ran(NamedTuple):
    """A row, and whether its process can run another."""

    row: Row
    is_last: bool = False
    lacked_memory: bool = False


def run_case(trial: Trial, bench: Workbench, path: Path) -> Ran:
    """Carry out the trial of one case, of the file at ``path``; raises nothing."""
    empty, start = trial.empty_row(), _now()
    try:
        row, is_last, lacked_memory = trial.timed(empty), False, False
    except BaseException as error:  # a KeyboardInterrupt, too: Ctrl-C reaches the parent alone
        lacked_memory = is_out_of_memory(error)
        row = replace(empty, outcome=Outcome.FAILED, reason=_in_words(error, path))
        is_last = lacked_memory
    finally:
        trial.close()
    broken = bench.broken()
    if broken is not None:
        row, is_last = replace(empty, outcome=Outcome.CRASHED, reason=broken.message), True
    elif not is_last and bench.is_crowded:
        frameworks.free_memory()
    return Ran(replace(row, seconds=_now() - start), is_last, lacked_memory)


def _in_words(error: BaseException, path: Path) -> str:
    if isinstance(error, KmeterError):
        return str(error)
    if is_out_of_memory(error):
        return f"out of memory: {told(error, path)}"
    return told(error, path)
