"""What a pane shows when it is given more: compiled kernels, roofs of nearer memories, no GPU at all."""

import asyncio
from ctypes.util import find_library
from pathlib import Path

import pytest
from screens import at_work, screen, text_of
from textual.pilot import Pilot

from kmeter.bench.events import Loaded, Note
from kmeter.kernels.files import kernels_of
from kmeter.model.benchmark import Environment
from kmeter.tui.app import KmeterApp
from kmeter.tui.panes.bench import Bench
from kmeter.tui.panes.ceilings import Ceilings
from kmeter.tui.start import Start

BOUNDS = Path(__file__).parents[1] / "data" / "kernels" / "cubin" / "130" / "bounds.sm_80.cubin"


def test_a_compiled_kernel_fills_in_the_form() -> None:
    kernels = kernels_of(BOUNDS).kernels
    text = screen("occupancy", (100, 30), 0, kernels=kernels)
    assert "1 of 5: max_1(float*, int), sm_80, blocks of at most 1" in text
    assert "1 threads a block, " in text


def test_n_takes_the_next_kernel_and_capital_n_the_one_before() -> None:
    kernels = kernels_of(BOUNDS).kernels
    text = screen("occupancy", (100, 30), 0, "n", "n", kernels=kernels)
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


def test_the_samples_spread_while_they_are_taken() -> None:
    """The drawing grows with what the process tells, before the row is finished."""
    found: list[str] = []

    async def act(app: KmeterApp, pilot: Pilot[None]) -> None:
        pane = next(pane for pane in app.panes() if isinstance(pane, Bench))
        pane.take(Loaded(Environment(), []))
        for slowest in (1.2e-3, 2e-3):
            samples = tuple(1e-3 + n * (slowest - 1e-3) / 63 for n in range(64))
            pane.take(Note("copy", "sampling", 64, 1.1e-3, 0.02, samples))
            await pilot.pause()
            found.append(text_of(app))

    at_work(act, pane="bench")
    assert "samples of copy so far" in found[0]
    assert "1 ms" in found[0]
    assert "1.2 ms" in found[0]
    assert "1.99 ms" in found[1]


def test_all_ceilings_are_asked_for_by_a_key_of_their_own() -> None:
    asked: list[bool] = []

    async def act(app: KmeterApp, pilot: Pilot[None]) -> None:
        pane = next(pane for pane in app.panes() if isinstance(pane, Ceilings))
        for key in ("R", "r"):
            await pilot.press(key)
            await pilot.pause()
            asked.append(pane._is_quick)

    at_work(act, pane="ceilings")
    assert asked == [False, True]
