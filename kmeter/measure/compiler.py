"""CUDA C++ to machine code through NVRTC, as CuPy brings it. Needs no GPU and no toolkit."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kmeter.errors import KmeterError

ARCHITECTURE_SPECIFIC = {
    (9, 0): "a",
    (10, 0): "a",
    (10, 3): "a",
    (11, 0): "a",
    (12, 0): "a",
    (12, 1): "a",
}
"""Compute capabilities whose own instructions (wgmma) need a suffix."""


class CompileError(KmeterError):
    """A kernel that NVRTC refuses: kmeter's own fault, or a compiler too old for the card."""


class Source(NamedTuple):
    """A kernel file of the probes and the constants it is compiled with."""

    file: str
    """``dram`` for dram.cu."""
    constants: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, file: str, constants: Mapping[str, int] | None = None) -> "Source":
        """The file with its constants, as ``-DNAME=value``."""
        return cls(file, tuple(sorted((constants or {}).items())))


def architecture_flag(compute_capability: tuple[int, int]) -> str:
    """``sm_90a`` for (9, 0)."""
    major, minor = compute_capability
    return f"sm_{major}{minor}{ARCHITECTURE_SPECIFIC.get(compute_capability, '')}"


def compile_all(sources: Sequence[Source], compute_capability: tuple[int, int]) -> list[bytes]:
    """The cubins of several sources, compiled side by side; raises CompileError."""
    arch = architecture_flag(compute_capability)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda source: compile_source(source, arch), sources))


@cache
def compile_source(source: Source, arch: str) -> bytes:
    """The cubin of one source; raises CompileError with the compiler's first line."""
    from cupy_backends.cuda.libs import nvrtc

    constants = tuple(f"-D{name}={value}" for name, value in source.constants)
    options = (f"-arch={arch}", "-std=c++17", *constants)
    program = nvrtc.createProgram(source_text(source.file), f"{source.file}.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        # CuPy takes the last byte for a string's end, and it is the file's.
        cubin: bytes = nvrtc.getCUBIN(program) + b"\0"
    except nvrtc.NVRTCError:
        log = nvrtc.getProgramLog(program)
        first = next((line for line in log.splitlines() if "error" in line), "no word why")
        raise CompileError(f"{source.file}.cu does not compile for {arch}: {first}") from None
    finally:
        nvrtc.destroyProgram(program)
    return cubin


@cache
def source_text(file: str) -> str:
    """A kernel file behind what all of them share."""
    folder = files("kmeter.measure.probes")
    return folder.joinpath("common.cuh").read_text() + folder.joinpath(f"{file}.cu").read_text()


def compiler_version() -> tuple[int, int]:
    """NVRTC's version: (13, 0)."""
    from cupy_backends.cuda.libs import nvrtc

    major, minor = nvrtc.getVersion()
    return int(major), int(minor)
