"""Which card a name means: what drivers report and users type, and what must not be guessed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmeter.errors import ExitCode, UnknownTargetError
from kmeter.sources import catalogue, open_device


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("h100-sxm", "h100-sxm"),
        ("H100 SXM", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"),
        ("2070", "rtx-2070"),
        ("Tesla V100-SXM2-16GB", "v100-sxm-16gb"),
        ("Tesla T4", "t4"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("Quadro RTX 6000", "quadro-rtx-6000"),
        ("h200", "h200"),
        ("h200-nvl", "h200-nvl"),
        ("b200", "b200"),
        ("gb200", "gb200"),
        ("b300", "b300"),
        ("gb300", "gb300"),
    ],
)
def test_name_finds_its_card(name: str, gpu_id: str) -> None:
    assert open_device(name).target == f"catalogue:{gpu_id}"


@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("h100", ["h100-nvl", "h100-pcie", "h100-sxm"]),
        ("a100", ["a100-pcie-40gb", "a100-sxm-80gb"]),
        ("rtx 6000", ["quadro-rtx-6000", "rtx-6000-ada", "rtx-pro-6000"]),
        ("3080", ["rtx-3080-10gb", "rtx-3080-12gb"]),
    ],
)
def test_ambiguous_name_lists_the_candidates(name: str, some: list[str]) -> None:
    with pytest.raises(UnknownTargetError) as error:
        open_device(name)
    assert f"{name!r} could be" in str(error.value)
    assert all(gpu_id in str(error.value) for gpu_id in some)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("h10", "h100-sxm"),
        ("h1000", "h100-sxm"),
        ("h100☃", "h100-sxm"),
        ("../h100-sxm", "h100-sxm"),
        ("4050", "rtx-4050-laptop"),
        ("4090 ti", "rtx-4090"),
        ("rtx 5090 d", "rtx-5090"),
        ("nonsense", "kmeter gpus lists every card"),
        ("", "kmeter gpus lists every card"),
        ("../../../no/such/file", "kmeter gpus lists every card"),
        ("４０９０", "kmeter gpus lists every card"),
        ("catalogue:", "kmeter gpus lists every card"),
        ("h" * 10_000, "kmeter gpus lists every card"),
    ],
)
def test_wrong_name_answers_with_the_nearest(name: str, near: str) -> None:
    started = time.perf_counter()
    with pytest.raises(UnknownTargetError) as error:
        open_device(name)
    assert time.perf_counter() - started < 1
    assert near in str(error.value)
    assert error.value.exit_code == ExitCode.USAGE
    assert len(str(error.value)) < 200


def answer(text: str) -> str:
    try:
        return catalogue.open_device(text).target
    except UnknownTargetError as error:
        return str(error)


@given(st.text())
def test_any_text_is_a_card_or_one_line(text: str) -> None:
    assert answer(text).isprintable()
    assert len(answer(text)) < 250
