"""The application: what is shown, and who tells the panes of it."""

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import ClassVar, cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.filter import Monochrome
from textual.widgets import Footer, Input, TabbedContent, Tabs

from kmeter.errors import KmeterError
from kmeter.files import write_whole
from kmeter.model.card import Identity
from kmeter.model.history import History
from kmeter.model.live import LiveGpu, Moment
from kmeter.tui import PANES, settings
from kmeter.tui.cards import Cards
from kmeter.tui.drawing import AsciiFilter, Colourless, View
from kmeter.tui.help import HelpScreen
from kmeter.tui.messages import Read, Unread
from kmeter.tui.panes import Pane
from kmeter.tui.picture import picture_of
from kmeter.tui.player import Player
from kmeter.tui.poller import Poller
from kmeter.tui.start import Start
from kmeter.tui.status import gpu_text, live_text, session_text, status_line
from kmeter.tui.tabs import QuietTab, name_tabs, tab_name
from kmeter.tui.themes import THEMES
from kmeter.views.live_history import duration

TICK_S = 0.1
_ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
]
_STALE_INTERVALS, _STALE_S = 3, 2.0
"""A reading that is so late is said to be missing."""


class KmeterApp(App[None]):
    """kmeter's dashboard."""

    TITLE = "kmeter"
    CSS_PATH = "app.tcss"
    AUTO_FOCUS = None  # it would open the pane of the first field
    HORIZONTAL_BREAKPOINTS = [(0, "narrow"), (76, "wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(f"{n},f{n}", f"pane('{name}')", name, show=False)
            for n, name in enumerate(PANES, 1)
        ),
        Binding("g", "other_gpu(1)", "GPU"),
        Binding("G", "other_gpu(-1)", "GPU before", show=False),
        Binding("space", "pause", "pause"),
        Binding("left", "seek(-10)", "back", show=False),
        Binding("right", "seek(10)", "on", show=False),
        Binding("home", "seek(-1000000)", "to the beginning", show=False),
        Binding("plus,equals_sign", "faster(1)", "faster", show=False),
        Binding("minus", "faster(-1)", "slower", show=False),
        Binding("s", "picture", "SVG"),
        Binding("t", "other_theme", "theme"),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start_with = start
        self.history = History()
        self.order = start.order
        self.is_ascii = start.is_ascii
        self.player = Player(start.moments, start.speed) if start.moments else None
        self._poller: Poller | None = None
        self.cards = Cards()
        self._chosen: Identity | None = None
        self._is_held = False
        self.points = list(start.points)
        """Kernels of saved benchmarks, and those that were timed here."""
        self.failure: KmeterError | None = None
        """Why it ended by itself."""
        self.parting_words = ""
        """What is to be said when the terminal is the user's again."""
        self._trouble = ""
        self._read_at = time.monotonic()
        path = start.settings_file
        self._settings, self._settings_trouble = (
            settings.load(path) if path is not None else (settings.Settings(), "")
        )
        if start.interval_s is not None:
            self._settings.interval_s = start.interval_s
        for theme in THEMES:
            self.register_theme(theme)
        self._choose_filters()
        self._status_view = View("kmeter", id="status")
        self._tabs = TabbedContent(initial=self._first_pane())
        self._panes = {name: _pane(name) for name in PANES}

    def _choose_filters(self) -> None:
        """Textual turns NO_COLOR into grey; here it means no colour codes at all."""
        if self.no_color:
            self._filters = [f for f in self._filters if not isinstance(f, Monochrome)]
            self._filters.append(Colourless())
        if self.is_ascii:
            self._filters.append(AsciiFilter())

    # ---- what is on the screen ------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield self._status_view
        with self._tabs:
            for name in PANES:
                with QuietTab(tab_name(name), id=name):
                    yield self._panes[name]
        yield Footer()

    def _first_pane(self) -> str:
        wanted = self.start_with.pane or self._settings.pane
        return wanted if wanted in PANES else "live"

    def on_mount(self) -> None:
        self.query_one(Tabs).can_focus = False  # left and right move in a session
        for one in self.query(Input):
            one.cursor_blink = False  # the same state, the same picture
        self._leave_on_signals()
        known = {theme.name for theme in THEMES} | set(self.available_themes)
        self.theme = self._settings.theme if self._settings.theme in known else "kmeter"
        if self._settings_trouble:
            self.notify(self._settings_trouble, severity="warning", timeout=10, markup=False)
        if self.player is not None:
            self._take(self.player.seek(0.0))
        else:
            self._poll()
        self.run_worker(self._find_cards, thread=True, exit_on_error=False)
        self.set_interval(TICK_S if self.player is not None else _STALE_S / 2, self._tick)
        self._show_status()

    def panes(self) -> list[Pane]:
        """Every pane, shown or not."""
        return list(self._panes.values())

    def _shown_pane(self) -> Pane | None:
        return self._panes.get(self._tabs.active)

    # ---- readings -------------------------------------------------------------------------

    def _poll(self) -> None:
        self._poller = Poller(
            self.start_with.targets,
            self._settings.interval_s,
            [lambda moment: self.post_message(Read(moment)), *self.start_with.listeners],
            lambda error, is_final: self.post_message(Unread(error, is_final=is_final)),
            self.start_with.record,
        )
        self._poller.start()

    def on_read(self, message: Read) -> None:
        self._read_at, self._trouble = time.monotonic(), ""
        if self._is_held:
            self.history.add(message.moment)
        else:
            self._take([message.moment])

    def on_unread(self, message: Unread) -> None:
        self._trouble = str(message.error)
        if message.is_final and self.start_with.needs_gpu:
            self.failure = message.error
            self.leave()
            self.exit()
        elif message.is_final:
            self._trouble = "no GPU is read"  # the pane has the room for why
            for pane in self.panes():
                pane.show_unread(str(message.error))
        self._show_status()

    def tick(self, seconds: float) -> None:
        """So many seconds of a session go by."""
        if self.player is not None:
            self._take(self.player.advance(seconds))
            self._show_status()

    def _tick(self) -> None:
        if self.player is not None and self.start_with.is_ticking:
            self.tick(TICK_S)
        elif self.player is None and self._is_stale:
            self._show_status()

    def _take(self, moments: Sequence[Moment]) -> None:
        for moment in moments:
            self.history.add(moment)
        if moments:
            self._show_history()

    def _show_history(self) -> None:
        """Only the pane that can be seen is drawn; another one when it is."""
        pane = self._shown_pane()
        if pane is not None:
            pane.show_history(self.history)
        self._show_status()

    def on_tabbed_content_tab_activated(self) -> None:
        name_tabs(self._tabs, self.size.width, is_ascii=self.is_ascii)
        self._show_history()
        pane = self._shown_pane()
        if pane is not None:
            pane.take_focus()

    def on_resize(self) -> None:
        name_tabs(self._tabs, self.size.width, is_ascii=self.is_ascii)
        self.call_after_refresh(self._show_history)

    # ---- which GPU ------------------------------------------------------------------------

    def chosen_of(self, moment: Moment) -> LiveGpu:
        """The GPU that is looked at; the first where none was chosen."""
        return next((g for g in moment.gpus if g.identity == self._chosen), moment.gpus[0])

    def _find_cards(self) -> None:
        """In a thread: a driver may take its time."""
        moments = self.start_with.moments
        names = [gpu.identity.name or "" for gpu in moments[0].gpus] if moments else None
        self.cards.find(names)
        self.call_from_thread(self._show_card)

    def _show_card(self) -> None:
        moment = self.history.last
        identity = self.chosen_of(moment).identity if moment and moment.gpus else self._chosen
        card = self.cards.card_of(identity)
        reason = "" if card else self.cards.reason or "nothing is known of this GPU"
        for pane in self.panes():
            pane.show_card(card, reason)

    # ---- keys -----------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        self._tabs.active = name

    def action_other_gpu(self, step: int) -> None:
        moment = self.history.last
        if moment is None or len(moment.gpus) < 2:
            return
        identities = [gpu.identity for gpu in moment.gpus]
        at = identities.index(self.chosen_of(moment).identity)
        self._chosen = identities[(at + step) % len(identities)]
        self._show_card()
        self._show_history()

    def action_pause(self) -> None:
        if self.player is not None:
            self.player.is_paused = not self.player.is_paused
        else:
            self._is_held = not self._is_held
        self._show_history()

    def action_seek(self, seconds: int) -> None:
        if self.player is None:
            return
        moments = self.player.seek(self.player.at_s + seconds)
        self.history.clear()
        self._take(moments)

    def action_faster(self, steps: int) -> None:
        if self.player is not None:
            self.player.faster(steps)
            self._show_status()

    def action_other_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.notify(f"theme {self.theme}", timeout=2)

    def action_picture(self) -> None:
        """Save what is on the screen as an SVG, beside where kmeter was started."""
        path = Path(time.strftime("kmeter-%Y%m%d-%H%M%S.svg"))
        try:
            write_whole(str(path), picture_of(self))
        except KmeterError as error:
            self.notify(f"no picture: {error}", severity="error", markup=False)
        else:
            self.notify(f"saved {path}", timeout=4, markup=False)

    def action_help(self) -> None:
        self.push_screen(HelpScreen())

    async def action_quit(self) -> None:
        self.leave()
        self.exit()

    def _leave_on_signals(self) -> None:
        """An ordinary end for what else would leave the terminal as it is."""
        for ending in _ENDING_SIGNALS:
            with suppress(
                NotImplementedError, ValueError, RuntimeError
            ):  # not in every thread or system
                asyncio.get_running_loop().add_signal_handler(ending, self._end_by_signal, ending)

    def _end_by_signal(self, ending: int) -> None:
        self.leave()
        self.exit(return_code=128 + ending)

    def leave(self) -> None:
        """Stop reading, and remember what is to be remembered."""
        if self._poller is not None:
            self._poller.stop()
        for pane in self.panes():
            pane.leave()
        path = self.start_with.settings_file
        if path is not None:
            self._settings.theme = self.theme
            self._settings.pane = self._tabs.active or "live"
            try:
                settings.save(path, self._settings)
            except KmeterError as error:
                self.parting_words = f"the dashboard's settings are not kept: {error}"

    # ---- the line above -------------------------------------------------------------------

    @property
    def _is_stale(self) -> bool:
        late = time.monotonic() - self._read_at
        return late > max(_STALE_S, _STALE_INTERVALS * self._settings.interval_s)

    def _show_status(self) -> None:
        if self._status_view.is_mounted:
            self._status_view.draw(self._status())

    def _status(self) -> Text:
        player, start, moment = self.player, self.start_with, self.history.last
        return status_line(
            gpu_text(moment, self.chosen_of(moment)) if moment and moment.gpus else "",
            session_text(player, start.title)
            if player
            else live_text(
                self._settings.interval_s, start.record, start.served_at, is_held=self._is_held
            ),
            self._trouble or self._lateness(),
            is_ascii=self.is_ascii,
        )

    def _lateness(self) -> str:
        is_late = self.player is None and self._is_stale and not self._trouble
        return f"no reading for {duration(time.monotonic() - self._read_at)}" if is_late else ""


def _pane(name: str) -> Pane:
    kind = getattr(import_module(f"kmeter.tui.panes.{name}"), name.capitalize())
    return cast("Pane", kind(id=f"pane-{name}"))
