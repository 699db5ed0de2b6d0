"""Where a benchmark runs: card, driver, host, versions, and the commit of the user's file."""

import hashlib
import platform
import subprocess
from pathlib import Path

from kmeter import __version__
from kmeter.bench import frameworks
from kmeter.bench.workbench import Workbench
from kmeter.model.benchmark import Environment

_GIT_TIMEOUT_S = 5


def environment_of(bench: Workbench, path: Path) -> Environment:
    """What is known of this machine and this file; what is not stays None."""
    machine, card = bench.machine, bench.card
    commit, is_dirty = git_state(path)
    return Environment(
        gpu_name=card.device.name if card else None,
        gpu_uuid=card.uuid if card else None,
        compute_capability=card.device.compute_capability if card else None,
        driver_version=machine.driver_version.value if machine else None,
        cuda_version=machine.cuda_version.value if machine else None,
        sm_clock_max_hz=card.device.sm_clock_hz if card else None,
        no_gpu_reason=bench.no_gpu_reason,
        host_name=platform.node(),
        host_processor=_processor(),
        python_version=platform.python_version(),
        kmeter_version=__version__,
        packages=dict(frameworks.versions()),
        file=str(path),
        file_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        git_commit=commit,
        git_is_dirty=is_dirty,
    )


def git_state(path: Path) -> tuple[str | None, bool | None]:
    """The commit of the file's repository, and whether the file differs from it; None without git."""
    commit = _git(path, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    status = _git(path, "status", "--porcelain", "--", path.resolve().name)
    return commit, None if status is None else bool(status)


def _git(path: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(path.resolve().parent), *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    """The CPU as the system names it."""
    info = Path("/proc/cpuinfo")
    try:
        lines = info.read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
