import struct
from collections.abc import Sequence

import pytest

from kernels.answers import OWN
from kernels.test_elf_image import Part, Symbol, image
from kmeter.kernels.cubin import kernels_of_cubin
from kmeter.kernels.elf_image import BrokenFileError
from kmeter.model.compiled_kernel import CompiledKernel

_NO_BITS = 8
REGISTERS, FRAME, STACK = 0x2F, 0x11, 0x12
MAX_THREADS, REQUIRED, CLUSTER, RANK, BARRIERS = 0x05, 0x10, 0x3D, 0x3F, 0x4C
NEW_SM_90, OLD_SM_20 = 90 << 8, 20


def words(kind: int, *values: int) -> bytes:
    """An attribute with a payload."""
    return struct.pack(f"<BBH{len(values)}I", 4, kind, 4 * len(values), *values)


def short(kind: int, value: int) -> bytes:
    """An attribute whose value is a byte."""
    return struct.pack("<BBH", 2, kind, value)


def code(name: str, registers: int = 0, barriers: int = 0) -> Part:
    return Part(f".text.{name}", bytes(16), info=registers << 24, flags=barriers << 20 | 6)


def only(raw: bytes, suffix: str = "") -> CompiledKernel:
    """The one kernel of an image."""
    (kernel,) = kernels_of_cubin(raw, suffix)
    return kernel


def test_an_image_of_cuda_4_has_its_registers_in_its_codes_section() -> None:
    raw = image(
        [code("k", 21, 3), Part(".nv.shared.k", kind=_NO_BITS, size=48)],
        [Symbol("k")],
        bits=32,
        flags=0x140000 | OLD_SM_20,
        abi=2,
    )
    assert only(raw) == CompiledKernel(
        "k", "sm_20", 21, static_shared_bytes=48, barriers=3, said_by="cubin"
    )


def test_the_new_abi_says_all_in_lists_of_attributes() -> None:
    totals = words(REGISTERS, 1, 40) + words(FRAME, 1, 16) + words(STACK, 1, 64)
    own = (
        words(MAX_THREADS, 128, 2, 1) + words(REQUIRED, 64, 2, 1) + words(CLUSTER, 2, 1, 1)
        + words(RANK, 8) + short(BARRIERS, 5)
    )  # fmt: skip
    parts = [
        code("k", 99, 99),
        Part(".nv.info", totals),
        Part(".nv.info.k", own),
        Part(".nv.shared.k", kind=_NO_BITS, size=1024 + 512),
    ]
    found = only(image(parts, [Symbol("k")], flags=NEW_SM_90, abi=8))
    assert found == CompiledKernel(
        "k", "sm_90", 40, 512, None, 5, 16, 64, None, None, 256, (64, 2, 1), None, (2, 1, 1), 8, "cubin"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "suffix", "extra", "architecture"),
    [
        (NEW_SM_90, "", [], "sm_90"),
        (NEW_SM_90, "f", [], "sm_90f"),
        (NEW_SM_90, "", [Part(".note.nv.tkinfo", b"ptxas -arch sm_90a -O3")], "sm_90a"),
        (NEW_SM_90, "", [Part(".note.nv.tkinfo", b"ptxas -arch sm_80 -O3")], "sm_90"),
        (NEW_SM_90, "", [Part(".nv.compat", b"\x02\x09\x01")], "sm_90a"),
        (NEW_SM_90, "", [Part(".nv.compat", b"\x02")], "sm_90"),
        (NEW_SM_90, "", [Part(".nv.compat", kind=_NO_BITS, size=2**60)], "sm_90"),
        (0xFF00, "", [], "sm_255"),
    ],
)
def test_the_architectures_letter(
    flags: int, suffix: str, extra: Sequence[Part], architecture: str
) -> None:
    raw = image([code("k"), *extra], [Symbol("k")], flags=flags, abi=8)
    assert only(raw, suffix).architecture == architecture


def test_without_symbols_a_kernel_is_what_has_parameters() -> None:
    raw = image([code("k"), code("helper"), Part(".nv.constant0.k", bytes(8))])
    assert only(raw).name == "k"


def test_an_object_is_not_linked_and_its_shared_memory_has_no_reserve() -> None:
    shared = Part(".nv.shared.k", kind=_NO_BITS, size=2000)
    found = only(image([code("k"), shared], [Symbol("k")], kind=1, flags=NEW_SM_90, abi=8))
    assert found.static_shared_bytes == 2000
    assert "not linked yet" in found.note


def test_numbers_that_nothing_can_have_are_unknown() -> None:
    big = 2**32 - 1
    totals = words(REGISTERS, 1, 256) + words(FRAME, 1, big) + words(STACK, 2**31, 5)
    own = words(MAX_THREADS, big, big, big) + words(REQUIRED, 1, 2) + words(RANK) + words(BARRIERS)
    parts = [
        code("k"),
        Part(".nv.info", totals),
        Part(".nv.info.k", own),
        Part(".nv.shared.k", kind=_NO_BITS, size=2**63),
    ]
    found = only(image(parts, [Symbol("k")], flags=NEW_SM_90, abi=8))
    assert found == CompiledKernel("k", "sm_90", barriers=0, said_by="cubin")


@pytest.mark.parametrize("size", [1, 5, 2**16 - 1])
def test_a_payload_that_does_not_fit_is_refused(size: int) -> None:
    broken = Part(".nv.info.k", struct.pack("<BBH", 4, RANK, size))
    with pytest.raises(BrokenFileError, match="attributes is cut off"):
        kernels_of_cubin(image([code("k"), broken], [Symbol("k")]))


def test_sections_of_one_name_are_one_kernel() -> None:
    attributes = Part(".nv.info.k", short(1, 1) * 25_000)
    raw = image([attributes, *(code("k") for _ in range(3000))], [Symbol("k")])
    assert only(raw).name == "k"


def test_sections_that_share_their_bytes_are_refused() -> None:
    attributes = Part(".nv.info.k0", short(1, 1) * 25_000)
    shared = [Part(f".nv.info.k{i}", size=100_000, offset=64) for i in range(1, 500)]
    with pytest.raises(BrokenFileError, match="sections overlap"):
        kernels_of_cubin(image([attributes, *shared]))


def test_an_image_of_the_host_is_refused() -> None:
    with pytest.raises(BrokenFileError, match="for no GPU"):
        kernels_of_cubin(image([], machine=62))


def test_an_image_that_is_cut_off_anywhere_is_refused() -> None:
    raw = (OWN / "cubin/118/plain.sm_61.cubin").read_bytes()
    for end in range(0, len(raw), 61):
        with pytest.raises(BrokenFileError):
            kernels_of_cubin(raw[:end])
