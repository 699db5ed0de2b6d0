"""What a run over a fleet measures, how long it waits for whom, and where each GPU stands."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kmeter.measure.client import MODULE
from kmeter.measure.plan import Options
from kmeter.model.card import Identity


@dataclass(frozen=True)
class Patience:
    """How long a run waits, in seconds."""

    look_s: float = 60.0
    """For a worker to say what it sees: a driver that nothing else uses takes its time."""
    silence_s: float = 180.0
    """For a word from who measures; a process that measures is itself given 120 s."""
    grace_s: float = 10.0
    """For who is asked to stop."""
    return_s: float = 30.0
    """For a worker to come back after it died."""
    turn_s: float = 1800.0
    """For a worker that has other work first."""


@dataclass(frozen=True)
class Plan:
    """What is measured on every GPU."""

    names: Sequence[str]
    options: Options
    command: Sequence[str] = MODULE
    """What measures; tests seat another one."""
    patience: Patience = field(default_factory=Patience)


@dataclass
class Job:
    """A GPU that is to be measured, is being measured, or waits for a worker."""

    key: str
    gpu: Identity
    host: str
    names: Sequence[str]
    attempts: int = 0
    worker: str = ""
    """Who measures it now; empty while it waits."""
    heard_s: float = 0.0
    """When its worker last said something, or when it began to wait."""
    has_begun: bool = False
    """Whether its worker has come to it, which may have other work before."""
    stopped_s: float | None = None
    """When its worker was asked to stop."""
    trouble: str = ""
    """Why it waits again."""
