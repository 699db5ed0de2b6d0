"""The dashboard as its users drive it: keys, sessions, several GPUs, settings."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from screens import at_work, pressed, screen, settled, text_of
from textual.pilot import Pilot
from textual.widgets import Input, TabbedContent

from kmeter.model.card import Fact
from kmeter.model.live import Moment
from kmeter.model.roofline import KernelPoint
from kmeter.tui import PANES, settings
from kmeter.tui.app import KmeterApp
from kmeter.tui.demo import demo_session
from kmeter.tui.panes.bench import Bench
from kmeter.tui.themes import THEMES

P = Pilot[None]


def several(count: int, lost_after: int | None = None) -> Sequence[Moment]:
    """The session as if so many GPUs had been watched; the second may be lost on the way."""
    moments = []
    for number, moment in enumerate(demo_session()):
        one = moment.gpus[0]
        gpus = [
            one._replace(identity=one.identity._replace(ordinal=i, nvml_index=i, uuid=f"GPU-{i}"))
            for i in range(count)
        ]
        if lost_after is not None and number >= lost_after:
            gone = dict.fromkeys(one.facts, Fact(reason="the GPU is lost"))
            gpus[1] = gpus[1]._replace(facts=gone, processes=())
        moments.append(moment._replace(gpus=tuple(gpus)))
    return moments


def test_digits_open_panes() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        for key, name in enumerate(PANES, 1):
            await pressed(pilot, "escape", str(key))
            assert app.query_one(TabbedContent).active == name

    at_work(act)


def test_a_session_is_paused_moved_and_sped_up() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        assert app.player is not None
        app.tick(30)
        assert app.player.at_s == 30
        await pressed(pilot, "space")
        app.tick(10)
        assert app.player.at_s == 30
        assert "paused 0:30" in text_of(app)
        await pressed(pilot, "right", "right", "left", "space", "plus")
        assert app.player.at_s == 40
        app.tick(5)
        assert app.player.at_s == 50
        assert "×2" in text_of(app)
        await pressed(pilot, "home")
        assert app.player.at_s == 0
        app.tick(1000)
        assert app.player.is_over
        assert "over 2:02/2:02" in text_of(app)

    at_work(act)


def test_a_seek_back_forgets_what_came_later() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        app.action_seek(100)
        later = app.history.seconds
        app.action_seek(-60)
        assert app.history.seconds < later
        assert app.history.seconds == pytest.approx(40, abs=1.5)

    at_work(act)


def test_the_live_dot_follows_the_load() -> None:
    text = screen("roofline", (100, 30), 15)
    assert "A now: 0.1669" in text
    assert "memory-bound" in text
    product = screen("roofline", (100, 30), 50)
    assert "fp16 tensor" in product


def test_another_data_type_and_measured_roofs() -> None:
    text = screen("roofline", (100, 30), 15, "d", "d", "m")
    assert "fp64" in text
    assert "(measured)" in text


def test_saved_benchmarks_are_points_to_select() -> None:
    points = [KernelPoint("axpy", 0.25, 1e12, 4e12), KernelPoint("gemm", 100.0, 5e13, 5e11)]
    text = screen("roofline", (100, 30), 15, "n", "n", points=points)
    assert "C gemm: 100 FLOP/byte, 50 TFLOP/s, 74.7 % of the roof, compute-bound" in text


def test_zoom_and_pan_and_back() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        app.action_seek(15)
        await pilot.pause()
        whole = text_of(app)
        await pressed(pilot, "right_square_bracket", "up", "shift+left")
        assert text_of(app) != whole
        await pressed(pilot, "0")
        assert text_of(app) == whole

    at_work(act, pane="roofline", size=(100, 30))


def test_eight_gpus_and_one_is_lost() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        app.action_seek(60)
        await pressed(pilot, "g")
        text = text_of(app)
        assert "GPU 1 of 8" in text
        assert "the GPU is lost" in text
        await pressed(pilot, "G", "G")
        assert "GPU 7 of 8" in text_of(app)

    at_work(act, moments=several(8, lost_after=30), size=(120, 40))


def test_sixteen_gpus_on_a_small_screen() -> None:
    text = screen("live", (40, 12), 20, moments=several(16))
    assert "of 16" in text


def test_it_is_resized_while_it_runs() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        for size in ((40, 12), (200, 50), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            app.tick(3)
            await pilot.pause()
            assert max(map(len, text_of(app).splitlines())) <= size[0]

    for pane in PANES:
        at_work(act, pane=pane)


# ---- panes ----------------------------------------------------------------------------------


def test_occupancy_follows_what_is_typed() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        field = app.query_one("#field-regs", Input)
        field.focus()
        await pressed(pilot, "backspace", "backspace", "6", "4")
        assert "50 % occupancy" in text_of(app)
        await pressed(pilot, "backspace", "backspace", "9", "9", "9")
        assert "at most 255 registers" in text_of(app)
        await pressed(pilot, "backspace", "escape", "right", "up")
        assert app.query_one("#field-block", Input).value == "288"
        assert field.value == "96"

    at_work(act, pane="occupancy", size=(100, 40))


def test_a_map_of_shared_memory() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        await pressed(pilot, "escape", "m", "down", "down")
        assert app.query_one("#field-dynamic", Input).value == "8KiB"
        assert "shared memory per block in KiB down" in text_of(app)

    at_work(act, pane="occupancy", size=(100, 80))


def test_occupancy_of_another_card() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        app.query_one("#field-target", Input).value = "8.6"
        await pilot.pause()
        assert "on 8.6 (Ampere)" in text_of(app)
        app.query_one("#field-target", Input).value = "nothing of that name"
        await pilot.pause()
        assert "on 8.6 (Ampere)" in text_of(app), "the last launch stays"

    at_work(act, pane="occupancy", size=(100, 40))


def test_device_is_filtered_and_copied() -> None:
    copied: list[str] = []

    async def act(app: KmeterApp, pilot: P) -> None:
        app.copy_to_clipboard = copied.append  # type: ignore[method-assign, assignment]
        await pressed(pilot, "slash", *"warp", "space", *"size")
        assert "warps per SM" not in text_of(app)
        await pressed(pilot, "escape", "down", "c")

    at_work(act, pane="device", size=(100, 40))
    assert copied == ["32"]


def test_ceilings_need_a_card_of_this_machine() -> None:
    assert "on a card of this machine" in screen("ceilings", (80, 24), 5, "r")


def test_a_benchmark_runs_and_can_be_stopped(tmp_path: Path) -> None:
    file = tmp_path / "adds.py"
    file.write_text(
        "import numpy as np, kmeter\n"
        "def args():\n"
        "    return np.random.rand(4096), np.random.rand(4096)\n"
        "for name in ('one', 'two'):\n"
        "    kmeter.benchmark(name, args=args, ref=np.add, bytes_per_call=98304, flops_per_call=4096)"
        "(lambda a, b: np.add(a, b))\n"
    )

    async def act(app: KmeterApp, pilot: P) -> None:
        app.query_one("#file", Input).value = str(file)
        await pressed(pilot, "enter")
        await settled(app, pilot)
        assert "2 of 2 rows" in text_of(app)
        assert "samples of two" in text_of(app)
        assert [point.name for point in app.points] == ["one", "two"]
        await pressed(pilot, "r", "x")
        await settled(app, pilot)
        assert "stopped" in text_of(app)

    at_work(act, pane="bench", size=(100, 30))


@pytest.mark.parametrize("name", ["none.py", "x" * 400, "~nobody-of-that-name/x", "a\0b"])
def test_a_file_that_is_none(name: str) -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        app.query_one("#file", Input).value = name
        await pressed(pilot, "enter")
        assert "there is no file" in text_of(app)

    at_work(act, pane="bench")


# ---- what is remembered ---------------------------------------------------------------------


def test_theme_and_pane_are_remembered(tmp_path: Path) -> None:
    path = tmp_path / "kmeter" / "tui.json"

    async def act(app: KmeterApp, pilot: P) -> None:
        await pressed(pilot, "t", "3", "q")

    at_work(act, settings_file=path)
    found, trouble = settings.load(path)
    assert not trouble
    assert (found.theme, found.pane) == (THEMES[1].name, "roofline")


def test_a_long_interval_leaves_settings_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    settings.save(path, settings.Settings(theme="kmeter-light", interval_s=7200.0))
    found, trouble = settings.load(path)
    assert not trouble
    assert (found.theme, found.interval_s) == ("kmeter-light", settings.MOST_INTERVAL_S)


@pytest.mark.parametrize("text", ["", "{", '{"theme": 3}', '{"interval_s": -1}', "[" * 9999])
def test_broken_settings_are_told_and_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tui.json"
    path.write_text(text)

    async def act(app: KmeterApp, pilot: P) -> None:
        (told,) = app._notifications
        assert "is ignored" in told.message
        assert app.theme == "kmeter"

    at_work(act, settings_file=path, size=(120, 30))


def test_a_picture_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def act(app: KmeterApp, pilot: P) -> None:
        await pressed(pilot, "s")

    at_work(act)
    (picture,) = tmp_path.glob("kmeter-*.svg")
    assert "NVIDIA" in picture.read_text("utf-8")


def test_keys_in_quick_succession_open_the_last_pane() -> None:
    async def act(app: KmeterApp, pilot: P) -> None:
        for _ in range(5):
            await pilot.press("f2", "f1", "f2", "f3")
            await pilot.pause()
            assert app.query_one(TabbedContent).active == "roofline"

    at_work(act)


def test_brackets_are_no_markup(tmp_path: Path) -> None:
    file = tmp_path / "odd [bold]file.py"
    file.write_text(
        "import kmeter\n"
        "@kmeter.benchmark('[red]x[/red] [/]', args=lambda: (1,), params={'n': ['[/b]']})\n"
        "def odd(a, n): return a\n"
    )
    named = [
        moment._replace(
            gpus=tuple(
                gpu._replace(identity=gpu.identity._replace(name="H[red]200[/]"))
                for gpu in moment.gpus
            )
        )
        for moment in demo_session()
    ]

    async def act(app: KmeterApp, pilot: P) -> None:
        assert "H[red]200[/]" in text_of(app)
        await pressed(pilot, "f3")
        assert "no recording of H[red]200[/]" in text_of(app)
        await pressed(pilot, "f6")
        app.query_one("#file", Input).value = str(file)
        await pressed(pilot, "enter")
        await settled(app, pilot)
        assert "[red]x[/red] [/]" in text_of(app)

    at_work(act, moments=named, size=(140, 40))


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "import os; os._exit(9)", "1 / 0", "x ="])
def test_a_file_that_ends_badly_is_told(tmp_path: Path, end: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(f"print('words of its own')\n{end}\n")

    async def act(app: KmeterApp, pilot: P) -> None:
        app.query_one("#file", Input).value = str(file)
        await pressed(pilot, "enter")
        await settled(app, pilot)
        assert not app.query_one("#pane-bench", Bench).is_working
        assert "bad.py" in text_of(app).splitlines()[4] or "ended" in text_of(app)

    at_work(act, pane="bench", size=(140, 40))


def test_leaving_ends_what_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(
        "import time, kmeter\n@kmeter.benchmark(args=lambda: ())\ndef slow(): time.sleep(0.2)\n"
    )
    processes: list[int] = []

    async def act(app: KmeterApp, pilot: P) -> None:
        app.query_one("#file", Input).value = str(file)
        await pressed(pilot, "enter")
        await pilot.pause(1.0)
        processes.append(app.query_one("#pane-bench", Bench)._client._process.pid)
        await pressed(pilot, "q")

    at_work(act, pane="bench")
    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)


@pytest.mark.parametrize("seed", range(2))
def test_any_keys_in_any_order(seed: int) -> None:
    keys = [
        "escape", "tab", "shift+tab", *"123456", "f1", "f2", "f3", "f5", "f6", "left", "right", "up", "down",
        "space", "t", "question_mark", "d", "m", "n", "left_square_bracket", "right_square_bracket",
        "g", "G", "home", "end", "plus", "minus", "c", "slash", "r", "x", "enter", "backspace", "ctrl+p",
    ]  # fmt: skip
    order = random.Random(seed)

    async def act(app: KmeterApp, pilot: P) -> None:
        for _ in range(80):
            await pilot.press(order.choice(keys))
        assert app.is_running

    at_work(act, size=(80, 24))


@pytest.mark.parametrize("pane", PANES)
def test_a_session_of_one_moment(pane: str) -> None:
    assert "over 0:00/0:00" in screen(pane, (80, 24), 5, moments=demo_session()[:1])
