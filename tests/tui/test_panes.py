"""Every pane as people see it, small and large, from the session of an H200 that comes along."""

import re

import pytest
from screens import picture, screen
from snapshots import check_snapshot

from kmeter.tui import PANES
from kmeter.tui.themes import THEMES

SIZES = ((80, 24), (160, 48))
TRIAD_S, PRODUCT_S = 15, 50
"""Seconds into the session at which those loads run."""


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize("pane", PANES)
def test_a_pane(pane: str, size: tuple[int, int]) -> None:
    seconds = TRIAD_S if pane == "roofline" else PRODUCT_S
    check_snapshot(f"tui/{pane}-{size[0]}x{size[1]}.txt", screen(pane, size, seconds))


def test_the_same_recording_gives_the_same_frames() -> None:
    first, second = (screen("live", (100, 30), 77) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("pane", PANES)
@pytest.mark.parametrize("size", [(40, 12), (220, 60)], ids=["40x12", "220x60"])
def test_no_size_is_too_small_or_large(pane: str, size: tuple[int, int]) -> None:
    text = screen(pane, size, PRODUCT_S)
    assert "kmeter" in text
    assert max(len(line) for line in text.splitlines()) <= size[0]


@pytest.mark.parametrize("pane", PANES)
def test_ascii_alone(pane: str) -> None:
    text = screen(pane, (80, 24), PRODUCT_S, is_ascii=True)
    assert text.isascii(), sorted({sign for sign in text if not sign.isascii()})


def test_ascii_is_readable() -> None:
    check_snapshot("tui/live-ascii.txt", screen("live", (80, 24), PRODUCT_S, is_ascii=True))


def test_help_names_the_keys() -> None:
    check_snapshot("tui/help.txt", screen("live", (80, 24), PRODUCT_S, "question_mark"))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize("pane", PANES)
def test_a_pane_as_a_picture(pane: str, size: tuple[int, int]) -> None:
    """With its colours, which text does not tell."""
    seconds = TRIAD_S if pane == "roofline" else PRODUCT_S
    check_snapshot(f"tui/{pane}-{size[0]}x{size[1]}.svg", picture(pane, size, seconds))


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
def test_themes_differ_in_colours_alone(theme: str) -> None:
    def coloured(text: str) -> str:
        return re.sub(r"#[0-9a-f]{6}", "", re.sub(r"(?s)<style>.*</style>", "", text))

    first = picture("live", (80, 24), PRODUCT_S)
    assert re.findall(
        r">([^<]+)</text>", coloured(picture("live", (80, 24), PRODUCT_S, theme))
    ) == (re.findall(r">([^<]+)</text>", coloured(first)))
