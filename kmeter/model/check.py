"""One thing that a machine must have or may have for kmeter to work."""

from typing import NamedTuple


class Check(NamedTuple):
    """What was looked at, what was found, and how to mend it."""

    name: str
    is_good: bool
    says: str
    fix: str = ""
    """One line; empty where nothing is to be done."""
    is_needed: bool = False
    """Whether kmeter cannot read a card without it."""
