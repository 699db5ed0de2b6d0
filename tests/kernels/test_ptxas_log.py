import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import OTHERS, OWN, Row, assert_kernels, files_in, text_of
from kmeter.kernels.ptxas_log import kernels_of_log
from kmeter.model.compiled_kernel import CompiledKernel

LOGS = OWN / "logs"
INFO = "ptxas info    : "


@pytest.mark.parametrize(("path", "answer"), files_in(LOGS, OTHERS / "ptxas"))
def test_every_value_of_a_log_with_right_answers(path: Path, answer: Row) -> None:
    kernels = kernels_of_log(text_of(path))
    assert_kernels(kernels, [{"said_by": "ptxas", **row} for row in answer["kernels"]])
    for kernel, row in zip(kernels, answer["kernels"], strict=True):
        assert ("ambiguous" in kernel.note) == row.get("ambiguous", False)


def _block(name: str, registers: int) -> list[str]:
    return [
        f"{INFO}Compiling entry function '{name}' for 'sm_80'",
        f"{INFO}Function properties for {name}",
        f"    {registers + 1000} bytes stack frame, {registers + 2000} bytes spill stores,"
        f" {registers + 3000} bytes spill loads",
        f"{INFO}Used {registers} registers, {registers + 4000} bytes smem, 360 bytes cmem[0]",
    ]


_DEVICE_FUNCTION = [
    f"{INFO}Function properties for helper",
    "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads",
]


def _processes(count: int, kernels: int) -> list[list[str]]:
    """Builds whose kernels are named after their registers."""
    return [
        [
            line
            for kernel in range(kernels)
            for line in _block(f"k{10 * process + kernel + 1}", 10 * process + kernel + 1)
            + (_DEVICE_FUNCTION if kernel % 2 else [])
        ]
        for process in range(count)
    ]


def _mixed(processes: list[list[str]], choose: random.Random) -> list[str]:
    """Their lines, each one's in its order."""
    left = [list(lines) for lines in processes]
    mixed = []
    while left := [lines for lines in left if lines]:
        mixed.append(choose.choice(left).pop(0))
    return mixed


def _numbers(kernel: CompiledKernel) -> set[int]:
    own = (
        (kernel.registers_per_thread, 0),
        (kernel.stack_bytes, 1000),
        (kernel.spill_store_bytes, 2000),
        (kernel.spill_load_bytes, 3000),
        (kernel.static_shared_bytes, 4000),
    )
    return {value - offset for value, offset in own if value is not None}


def _assert_own_numbers(kernels: list[CompiledKernel]) -> None:
    for kernel in kernels:
        assert _numbers(kernel) <= {int(kernel.name[1:])}


@given(st.integers(1, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_builds_at_once_never_give_a_kernel_another_s_numbers(
    count: int, kernels: int, choose: random.Random
) -> None:
    got = kernels_of_log("\n".join(_mixed(_processes(count, kernels), choose)))
    assert len(got) == count * kernels
    _assert_own_numbers(got)
    assert all(kernel.note for kernel in got if None in (kernel.stack_bytes, kernel.barriers or 0))


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_text_that_begins_or_ends_in_the_middle_gives_no_number_of_another_kernel(
    start: int, end: int
) -> None:
    (lines,) = _processes(1, 6)
    got = kernels_of_log("\n".join(lines[start : len(lines) - end]))
    _assert_own_numbers(got)
    assert all(kernel.registers_per_thread for kernel in got[:-1])


_ANY_LINE = st.one_of(
    st.sampled_from([line for lines in _processes(2, 3) for line in lines]),
    st.sampled_from([line for path in LOGS.glob("*.log") for line in text_of(path).split("\n")]),
    st.text(max_size=60),
)


@given(st.lists(_ANY_LINE, max_size=40), st.integers(0, 200))
@settings(max_examples=300)
def test_any_lines_give_kernels_and_numbers_that_they_name(lines: list[str], cut: int) -> None:
    text = "\n".join(lines)[cut:]
    said = {int(digits) for digits in re.findall(r"[0-9]+", text)}
    for kernel in kernels_of_log(text):
        assert kernel.name
        assert kernel.said_by in ("ptxas", "nvlink")
        assert kernel.registers_per_thread is None or kernel.registers_per_thread in said
        assert kernel.stack_bytes is None or kernel.stack_bytes in said


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for prefix in ("", INFO, f"{INFO}Compiling entry function '", f"{INFO}Used 3 registers, "):
        kernels_of_log(prefix + text)


_SLOW = {
    "digits": "1" * 10**6 + " bytes stack frame",
    "items": f"{INFO}Used 1 registers," + " 1 bytes smem," * 70_000,
    "messages": "ptxas info" * 100_000,
    "quotes": f"{INFO}Compiling entry function '" + "' for '" * 140_000,
    "broken lines": (f"{INFO}Compiling entry function 'aaa\n" + "bbb\n" * 60) * 1000,
    "colours": "\x1b[" * 250_000 + "\x1b]" * 250_000,
    "kernels that wait": f"{INFO}Compiling entry function 'a' for 'sm_80'\n" * 20_000
    + f"{INFO}Used 9 registers\n" * 20_000,
    "gaps": "".join(
        f"nvlink info    : Function properties for 'a': (target: sm_{i})\n...\n"
        for i in range(15_000)
    ),
}


@pytest.mark.parametrize("text", _SLOW.values(), ids=_SLOW.keys())
def test_a_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    start = time.perf_counter()
    kernels_of_log(text)
    assert time.perf_counter() - start < 10


def test_a_text_without_kernels_has_none() -> None:
    assert kernels_of_log("") == []
    assert kernels_of_log("make: Nothing to be done for 'all'.\nUsed 24 registers\n") == []


def test_a_number_without_an_owner_is_unknown_and_the_note_says_why() -> None:
    left, right, _ = kernels_of_log(text_of(LOGS / "10_mixed.log"))
    for kernel in (left, right):
        assert kernel.registers_per_thread is None
        assert kernel.note == (
            "registers, shared memory and stack and spills are ambiguous:"
            " several compilers wrote at the same time"
        )


def test_linked_numbers_whose_architecture_nobody_names_may_have_the_reserve_in_them() -> None:
    lines = ("Function properties for 'k':", "used 8 registers, 0 stack, 3072 bytes smem")
    (kernel,) = kernels_of_log("\n".join(f"nvlink info    : {line}" for line in lines))
    assert kernel.registers_per_thread == 8
    assert kernel.static_shared_bytes is None
    assert "3072 bytes of shared memory" in kernel.note


def test_the_linker_makes_one_of_a_kernel_that_was_compiled_twice() -> None:
    twice = [*_block("k7", 7), *_block("k8", 8), *_block("k7", 7)]
    linked = [
        "nvlink info    : Function properties for 'k7': (target: sm_80)",
        "nvlink info    : used 9 registers, 0 stack, 0 bytes smem (target: sm_80)",
    ]
    got = kernels_of_log("\n".join(twice + linked))
    assert [(each.name, each.registers_per_thread, each.said_by) for each in got] == [
        ("k7", 9, "nvlink"),
        ("k8", 8, "ptxas"),
    ]


# ---- nvlink's barriers ----------------------------------------------------------------------


def linked(*barriers: int) -> list[int | None]:
    """What is read where nvlink says these of kernels a, b, c, …"""
    text = "".join(
        f"nvlink info    : Function properties for '{name}' (target: sm_90):\n"
        f"nvlink info    : used 10 registers, {count} barriers, 0 stack, 0 bytes smem\n"
        for name, count in zip("abcdef", barriers, strict=False)
    )
    found = kernels_of_log(text)
    assert [kernel.name for kernel in found] == list("abcdef"[: len(barriers)])
    return [kernel.barriers for kernel in found]


@pytest.mark.parametrize(
    ("said", "certain"),
    [
        ((1, 1, 4, 4), [1, None, 4, None]),
        ((1, 0, 4, 1), [1, 0, 4, 1]),
        ((0, 0, 2, 3), [0, 0, 2, 3]),
        ((16,), [16]),
    ],
)
def test_a_number_of_barriers_that_only_repeats_the_most_so_far_is_not_believed(
    said: tuple[int, ...], certain: list[int | None]
) -> None:
    assert linked(*said) == certain
