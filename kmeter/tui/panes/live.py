"""GPUs as they work: all of them in a table, one over minutes, and its processes."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from kmeter.model.history import History
from kmeter.model.live import Moment, ordered
from kmeter.tui.drawing import View
from kmeter.tui.panes import Pane
from kmeter.views.live import LiveView, ProcessesView
from kmeter.views.live_history import HistoryView


class Live(Pane):
    """One GPU: its history. Several: a line each, and the history of the chosen one."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield View("waiting for the first reading", id="gpus", markup=False)
            yield View("", id="history")
            yield View("", id="processes")

    def show_history(self, history: History) -> None:
        moment = history.last
        if moment is None:
            return
        chosen = self.dashboard.chosen_of(moment)
        table = self.query_one("#gpus", View)
        table.display = len(moment.gpus) > 1 or bool(moment.reason) or bool(chosen.identity.lost)
        if table.display:
            table.draw(
                LiveView(_sorted(moment, self.dashboard.order), activity=False, processes=False)
            )
        self.query_one("#history", View).draw(HistoryView(history, chosen.identity))
        self.query_one("#processes", View).draw(ProcessesView(moment))

    def show_unread(self, reason: str) -> None:
        table = self.query_one("#gpus", View)
        table.display = True
        table.draw(Text(f"no GPU is read: {reason}"))


def _sorted(moment: Moment, order: str) -> Moment:
    return moment._replace(gpus=ordered(moment.gpus, order))
