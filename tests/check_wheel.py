"""Build the wheel, install it into a clean venv elsewhere, and run kmeter from there."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

REPOSITORY = Path(__file__).parents[1]
COMMANDS = (
    ("occupancy", "--block", "256", "--regs", "64", "--cc", "8.6"),
    ("gpus",),
    ("bench", "--init", "mine.py"),
    ("bench", "mine.py", "-P", "n=65536"),
)
KERNELS = ("*.cu", "*.cuh", "*.ptx")

NO_GPU = 3


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(elsewhere: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-qq", "--no-deps", "--wheel-dir", elsewhere, REPOSITORY, cwd=elsewhere)
    (wheel,) = elsewhere.glob("kmeter-*.whl")
    venv.create(elsewhere / "venv", with_pip=True)
    clean = elsewhere / "venv" / "bin"
    constraints = REPOSITORY / "constraints.txt"
    run(
        clean / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check",
        "--constraint", constraints, wheel, cwd=elsewhere,
    )  # fmt: skip
    for command in COMMANDS:
        out = run(clean / "kmeter", *command, cwd=elsewhere)
        print(f"{wheel.name}: kmeter {' '.join(command)}: {len(out.splitlines())} lines")
    in_wheel = set(ZipFile(wheel).namelist())
    here = (path for kind in KERNELS for path in REPOSITORY.glob(f"kmeter/measure/**/{kind}"))
    missing = [str(path) for path in here if str(path.relative_to(REPOSITORY)) not in in_wheel]
    if missing:
        sys.exit(f"the wheel lacks these kernels: {missing}")
    refused = subprocess.run(
        [clean / "kmeter", "ceiling"], capture_output=True, text=True, check=False
    )
    if refused.returncode != NO_GPU or refused.stderr.count("\n") != 1:
        sys.exit(f"kmeter ceiling without a GPU: {refused.returncode}, {refused.stderr}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="kmeter-wheel-") as folder:
        main(Path(folder))
