"""What panes have in common that start long work, watch it and stop it."""

from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from kmeter.errors import KmeterError, words_of
from kmeter.tui.drawing import View
from kmeter.tui.panes import Pane


class WorkPane(Pane, can_focus=True):
    """The work goes on in a process of its own; a thread hears it, the screen is told each event."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "begin", "run"),
        Binding("x", "stop", "stop"),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._client: Any = None
        self._was_stopped = False
        self.count = 0
        """How many results are to come in all."""

    def compose(self) -> ComposeResult:
        yield View("", id="progress")
        with VerticalScroll(can_focus=False):
            yield View("", id="run")

    def take_focus(self) -> None:
        self.focus()

    @property
    def is_working(self) -> bool:
        """Whether something is being measured."""
        return self._client is not None

    def client(self) -> Any:
        """What is to be measured; raises KmeterError where nothing can be."""
        raise NotImplementedError

    def events_of(self, client: Any) -> Iterator[Any]:
        """What the measuring process tells."""
        raise NotImplementedError

    def take(self, event: Any) -> None:
        """Show what an event changes."""
        raise NotImplementedError

    def ended(self, reason: str) -> None:
        """It is over, for that reason or well."""
        raise NotImplementedError

    def tell(self, text: str, *, is_trouble: bool = False) -> None:
        """The line that says how it stands."""
        self.query_one("#progress", View).draw(
            Text(text, style="bold yellow" if is_trouble else "")
        )

    def tell_at_work(self, finished: int, text: str) -> None:
        """Which result is being measured, and how that stands."""
        if self._was_stopped:  # what is still heard was said before
            return
        self.tell(f"{finished + 1} of {self.count}: {text}")

    def action_begin(self) -> None:
        if self.is_working:
            return
        try:
            client = self.client()
        except KmeterError as error:
            self.tell(str(error), is_trouble=True)
            return
        self._client, self._was_stopped = client, False
        self.tell("starting")
        self.run_worker(self._hear, thread=True, exit_on_error=False)

    def _hear(self) -> None:
        reason = ""
        try:
            for event in self.events_of(self._client):
                self.app.call_from_thread(self.take, event)
        except Exception as error:
            reason = words_of(error)
        self.app.call_from_thread(self._end, reason)

    def _end(self, reason: str) -> None:
        self._client = None
        self.ended("stopped" if self._was_stopped else reason)

    def action_stop(self) -> None:
        """The measuring process is ended; what was finished stays."""
        if self._client is not None:
            self._was_stopped = True
            self.tell("stopping")
            self.run_worker(self._client.stop, thread=True, exit_on_error=False)

    def leave(self) -> None:
        if self._client is not None:
            self._was_stopped = True
            self._client.stop()
