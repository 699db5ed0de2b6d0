"""A file of benchmarks, run from here: its rows as they are finished, the one at work with its median."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Group
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from kmeter.bench.client import Client
from kmeter.bench.collect import Collector
from kmeter.bench.events import Event, Finished, Loaded, Note, Started
from kmeter.bench.progress import sampling_text
from kmeter.bench.settings import Settings
from kmeter.errors import UsageError
from kmeter.model.benchmark import Row
from kmeter.model.history import History
from kmeter.model.score import point_of
from kmeter.tui.drawing import View
from kmeter.tui.panes._work import WorkPane
from kmeter.units import quoted, si
from kmeter.views.bench import BenchView
from kmeter.views.distribution import Distribution


class Bench(WorkPane):
    """``r`` runs the file that is named above; its rows join the roofline."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "to_pane", show=False)]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._collector = Collector()
        self._clock = ""

    def compose(self) -> ComposeResult:
        yield Input(placeholder="a Python file with @kmeter.benchmark, then Enter", id="file")
        yield View("", id="spread")
        yield from super().compose()

    def on_mount(self) -> None:
        self.query_one("#spread", View).display = False
        self.tell(
            "name a file, then Enter or r runs it; kmeter bench --init FILE writes a first one"
        )

    def take_focus(self) -> None:
        field = self.query_one(Input)
        if field.value:
            self.focus()
        else:
            field.focus()

    def action_to_pane(self) -> None:
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus()
        self.action_begin()

    def show_history(self, history: History) -> None:
        """Clocks and power beside what is being timed."""
        moment = history.last
        if moment is None or not moment.gpus or self.dashboard.player is not None:
            return
        gpu = self.dashboard.chosen_of(moment)
        clock, power = gpu.fact("sm_clock_hz").value, gpu.fact("power_w").value
        self._clock = f"{si(clock, 'Hz', 3)}, {si(power, 'W', 3)}"

    # ---- running --------------------------------------------------------------------------

    def client(self) -> Client:
        file = self.query_one(Input).value.strip()
        if not file:
            raise UsageError("name a file first")
        self._collector = Collector()
        return Client(str(_existing(file)), Settings(tells_spread=True), is_quiet=True)

    def events_of(self, client: Any) -> Iterator[Event]:
        found: Iterator[Event] = client.events()
        return found

    def take(self, event: Event) -> None:
        self._collector.take(event)
        if isinstance(event, Loaded):
            self.count = len(event.cases)
        elif isinstance(event, Started):
            self._tell_row(event.label)
        elif isinstance(event, Note):
            self._tell_row(", ".join(filter(None, (sampling_text(event), self._clock))))
            if event.spread_s:
                self._show_spread(f"samples of {event.label} so far", event.spread_s)
        elif isinstance(event, Finished):
            self._join(event.row)
            self._show()

    def _tell_row(self, text: str) -> None:
        self.tell_at_work(len(self._collector.run.rows), text)

    def _show(self) -> None:
        run = self._collector.run
        if self.is_working:  # it would be called interrupted
            run = replace(run, is_complete=True)
        last = run.rows[-1] if run.rows else None
        if last and last.samples_s:
            self._show_spread(f"samples of {last.label}", last.samples_s)
        self.query_one("#run", View).draw(BenchView(run))

    def _show_spread(self, heading: str, samples_s: Sequence[float]) -> None:
        spread = self.query_one("#spread", View)
        spread.display = True
        spread.draw(Group(Text(heading), Distribution(samples_s), ""))

    def _join(self, row: Row) -> None:
        """A row with a time, FLOP and bytes is a point of the roofline; a newer one replaces it."""
        point = point_of(row)
        if point is None:
            return
        others = [other for other in self.dashboard.points if other.name != row.label]
        self.dashboard.points = [*others, point]

    def ended(self, reason: str) -> None:
        if self._collector.has_begun:
            self._show()
            rows = self._collector.run.rows
            self.tell(
                reason or f"{len(rows)} of {self.count} rows; r runs it again",
                is_trouble=bool(reason),
            )
        else:
            self.tell(reason or "nothing was run", is_trouble=True)


def _existing(text: str) -> Path:
    """The file that is named; raises UsageError for what is none, or can be none."""
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):  # a name too long, ~nobody, a NUL
        pass
    raise UsageError(f"there is no file {quoted(text)}")
