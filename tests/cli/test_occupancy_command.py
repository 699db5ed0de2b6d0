"""``kmeter occupancy`` as a user types it: answers, refusals, gates and bad input."""

import json
from typing import Any

import pytest
from running import Run

from kmeter.errors import ExitCode

PLAIN = ("occupancy", "--block", "256", "--regs", "64", "--cc", "8.6")


def json_of(run: Run, *arguments: str) -> dict[str, Any]:
    finished = run("occupancy", *arguments, "--json")
    assert finished.code == ExitCode.OK, finished.err
    document: dict[str, Any] = json.loads(finished.out)
    return document


# ---- answers --------------------------------------------------------------------------------


def test_a_plain_launch(run: Run) -> None:
    finished = run(*PLAIN)
    assert finished.code == ExitCode.OK
    assert finished.err == ""
    assert "66.7 % occupancy: 4 blocks, 32 of 48 warps per SM, limited by registers" in finished.out
    assert "64 → 48 registers: 4 → 5 blocks" in finished.out


@pytest.mark.parametrize("cc", ["8.6", "86", "sm_86", "SM_86"])
def test_every_spelling_of_a_compute_capability(run: Run, cc: str) -> None:
    assert json_of(run, "--block", "256", "--regs", "64", "--cc", cc)["blocks_per_sm"] == 4


@pytest.mark.parametrize("block", ["256", "16x16", "8x8x4", "16X16", "256x1x1"])
def test_a_block_may_have_a_shape(run: Run, block: str) -> None:
    assert json_of(run, "--block", block, "--cc", "9.0")["block_size"] == 256


@pytest.mark.parametrize("size", ["49152", "48KiB", "48K", "48 KiB", "48kB"])
def test_sizes_in_any_unit(run: Run, size: str) -> None:
    document = json_of(run, "--block", "256", "--dynamic-smem", size, "--cc", "9.0")
    assert document["dynamic_shared_bytes"] == 49152
    assert document["allocated_shared_bytes_per_block"] == 50176


def test_a_carveout_and_barriers_limit(run: Run) -> None:
    arguments = ("--block", "128", "--regs", "32", "--cc", "9.0")
    document = json_of(run, *arguments, "--carveout", "0", "--barriers", "16")
    assert document["blocks_allowed_by"]["shared"] == 1 + 7
    assert document["blocks_allowed_by"]["barriers"] == 4
    assert document["limiters"] == ["shared", "barriers"]


def test_a_grid_one_block_too_large(run: Run) -> None:
    arguments = ("--block", "1024", "--regs", "64", "--cc", "9.0", "--grid", "133", "--sms", "132")
    waves = json_of(run, *arguments)["waves"]
    assert waves["waves"] == 2
    assert waves["last_wave_fraction"] == pytest.approx(1 / 132)
    assert waves["efficiency"] == pytest.approx(0.504, abs=5e-4)
    assert "wave efficiency 50.4 %; grids of 132 or 264 fill" in " ".join(
        run("occupancy", *arguments, COLUMNS="200").out.split()
    )


def test_launch_bounds_say_what_they_ask_for(run: Run) -> None:
    document = json_of(run, *PLAIN[1:], "--launch-bounds", "256,6")
    assert document["launch_bounds"]["max_registers_per_thread"] == 40


def test_a_cluster_is_an_upper_bound(run: Run) -> None:
    finished = run(
        "occupancy", "--block", "128", "--cc", "9.0", "--cluster", "16", "--sms", "132",
        COLUMNS="200",
    )  # fmt: skip
    assert "non-portable" in finished.out
    assert "GPC layout unknown" in finished.out


def test_a_cluster_is_counted_where_the_layout_is_given(run: Run) -> None:
    arguments = ("--block", "1024", "--regs", "32", "--cc", "9.0", "--cluster", "4")
    document = json_of(run, *arguments, "--gpcs", "18,18,16,16,16,16,16,8,2,2,2,2")
    assert document["cluster"]["max_active_clusters"] == 62
    assert document["cluster"]["bound"] == "exact"


def test_newer_hardware_only_where_its_limits_are_assumed(run: Run) -> None:
    assert run("occupancy", "--block", "256", "--cc", "13.0").code == ExitCode.USAGE
    finished = run("occupancy", "--block", "256", "--cc", "13.0", "--assume-cc", "12.1")
    assert finished.code == ExitCode.OK
    assert "assumed: 13.0 is not in the table" in finished.out


def test_the_heatmap_marks_the_launch(run: Run) -> None:
    assert "[67]" in run(*PLAIN, "--heatmap").out


# ---- what a card would refuse ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("--dynamic-smem", "240KiB"), "cannot launch: 240 KiB, limit 227 KiB on 9.0"),
        (("--block", "1024", "--regs", "128"), "131072 registers a block, limit 65536 on 9.0"),
        (("--launch-bounds", "128"), "256 threads, the launch bounds allow 128"),
        (("--cluster", "32"), "a cluster has at most 16 blocks, this one 32"),
    ],
)
def test_a_refused_launch_is_an_answer(run: Run, arguments: tuple[str, ...], cause: str) -> None:
    finished = run("occupancy", "--block", "256", "--cc", "9.0", *arguments)
    assert finished.code == ExitCode.OK
    assert cause in finished.out
    document = json_of(run, "--block", "256", "--cc", "9.0", *arguments)
    assert (document["blocks_per_sm"], document["can_launch"]) == (0, False)


def test_require_is_a_gate(run: Run) -> None:
    assert run(*PLAIN, "--require", "50%").code == ExitCode.OK
    failed = run(*PLAIN, "--require", "0.7")
    assert failed.code == ExitCode.GATE_FAILED
    assert failed.err == "kmeter: 66.7 % occupancy is below the 70 % of --require\n"
    assert run(*PLAIN, "--require", "90%", "--json").code == ExitCode.GATE_FAILED


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--block", "0"), "takes whole numbers of 1 or more"),
        (("--block", "1x1x65"), "a block has at most 64 threads in z, not 65"),
        (("--block", "9" * 5000), "too large"),
        (("--cc", "9" * 5000), "not a compute capability"),
        (("--block", "2000"), "a block has at most 1024 threads"),
        (("--block", "32x32x2"), "a block has at most 1024 threads"),
        (("--block", "-5"), "1 or more"),
        (("--block", "1e3"), "1 or more"),
        (("--block", ""), "1 or more"),
        (("--block", "2x2x2x2"), "at most 3 dimensions"),
        (("--regs", "-5"), "a thread has at most 255 registers"),
        (("--regs", "300"), "a thread has at most 255 registers"),
        (("--regs", "12.5"), "not a valid int"),
        (("--smem", "-1KiB"), "is not a whole number of bytes"),
        (("--smem", "48kbit"), "is not a size"),
        (("--dynamic-smem", "nan"), "is not"),
        (("--carveout", "140"), "a carve-out is between 0 and 100 %"),
        (("--barriers", "17"), "at most 16 named barriers"),
        (("--grid", "0"), "1 or more"),
        (("--sms", "0"), "--sms is 1 or more"),
        (("--cluster", "-1"), "--cluster is 1 or more"),
        (("--launch-bounds", "0"), "1 or more"),
        (("--launch-bounds", "2048"), "at most 1024"),
        (("--launch-bounds", "256,2,1"), "no launch bounds"),
        (("--grid", "2147483648"), "at most 2147483647 blocks in x"),
        (("--grid", "1x70000"), "at most 65535 blocks in y"),
        (("--grid", "9" * 5000), "too large"),
        (("--grid", "16x"), "not ''"),
        (("--gpcs", "16,16", "--sms", "132"), "add up to 32 SMs"),
        (("--require", "150%"), "between 0 and 100 %"),
        (("--require", "half"), "is not"),
        (("--cc", "8"), "is not a compute capability"),
        (("--cc", "99.0"), "8.6"),
        (("--cc", "10.2"), "no compute capability 10.2"),
        (("--cc", "8.6", "--assume-cc", "9.0"), "Leave out --assume-cc"),
        (("--device", "4090"), "--cc and --device both"),
        (("--nonsense",), "No such option: --nonsense"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], says: str) -> None:
    finished = run("occupancy", "--block", "256", "--cc", "9.0", *arguments)
    assert finished.code == ExitCode.USAGE
    assert finished.out == ""
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1


def test_without_a_gpu_it_says_how_to_go_on(run: Run) -> None:
    finished = run("occupancy", "--block", "256")
    assert finished.code == ExitCode.NO_GPU
    assert "-d h100-sxm" in finished.err


# ---- terminals ------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {}])
def test_a_locale_without_unicode_gets_ascii(run_process: Run, environment: Any) -> None:
    finished = run_process(*PLAIN, PYTHONIOENCODING="ascii", **environment)
    assert finished.code == ExitCode.OK
    assert finished.out.isascii()
    assert "64 -> 48 registers" in finished.out


def test_a_pipe_gets_no_escapes(run_process: Run) -> None:
    assert "\x1b" not in run_process(*PLAIN).out


def test_debug_shows_the_traceback(run_process: Run) -> None:
    finished = run_process("occupancy", "--block", "0", "--cc", "8.6", KMETER_DEBUG="1")
    assert "Traceback" in finished.err
