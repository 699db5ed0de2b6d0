"""What a pane shows when it is given more: compiled kernels, roofs of nearer memories, no GPU at all."""

import asyncio
from ctypes.util import find_library
from pathlib import Path

import pytest
from screens import screen, text_of

from kmeter.kernels.files import kernels_of
from kmeter.tui.app import KmeterApp
from kmeter.tui.start import Start

BOUNDS = Path(__file__).parents[1] / "data" / "kernels" / "cubin" / "130" / "bounds.sm_80.cubin"


def test_a_compiled_kernel_fills_in_the_form() -> None:
    kernels = kernels_of(BOUNDS).kernels
    text = screen("occupancy", (100, 30), 0, kernels=kernels)
    assert "1 of 5: max_1(float*, int), sm_80, blocks of at most 1" in text
    assert "1 threads a block, " in text


def test_n_takes_the_next_kernel_and_capital_n_the_one_before() -> None:
    kernels = kernels_of(BOUNDS).kernels
    text = screen("occupancy", (100, 30), 0, "escape", "n", "n", kernels=kernels)
    assert "3 of 5: max_256_min_4(float*, int)" in text
    back = screen("occupancy", (100, 30), 0, "escape", "N", kernels=kernels)
    assert "5 of 5: free_bounds(float*, int), sm_80, no launch bounds" in back


def test_without_kernels_no_line_tells_of_one() -> None:
    text = screen("occupancy", (80, 24), 0)
    assert "n kernel" not in text
    assert text.splitlines()[3].lstrip().startswith("cc or card")


def test_the_roofs_of_l2_and_l1_come_and_go() -> None:
    plain, levels, again = (
        screen("roofline", (100, 30), 50, *keys) for keys in ((), ("v",), ("v", "v"))
    )
    assert "L2 14.04 TB/s" in levels
    assert "L1 33.2" in levels
    assert "L2" not in plain
    assert again == plain


@pytest.mark.skipif(find_library("cuda") is not None, reason="this machine has a driver")
def test_where_no_gpu_can_be_read_the_pane_says_why() -> None:
    found: list[str] = []

    async def run() -> None:
        app = KmeterApp(Start(pane="live"))
        async with app.run_test(size=(80, 16)) as pilot:
            for _ in range(100):
                await pilot.pause(0.05)
                if "no GPU is read: " in text_of(app):
                    break
            found.append(text_of(app))

    asyncio.run(run())
    assert "no NVIDIA driver" in " ".join(found[0].split())
