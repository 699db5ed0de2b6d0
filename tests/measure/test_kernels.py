"""Every kernel compiles for every generation, and holds the instructions that it is about."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("cupy_backends")

from kmeter.measure.compiler import CompileError, Source, compile_all, compile_source
from kmeter.measure.instructions import count_instructions
from kmeter.measure.probes import probes, unlisted
from kmeter.measure.probes.arithmetic import CHAINS
from kmeter.measure.probes.tensor import MULTIPLIES

GENERATIONS = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
CACHE = {"THREADS": 256, "UNROLL": 4}
CHAIN = {"CHAINS": 8, "UNROLL": 16, "THREADS": 256}


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda cc: f"{cc[0]}.{cc[1]}")
def test_kernels_compile(generation: tuple[int, int]) -> None:
    hint = 1 if generation < (8, 0) else 2
    sources = [
        Source.of("data"),
        Source.of("latency"),
        Source.of("launch"),
        Source.of("cache", CACHE),
        Source.of("dram", {"UNROLL": 4, "WORDS": 4, "HINT": hint, "CHUNKED": 1}),
        Source.of("intensity", {"FLOP": 1, "THREADS": 256, "UNROLL": 4}),
        Source.of("intensity", {"FLOP": 64, "THREADS": 256, "UNROLL": 4}),
    ]
    if generation >= (10, 0):
        sources.append(Source.of("dram", {"UNROLL": 2, "WORDS": 8, "HINT": 0, "CHUNKED": 0}))
    assert all(cubin.startswith(b"\x7fELF") for cubin in compile_all(sources, generation))


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda cc: f"{cc[0]}.{cc[1]}")
def test_no_arithmetic_is_folded_away(generation: tuple[int, int]) -> None:
    chains = [chain for chain in CHAINS if chain.since <= generation]
    sources = [Source.of("arithmetic", {chain.constant: 1, **CHAIN}) for chain in chains]
    for chain, cubin in zip(chains, compile_all(sources, generation), strict=True):
        found = count_instructions(cubin, "arithmetic")[chain.instruction]
        assert found >= CHAIN["CHAINS"] * CHAIN["UNROLL"], chain.name


def test_the_count_notices_what_is_missing() -> None:
    cubin = compile_source(Source.of("arithmetic", {"FP32": 1, **CHAIN}), "sm_90a")
    assert count_instructions(cubin, "arithmetic")["DFMA"] == 0
    with pytest.raises(KeyError, match="no kernel"):
        count_instructions(cubin, "another")


def test_hopper_multiplies_by_warpgroup() -> None:
    for multiply in MULTIPLIES:
        if not multiply.wgmma:
            continue
        constants = {multiply.constant: 1, "WARPGROUPS": 2, "SLICES": 2, "A_IN_REGISTERS": 0}
        cubin = compile_source(Source.of("wgmma", constants), "sm_90a")
        assert count_instructions(cubin, "wgmma")[multiply.wgmma] == 6, multiply.name


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_120a"])
def test_others_multiply_by_warp(arch: str) -> None:
    names = {"FP64": "DMMA", "TF32": "HMMA", "FP16": "HMMA", "BF16": "HMMA", "INT8": "IMMA"}
    for multiply in MULTIPLIES:
        constant = multiply.constant.split("_")[0]
        if constant not in names or multiply.constant == "FP64_M16N8K16":
            continue
        constants = {multiply.constant: 1, "ROWS": 2, "COLUMNS": 2, "THREADS": 128}
        cubin = compile_source(Source.of("mma", constants), arch)
        assert count_instructions(cubin, "mma")[names[constant]] == 12, multiply.name


def test_a_kernel_that_does_not_compile_is_one_line() -> None:
    with pytest.raises(CompileError, match=r"dram\.cu does not compile for sm_90a"):
        compile_source(Source.of("dram"), "sm_90a")


def test_instructions_are_named_as_nvdisasm_names_them(tmp_path: Path) -> None:
    nvdisasm = shutil.which("nvdisasm")
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed")
    cubin = compile_source(Source.of("arithmetic", {"INT32": 1, **CHAIN}), "sm_86")
    (tmp_path / "k.cubin").write_bytes(cubin)
    text = subprocess.run(
        [nvdisasm, "-c", str(tmp_path / "k.cubin")], capture_output=True, text=True, check=True
    ).stdout
    listed = sum(" IMAD" in line and "IMAD.MOV" not in line for line in text.splitlines())
    assert count_instructions(cubin, "arithmetic")["IMAD"] >= listed > 0


# ---- the list -------------------------------------------------------------------------------


def test_every_probe_is_listed_once() -> None:
    names = [probe.name for probe in probes()]
    assert len(names) == len(set(names))
    assert unlisted() == set()


def test_every_probe_says_what_it_shows() -> None:
    for probe in probes():
        assert probe.what.endswith("."), probe.name
        assert probe.seconds > 0
