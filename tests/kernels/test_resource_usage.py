import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.answers import OTHERS, OWN, Row, assert_kernels, files_in, text_of
from kmeter.kernels.resource_usage import is_usage, kernels_of_usage

USAGE = OWN / "usage"
BARE = USAGE / "13_bare_cubin_sm90_no_arch.txt"


@pytest.mark.parametrize(("path", "answer"), files_in(USAGE, OTHERS / "resource_usage"))
def test_every_value_of_a_file_with_right_answers(path: Path, answer: Row) -> None:
    text = text_of(path)
    assert is_usage(text)
    expected = [{**row, "said_by": "cuobjdump"} for row in answer["functions"] if row["is_kernel"]]
    assert_kernels(kernels_of_usage(text), expected)


@pytest.mark.parametrize("architecture", ["sm_90", "sm_90a", "9.0", "sm_100f", "12.1"])
def test_the_reserve_is_taken_off_where_the_caller_says_what_the_text_is_for(
    architecture: str,
) -> None:
    kernels = kernels_of_usage(text_of(BARE), architecture)
    sizes = [kernel.static_shared_bytes for kernel in kernels]
    assert sizes == [1024, 1024, 0, 1024, 49152, 16384, 0]
    assert {kernel.architecture for kernel in kernels} == {architecture}


def test_an_earlier_architecture_reserves_nothing() -> None:
    kernels = kernels_of_usage(text_of(BARE), "sm_89")
    assert [kernel.static_shared_bytes for kernel in kernels][:3] == [2048, 2048, 1024]


def test_without_an_architecture_the_note_asks_for_it() -> None:
    for kernel in kernels_of_usage(text_of(BARE)):
        assert kernel.static_shared_bytes is None
        assert "--arch" in kernel.note


def test_the_text_knows_better_than_the_caller() -> None:
    kernels = kernels_of_usage(text_of(USAGE / "03_linked.txt"), "sm_75")
    assert [kernel.architecture for kernel in kernels] == ["sm_80", "sm_90a", "sm_103"]


def test_other_text_is_no_usage() -> None:
    assert not is_usage("")
    assert not is_usage(" Function saxpy:\n  nothing of it\n")
    assert not is_usage("REG:10 STACK:0 SHARED:0\n")


_PIECE = st.one_of(
    st.sampled_from([line for path in USAGE.glob("*.txt") for line in text_of(path).split("\n")]),
    st.text(max_size=40),
)


@given(st.lists(_PIECE, max_size=30))
def test_any_lines_are_read_and_name_every_kernel(lines: list[str]) -> None:
    text = "\n".join(lines)
    kernels = kernels_of_usage(text)
    assert is_usage(text) or not kernels
    for kernel in kernels:
        assert f"Function {kernel.name}" in text


_NAMED = " Function a:\n"
_SLOW = {
    "items": f"{_NAMED}REG:1 " + "A[1]:" * 200_000,
    "functions": _NAMED * 60_000,
    "colons": "Function " * 100_000 + ":",
    "digits": f"{_NAMED}REG:" + "1" * 10**6 + " x",
}


@pytest.mark.parametrize("text", _SLOW.values(), ids=_SLOW.keys())
def test_a_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    start = time.perf_counter()
    kernels_of_usage(text)
    assert time.perf_counter() - start < 10
