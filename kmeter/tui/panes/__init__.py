"""A pane a module, whose class has its name; their order is in ``kmeter.tui``."""

from typing import TYPE_CHECKING, cast

from textual.containers import Vertical

from kmeter.model.card import Card
from kmeter.model.history import History

if TYPE_CHECKING:
    from kmeter.tui.app import KmeterApp


class Pane(Vertical):
    """What every pane can be told; it does nothing with what it has no use for."""

    @property
    def dashboard(self) -> "KmeterApp":
        """The application, which knows what was read and which GPU is looked at."""
        return cast("KmeterApp", self.app)

    def show_history(self, history: History) -> None:
        """A moment was read, or another place of a session gone to."""

    def show_unread(self, reason: str) -> None:
        """No GPU can be read, and none will be."""

    def show_card(self, card: Card | None, reason: str) -> None:
        """Another GPU is looked at; ``reason`` says why nothing is known of it."""

    def take_focus(self) -> None:
        """It is shown now: give the keys to what a user would begin with."""
        self.screen.set_focus(None)

    def leave(self) -> None:
        """The dashboard ends: stop what was begun."""
