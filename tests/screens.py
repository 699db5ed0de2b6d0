"""The dashboard on a screen that only a test sees, at a moment of the session that comes along."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from textual.pilot import Pilot

from kmeter.model.live import Moment
from kmeter.tui.app import KmeterApp
from kmeter.tui.demo import demo_session
from kmeter.tui.picture import picture_of
from kmeter.tui.start import Start

Act = Callable[[KmeterApp, Pilot[None]], Awaitable[None]]


def text_of(app: KmeterApp) -> str:
    """What can be read on the screen."""
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in row).rstrip() for row in rows) + "\n"


def at_work(
    act: Act,
    *,
    pane: str = "live",
    size: tuple[int, int] = (80, 24),
    moments: Sequence[Moment] | None = None,
    **start: Any,
) -> None:
    """Run the dashboard on a session that stands still, and act in it."""

    async def run() -> None:
        shown = demo_session() if moments is None else moments
        app = KmeterApp(Start(pane=pane, moments=shown, title="demo:", is_ticking=False, **start))
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await act(app, pilot)
            await pilot.pause()

    asyncio.run(run())


async def settled(app: KmeterApp, pilot: Pilot[None]) -> None:
    """Wait for what threads find, and for what is drawn after it."""
    await app.workers.wait_for_complete()
    await pilot.pause()


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    """Keys one after another."""
    for key in keys:
        await pilot.press(key)
    await pilot.pause()


def screen(pane: str, size: tuple[int, int], seconds: float, *keys: str, **start: Any) -> str:
    """The text of a pane, so far into the session, after some keys."""
    found: list[str] = []

    async def act(app: KmeterApp, pilot: Pilot[None]) -> None:
        app.action_seek(int(seconds))
        await pressed(pilot, *keys)
        found.append(text_of(app))

    at_work(act, pane=pane, size=size, **start)
    return found[0]


def picture(pane: str, size: tuple[int, int], seconds: float, theme: str = "kmeter") -> str:
    """The SVG of a pane, so far into the session."""
    found: list[str] = []

    async def act(app: KmeterApp, pilot: Pilot[None]) -> None:
        app.theme = theme
        app.action_seek(int(seconds))
        await pilot.pause()
        found.append(picture_of(app))

    at_work(act, pane=pane, size=size)
    return found[0]
