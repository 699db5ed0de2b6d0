"""Make kmeter/measure/engines/kernels.ptx of kernels.cu, for every GPU and driver that kmeter knows.

    python scripts/generate_engine_kernels.py

NVRTC writes PTX in the newest version of its language, which older drivers refuse. These kernels use
nothing new, so the text is marked with an old version and target; ptxas of CUDA 12 and 13 takes it.
"""

import re
from pathlib import Path

HERE = Path(__file__).parent.parent / "kmeter" / "measure" / "engines"
VERSION, TARGET = "6.3", "sm_50"


def ptx() -> str:
    """The PTX text of the engines' kernels."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram((HERE / "kernels.cu").read_text("utf-8"), "kernels.cu", (), ())
    nvrtc.compileProgram(program, ("-arch=compute_75", "-std=c++17"))
    text = nvrtc.getPTX(program)
    text = text.decode() if isinstance(text, bytes) else text
    text = re.sub(r"^//.*\n", "", text.strip("\0"), flags=re.MULTILINE)
    text = re.sub(r"^\.version .*$", f".version {VERSION}", text, flags=re.MULTILINE)
    text = re.sub(r"^\.target .*$", f".target {TARGET}", text, flags=re.MULTILINE)
    return text.strip() + "\n"


if __name__ == "__main__":
    (HERE / "kernels.ptx").write_text(ptx(), "utf-8")
