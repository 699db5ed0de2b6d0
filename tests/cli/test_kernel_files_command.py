"""``kmeter occupancy FILE`` and ``roofline --ncu`` as a user types them."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from running import Run

from kmeter.errors import ExitCode

DATA = Path(__file__).parents[1] / "data" / "kernels"
CUBINS = DATA / "cubin"
SHARED = str(CUBINS / "130" / "shared.sm_90.cubin")
BOUNDS = str(CUBINS / "130" / "bounds.sm_80.cubin")


def json_of(run: Run, *arguments: str) -> dict[str, Any]:
    finished = run("occupancy", *arguments, "--json")
    assert finished.code == ExitCode.OK, finished.err
    document: dict[str, Any] = json.loads(finished.out)
    return document


# ---- one build ------------------------------------------------------------------------------


def test_every_kernel_of_a_cubin_with_its_occupancy(run: Run) -> None:
    kernels = json_of(run, SHARED, "--block", "512")["kernels"]
    by_name = {kernel["demangled"]: kernel for kernel in kernels}
    static = by_name["static_48k(float*, int)"]
    assert static["static_shared_bytes"] == 49152
    assert (static["blocks_per_sm"], static["limiters"]) == (4, ["warps", "shared"])
    assert by_name["none(float*)"]["fraction"] == 1.0


def test_a_kernels_own_block_counts_more_than_the_users(run: Run) -> None:
    file = str(CUBINS / "130" / "modern.sm_90.cubin")
    kernels = json_of(run, file, "--block", "96")["kernels"]
    assert {k["block_size_source"] for k in kernels} == {"required"}
    assert [k["block_size"] for k in kernels] == [64, 512, 128]


def test_launch_bounds_are_the_block_and_without_them_the_best_one(run: Run) -> None:
    kernels = {k["demangled"].split("(")[0]: k for k in json_of(run, BOUNDS)["kernels"]}
    assert kernels["max_256"]["block_size"] == 256
    assert kernels["max_256"]["block_size_source"] == "launch bounds"
    assert kernels["free_bounds"]["block_size_source"] == "best"


def test_more_threads_than_the_bounds_allow_do_not_launch(run: Run) -> None:
    (kernel,) = json_of(run, BOUNDS, "--kernel", "^max_1\\(", "--block", "64")["kernels"]
    assert not kernel["can_launch"]
    assert kernel["blocks_per_sm"] == 0


def test_the_sweep_of_a_kernel_ends_at_its_launch_bounds(run: Run) -> None:
    finished = run("occupancy", BOUNDS, "--kernel", "^max_256\\(")
    sweep = finished.out[finished.out.index("  block ") :]
    assert "256" in sweep
    assert "512" not in sweep


ASSUMED = "dynamic shared memory: 0 B, which no file tells"


def test_dynamic_memory_that_nobody_told_is_said_to_be_assumed(run: Run) -> None:
    assert ASSUMED in run("occupancy", SHARED).out
    assert ASSUMED not in run("occupancy", SHARED, "--dynamic-smem", "4KiB").out
    assert ASSUMED not in run("occupancy", str(DATA / "triton_cache")).out


def test_a_compiler_that_failed_is_quoted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = b'nvcc warning : old\nk.cu(3): error: expected a ";"\n1 error detected\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(words)))
    finished = run("occupancy", "-")
    assert finished.code == ExitCode.USAGE
    assert """no kernel in it, but 'k.cu(3): error: expected a ";"'.""" in finished.err


def test_one_kernel_is_told_in_full(run: Run) -> None:
    finished = run("occupancy", SHARED, "--kernel", "static_48k")
    assert finished.code == ExitCode.OK
    assert "48 KiB shared memory on 9.0" in finished.out
    assert "Block sizes" in finished.out


def test_kernels_for_a_card_are_those_that_its_driver_loads(run: Run) -> None:
    file = str(CUBINS / "containers" / "libstripped.so")
    for cc, arch in (("8.6", "sm_86"), ("8.9", "sm_86"), ("9.0", "sm_90"), ("7.5", "sm_75")):
        kernels = json_of(run, file, "--cc", cc)["kernels"]
        assert {kernel["architecture"] for kernel in kernels} == {arch}
    finished = run("occupancy", file, "--cc", "12.0")
    assert finished.code == ExitCode.USAGE
    assert "They are for sm_100, sm_75, sm_86, sm_90" in finished.err


def test_the_worst_come_first(run: Run) -> None:
    kernels = json_of(run, str(DATA / "triton_cache"), "--sort", "occupancy")["kernels"]
    assert [kernel["name"] for kernel in kernels] == ["matmul", "row_softmax", "add_kernel"]
    kernels = json_of(run, str(DATA / "triton_cache"), "--sort", "registers")["kernels"]
    assert [kernel["registers_per_thread"] for kernel in kernels] == [254, 47, 30]


def test_a_triton_cache_knows_its_launches(run: Run) -> None:
    kernels = {k["name"]: k for k in json_of(run, str(DATA / "triton_cache"))["kernels"]}
    matmul = kernels["matmul"]
    assert (matmul["dynamic_shared_bytes"], matmul["block_size"]) == (32768, 256)
    assert matmul["blocks_per_sm"] == 1


def test_ptxas_words_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = b"""ptxas info    : Compiling entry function '_Z3addPf' for 'sm_86'
ptxas info    : Function properties for _Z3addPf
    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 54 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]
"""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(words)))
    (kernel,) = json_of(run, "-", "--block", "256")["kernels"]
    assert (kernel["registers_per_thread"], kernel["static_shared_bytes"]) == (54, 4096)
    assert (kernel["spill_store_bytes"], kernel["spill_load_bytes"]) == (8, 12)
    assert kernel["blocks_per_sm"] == 4


def test_ptx_alone_says_that_it_has_no_registers(run: Run) -> None:
    finished = run("occupancy", str(DATA / "ptx" / "bounds.compute_90.ptx"))
    assert finished.code == ExitCode.OK
    assert "PTX has no registers yet" in finished.out
    assert (
        "PTX alone (compute_80)" in run("occupancy", str(CUBINS / "containers" / "ptxonly.o")).out
    )


def test_a_floor_for_every_kernel(run: Run) -> None:
    assert run("occupancy", SHARED, "--require", "90%").code == ExitCode.OK
    finished = run("occupancy", str(DATA / "triton_cache"), "--require", "50%")
    assert finished.code == ExitCode.GATE_FAILED
    assert "1 of 3 kernels are below the 50 % of --require, the lowest at 12.5 %" in finished.err


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_numbers_are_whole_at_every_width(run: Run, columns: str) -> None:
    printed = run("occupancy", SHARED, COLUMNS=columns).out
    assert "48 KiB" in printed
    assert max(map(len, printed.splitlines())) <= int(columns)


def test_ascii_has_no_other_letters(run: Run) -> None:
    assert run("occupancy", BOUNDS, "--ascii").out.isascii()


# ---- two builds -----------------------------------------------------------------------------


@pytest.fixture
def builds(tmp_path: Path) -> tuple[str, str]:
    """The words of two compilers on two kernels, of which one got worse."""
    text = (
        "ptxas info    : Compiling entry function '{name}' for 'sm_80'\n"
        "ptxas info    : Function properties for {name}\n"
        "    {stack} bytes stack frame, {spill} bytes spill stores, {spill} bytes spill loads\n"
        "ptxas info    : Used {regs} registers, used 0 barriers, 360 bytes cmem[0]\n"
    )
    old = text.format(name="scan", stack=0, spill=0, regs=32) + text.format(
        name="sort", stack=0, spill=0, regs=64
    )
    new = text.format(name="scan", stack=0, spill=0, regs=32) + text.format(
        name="sort", stack=16, spill=16, regs=80
    )
    (tmp_path / "old.log").write_text(old)
    (tmp_path / "new.log").write_text(new)
    return str(tmp_path / "old.log"), str(tmp_path / "new.log")


def test_what_became_of_each_kernel(run: Run, builds: tuple[str, str]) -> None:
    finished = run("occupancy", builds[0], "--diff", builds[1], "--block", "256", COLUMNS="120")
    assert finished.code == ExitCode.OK
    assert "registers 64 → 80" in finished.out
    assert "occupancy 50 % → 37.5 %" in finished.out
    assert "spill 0 B → 32 B" in finished.out
    assert "1 of 2 kernels are the same" in finished.out


@pytest.mark.parametrize("gate", ["lower-occupancy", "spills", "registers"])
def test_a_gate_is_failed_by_the_kernel_that_got_worse(
    run: Run, builds: tuple[str, str], gate: str
) -> None:
    arguments = ("--block", "256", "--fail-on", gate)
    finished = run("occupancy", builds[0], "--diff", builds[1], *arguments)
    assert finished.code == ExitCode.GATE_FAILED
    assert finished.err == f"kmeter: 1 of 2 kernels fail on {gate}\n"
    assert run("occupancy", builds[1], "--diff", builds[0], *arguments).code == ExitCode.OK


def test_for_a_pull_request(run: Run, builds: tuple[str, str], tmp_path: Path) -> None:
    written = tmp_path / "table.md", tmp_path / "found.sarif"
    run(
        "occupancy", builds[0], "--diff", builds[1], "--fail-on", "spills,missing",
        "--markdown", str(written[0]), "--sarif", str(written[1]),
    )  # fmt: skip
    table = written[0].read_text("utf-8")
    assert table.startswith("- **spills**: `sort`")
    assert "| sort | sm\\_80 | registers 64 → 80" in table
    document = json.loads(written[1].read_text("utf-8"))
    (result,) = document["runs"][0]["results"]
    assert (document["version"], result["ruleId"]) == ("2.1.0", "spills")
    assert "registers 64 → 80" in result["message"]["text"]


def test_a_kernel_that_is_gone_fails_on_missing(run: Run, tmp_path: Path) -> None:
    file = str(CUBINS / "130" / "plain.sm_86.cubin")
    finished = run("occupancy", BOUNDS, "--diff", file, "--fail-on", "missing")
    assert finished.code == ExitCode.GATE_FAILED
    assert "5 of 10 kernels fail on missing" in finished.err


def test_an_anonymous_namespace_of_another_build_is_the_same(run: Run) -> None:
    old = str(CUBINS / "118" / "plain.sm_61.cubin")
    assert "5 of 5 kernels are the same" in run("occupancy", old, "--diff", old).out
    new = json_of(
        run,
        str(CUBINS / "130" / "plain.sm_86.cubin"),
        "--diff",
        str(CUBINS / "130" / "plain.sm_86.cubin"),
    )
    assert new["changes"] == []


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--block or a FILE"),
        (("--block", "256", "--sort", "name", "--cc", "8.6"), "are for a FILE"),
        ((SHARED, "--regs", "32"), "--regs does not go with a FILE"),
        ((SHARED, "--kernel", "("), "is no regular expression"),
        ((SHARED, "--kernel", "nothing"), "none of 7 kernels has 'nothing' in its name"),
        ((SHARED, "--arch", "sm_80"), "They are for sm_90"),
        ((SHARED, "--arch", "sm_90", "--cc", "9.0"), "--arch and --cc both say which GPU"),
        ((SHARED, "--cc", "99"), "there is no compute capability 9.9"),
        ((SHARED, "--block", "abc"), "--block takes whole numbers"),
        ((SHARED, "--carveout", "200"), "a carve-out is between 0 and 100 %"),
        ((SHARED, "--assume-cc", "9.0"), "--assume-cc does not go with a FILE"),
        ((SHARED, "--diff", SHARED, "--fail-on", ","), "--fail-on names no gate"),
        ((SHARED, "--diff", SHARED, "--json", "--markdown", "-"), "both go to stdout"),
        (("",), "this one is empty"),
        ((SHARED, "--sort", "colour"), "--sort is occupancy"),
        ((SHARED, "--fail-on", "spills"), "--fail-on is for --diff"),
        ((SHARED, "--diff", SHARED, "--fail-on", "rain"), "--fail-on knows"),
        ((str(DATA / "none.cubin"),), "No such file"),
        ((str(DATA / "ncu" / "expected.json"),), "no kernel in it"),
        ((str(DATA / "ptx"),), "holds no compiled kernel"),
    ],
)
def test_one_line_says_what_is_wrong(run: Run, arguments: tuple[str, ...], told: str) -> None:
    finished = run("occupancy", *arguments)
    assert finished.code == ExitCode.USAGE
    assert told in finished.err
    assert finished.err.count("\n") == 1


def test_a_file_that_is_cut_off_is_named(run: Run, tmp_path: Path) -> None:
    whole = Path(SHARED).read_bytes()
    file = tmp_path / "cut.cubin"
    file.write_bytes(whole[: len(whole) // 2])
    finished = run("occupancy", str(file))
    assert finished.code == ExitCode.USAGE
    assert finished.err.startswith(f"kmeter: {file} is broken: ")


# ---- profiles -------------------------------------------------------------------------------

PROFILES = DATA / "ncu"


def test_a_profile_on_the_roofline(run: Run) -> None:
    answers = json.loads((PROFILES / "expected.json").read_text("utf-8"))
    name, kernel = next(
        (name, kernel)
        for name, answer in answers.items()
        for kernel in answer.get("kernels", ())
        if kernel.get("flop", {}).get("fp32")
        and kernel.get("dram_bytes_mean")
        and kernel.get("duration_s_mean")
    )
    finished = run("roofline", "-d", "h200", "--ncu", str(PROFILES / name), "--json")
    assert finished.code == ExitCode.OK, finished.err
    points = json.loads(finished.out)["points"]
    wanted = kernel["flop"]["fp32"] / kernel["dram_bytes_mean"]
    own = [p for p in points if p["name"].startswith(kernel["kernel"]) and p["level"] == "DRAM"]
    assert any(p["arithmetic_intensity"] == pytest.approx(wanted, rel=0.01) for p in own)
    assert any(
        p["flop_per_s"]
        == pytest.approx(kernel["flop"]["fp32"] / kernel["duration_s_mean"], rel=0.01)
        for p in own
    )


def test_every_own_profile_is_placed_or_refused_in_one_line(run: Run) -> None:
    for name, answer in json.loads((PROFILES / "expected.json").read_text("utf-8")).items():
        finished = run("roofline", "-d", "h200", "--ncu", str(PROFILES / name), "--json")
        wanted = ExitCode.USAGE if answer.get("error") else ExitCode.OK
        assert finished.code == wanted, (name, finished.err)
        assert finished.err.count("\n") == (1 if answer.get("error") else 0), name


def test_a_saved_benchmark_is_a_profile_too(run: Run) -> None:
    saved = DATA.parent / "bench" / "h200-run.json"
    (point,) = json.loads(run("roofline", "-d", "h200", "--ncu", str(saved), "--json").out)[
        "points"
    ]
    assert (point["name"], point["roof"]) == ("4096^3 bf16 matmul", "bf16_tensor")
    assert 0.5 < point["fraction_of_roof"] < 1
    finished = run("roofline", "-d", "h200", "--ncu", str(saved), "--dtype", "fp32")
    assert "is left out: the bf16_tensor roof is unknown" in " ".join(finished.out.split())


# ---- which image, which GPU -----------------------------------------------------------------


def test_occupancy_is_that_of_the_card_that_runs_it(run: Run) -> None:
    file = str(CUBINS / "130" / "shared.sm_80.cubin")
    own, there = (
        json_of(run, file, "--kernel", "none", "--block", "1024", *target)["kernels"][0]
        for target in ((), ("--cc", "8.9"))
    )
    assert (own["blocks_per_sm"], own["max_warps_per_sm"]) == (2, 64)
    assert (there["blocks_per_sm"], there["max_warps_per_sm"]) == (1, 48)


def test_each_kernel_has_the_image_that_a_driver_would_load(run: Run) -> None:
    files = [str(CUBINS / "130" / f"shared.{arch}.cubin") for arch in ("sm_80", "sm_86")]
    files.append(str(CUBINS / "130" / "bounds.sm_80.cubin"))
    kernels = json_of(run, *files, "--cc", "8.9")["kernels"]
    assert len(kernels) == 7 + 7 + 5
    accelerated = str(CUBINS / "135" / "shared.sm_90a.cubin")
    assert len(json_of(run, accelerated, "--cc", "9.0")["kernels"]) == 7
    assert "is for 10.0" in run("occupancy", accelerated, "--cc", "10.0").err


@pytest.mark.parametrize("arch", ["sm_90", "90", "9.0", "SM_90", "compute_90"])
def test_every_spelling_of_an_architecture(run: Run, arch: str) -> None:
    accelerated = str(CUBINS / "135" / "shared.sm_90a.cubin")
    assert len(json_of(run, accelerated, "--arch", arch)["kernels"]) == 7
    assert run("occupancy", SHARED, "--arch", "sm_90a").code == ExitCode.USAGE


def test_shared_memory_of_an_object_that_is_not_linked_has_no_bytes_in_it(run: Run) -> None:
    (kernel,) = json_of(run, str(DATA / "not_linked.sm_90.cubin"))["kernels"]
    assert kernel["static_shared_bytes"] == 48000
    assert kernel["note"] == "not linked yet: linking may change it"


def test_a_text_without_an_architecture_gets_it_from_the_user(run: Run) -> None:
    file = str(DATA / "logs" / "03_no_architecture.log")
    without = json_of(run, file)["kernels"]
    assert {kernel["architecture"] for kernel in without} == {None}
    assert all("--arch gives it" in kernel["fraction_reason"] for kernel in without)
    given = json_of(run, file, "--arch", "sm_86")["kernels"]
    assert {kernel["architecture"] for kernel in given} == {"sm_86"}
    assert all(kernel["fraction"] for kernel in given)


# ---- gates ----------------------------------------------------------------------------------


def log_of(tmp_path: Path, name: str, **kernels: str) -> str:
    """A file of ``ptxas -v``'s words: by name, the line of registers."""
    text = "".join(
        f"ptxas info    : Compiling entry function '{kernel}' for 'sm_80'\n"
        f"ptxas info    : Function properties for {kernel}\n"
        f"    {line.split('|')[0]}\n"
        f"ptxas info    : {line.split('|')[1]}\n"
        for kernel, line in kernels.items()
    )
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


CLEAN = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads|Used 32 registers"
ARRAY = "800 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads|Used 32 registers"
SPILLING = "8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads|Used 32 registers"


@pytest.mark.parametrize(
    ("before", "after", "gate", "code"),
    [
        ({"k": CLEAN}, {"k": ARRAY}, "spills", ExitCode.OK),
        ({"k": CLEAN}, {"k": CLEAN, "n": SPILLING}, "spills", ExitCode.GATE_FAILED),
        ({"k": CLEAN}, {"k": CLEAN, "n": CLEAN}, "spills,missing", ExitCode.OK),
        (
            {"k": CLEAN},
            {"k": CLEAN.split("|", maxsplit=1)[0] + "|nothing"},
            "registers",
            ExitCode.GATE_FAILED,
        ),
    ],
)
def test_what_a_gate_is_against(
    run: Run, tmp_path: Path, before: dict[str, str], after: dict[str, str], gate: str, code: int
) -> None:
    old, new = log_of(tmp_path, "old", **before), log_of(tmp_path, "new", **after)
    assert run("occupancy", old, "--diff", new, "--fail-on", gate).code == code


def test_require_holds_for_the_newer_build_and_for_what_is_unknown(
    run: Run, tmp_path: Path
) -> None:
    small = log_of(tmp_path, "a", k=CLEAN.replace("32", "200"))
    arguments = ("--block", "256", "--require", "90%")
    assert run("occupancy", SHARED, "--diff", small, *arguments).code == ExitCode.GATE_FAILED
    ptx = run("occupancy", str(DATA / "ptx" / "bounds.compute_90.ptx"), "--require", "50%")
    assert ptx.code == ExitCode.GATE_FAILED
    assert "the occupancy of 5 of 5 kernels is unknown" in ptx.err


def test_a_name_cannot_move_the_cursor(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[31mb\nc"
    file.write_text("nothing")
    finished = run("occupancy", str(file))
    assert "\x1b" not in finished.err
    assert finished.err.count("\n") == 1
