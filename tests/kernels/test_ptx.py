import time

import pytest

from kmeter.errors import UsageError
from kmeter.kernels import ptx
from kmeter.kernels.ptx import NOTE, is_ptx, kernels_of_ptx
from kmeter.model.compiled_kernel import CompiledKernel

HEAD = ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"


def only(body: str) -> CompiledKernel:
    """The one kernel of a module."""
    (kernel,) = kernels_of_ptx(HEAD + body)
    return kernel


def test_a_kernel_with_all_its_bounds() -> None:
    found = only("""
        .visible .entry _Z1kPf(
            .param .u64 .ptr .align 4 p  // a pointer
        )
        .maxntid 128, 2, 1
        .minnctapersm 3
        .reqnctapercluster 2, 1, 1
        .maxclusterrank 8
        .explicitcluster
        { ret; }
    """)
    assert found == CompiledKernel(
        "_Z1kPf", "sm_90a", static_shared_bytes=0, max_threads_per_block=256, min_blocks_per_sm=3,
        cluster=(2, 1, 1), max_cluster_rank=8, said_by="PTX", note=NOTE,
    )  # fmt: skip


def test_a_block_that_is_required() -> None:
    found = only(".entry k() .reqntid 64, 4 { ret; }")
    assert (found.required_block, found.max_threads_per_block) == ((64, 4, 1), None)


def test_a_cluster_without_a_size_has_none() -> None:
    assert only(".entry k() .explicitcluster .maxclusterrank 4 { }").cluster is None


def test_shared_memory_of_a_kernel_in_all_its_shapes() -> None:
    found = only("""
        .entry k() {
            .shared .align 16 .b8 bytes[100];
            .shared .f32 one;
            .shared .align 8 .b16 grid[4][8][2];
            .shared .align 16 .v4 .f32 vectors[3];
            .extern .shared .align 16 .b8 dynamic[];
        }
    """)
    assert found.static_shared_bytes == 100 + 4 + 128 + 48


def test_shared_memory_of_the_module_counts_where_it_is_used() -> None:
    user, other = kernels_of_ptx(
        HEAD
        + """
        .shared .align 4 .b8 pool[256];
        .shared .b32 unused;
        .entry user() { mov.u32 %r1, pool; }
        .entry other() { .reg .b32 %pool1; ret; }
    """
    )
    assert (user.static_shared_bytes, other.static_shared_bytes) == (256, 0)


def test_functions_are_no_kernels() -> None:
    found = only("""
        .func (.param .b32 r) helper(.param .b32 a) { .shared .b8 scratch[64]; ret; }
        .entry k() { call helper; }
    """)
    assert (found.name, found.static_shared_bytes) == ("k", None)


def test_comments_say_nothing() -> None:
    found = only("""
        /* .entry a() { } **/ // .entry b() { }
        /* several * lines /
           .entry c() { } */
        .entry k() /* { .maxntid 1 */ .maxntid 32 { // }
            .shared .b8 s[8];
        }
        /* .entry d() { }
    """)
    assert (found.name, found.max_threads_per_block, found.static_shared_bytes) == ("k", 32, 8)


def test_blocks_within_a_kernel() -> None:
    first, second = kernels_of_ptx(
        HEAD + ".entry a() { { .shared .b8 x[4]; } { } .shared .b8 y[8]; } .entry b() { }"
    )
    assert (first.static_shared_bytes, second.static_shared_bytes) == (12, 0)


def test_a_kernel_that_is_cut_off_ends_where_the_next_begins() -> None:
    first, second = kernels_of_ptx(HEAD + ".entry a() { .shared .b8 x[4]; .entry b() { }")
    assert (first.name, first.static_shared_bytes) == ("a", 4)
    assert (second.name, second.static_shared_bytes) == ("b", 0)


@pytest.mark.parametrize(
    "body",
    [
        ".entry k() .maxntid 999999999, 999999999, 999999999 { }",
        ".entry k() .reqntid 999999999, 999999999 .maxntid 9999999999999 { }",
        ".entry k() { .shared .b8 x" + "[999999999]" * 8 + "; }",
        ".entry k() { .shared .b8 x" + "[999999999]" * 100_000 + "; }",
        ".entry k() .reqntid 1, 9999999999 .maxntid 1, 1, " + "9" * 5000 + " { }",
        ".entry k() { .shared .b8 x[" + "9" * 90 + "]; }",
        ".shared .b8 x[999999999][9]; .entry k() { x; }",
    ],
)
def test_numbers_that_nothing_can_have_are_unknown(body: str) -> None:
    found = only(body)
    assert (found.required_block, found.max_threads_per_block) == (None, None)
    assert found.static_shared_bytes in {0, None}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (HEAD, True),
        ("//\n//\n.version 1.4\n.target\tsm_13\n", True),
        (".version 8.0\n", False),
        (".target sm_80\n", False),
        ("", False),
        (".version" + "\n" * 300_000, False),
        (".version" + " " * 300_000, False),
    ],
)
def test_what_is_ptx(text: str, answer: bool) -> None:
    begin = time.process_time()
    assert is_ptx(text) is answer
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "repeated",
    [
        "/*", "/**", "/*/", "*/", "//", "{", "}", "{}", "\n", " ", ".entry a ", ".entry a{", ".entry a }",
        ".entry a .maxntid 1 ,", ".maxntid ", ".shared ", ".shared .b8 x", ".shared .align 8 ",
        ".shared .b8 x [1]", ".target ", "[1]", ".v4 ",
    ],
)  # fmt: skip
def test_time_grows_with_the_text(repeated: str) -> None:
    text = HEAD + ".entry k() {" + repeated * (300_000 // len(repeated))
    begin = time.process_time()
    kernels_of_ptx(text)
    assert time.process_time() - begin < 5


def test_many_kernels_beside_many_variables() -> None:
    variables = "".join(f".shared .b8 v{i}[4];\n" for i in range(20_000))
    kernels = "".join(f".entry k{i}() {{ v{i}; }}\n" for i in range(20_000))
    begin = time.process_time()
    found = kernels_of_ptx(HEAD + variables + kernels)
    assert {kernel.static_shared_bytes for kernel in found} == {4}
    assert time.process_time() - begin < 5


def test_too_many_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx, "_MOST_KERNELS", 3)
    assert len(kernels_of_ptx(HEAD + ".entry a() { }" * 3)) == 3
    with pytest.raises(UsageError, match="too many kernels"):
        kernels_of_ptx(HEAD + ".entry a() { }" * 4)


def test_shared_memory_of_functions_that_a_kernel_may_call_is_unknown() -> None:
    text = """.version 8.0
.target sm_80
.func meeting() { .shared .align 4 .b8 room[128]; ret; }
.visible .entry caller() { call.uni meeting, (); ret; }
.visible .entry other() { .shared .align 4 .b8 own[64]; ret; }
"""
    caller, other = kernels_of_ptx(text)
    assert caller.static_shared_bytes is None
    assert "may call" in caller.note
    assert (other.static_shared_bytes, other.note) == (64, NOTE)
