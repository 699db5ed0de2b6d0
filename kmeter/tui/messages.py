"""What panes are told while the dashboard runs."""

from textual.message import Message

from kmeter.errors import KmeterError
from kmeter.model.live import Moment


class Read(Message):
    """GPUs were read."""

    def __init__(self, moment: Moment) -> None:
        super().__init__()
        self.moment = moment


class Unread(Message):
    """GPUs could not be read, and why."""

    def __init__(self, error: KmeterError, *, is_final: bool) -> None:
        super().__init__()
        self.error = error
        self.is_final = is_final
        """Whether nobody will try again."""
