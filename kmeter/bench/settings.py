"""What a run of benchmarks is asked for, beyond what the file says."""

from dataclasses import dataclass

from kmeter.model.benchmark import CacheState


@dataclass(frozen=True)
class Settings:
    """Options of one run; they travel to the process that measures."""

    timer: str | None = None
    """Instead of the benchmarks' own."""
    cache: CacheState = CacheState.COLD
    precision: float = 0.005
    time_limit_s: float = 3.0
    most_samples: int = 10_000
    energy: bool = False
    """Whether a second of calls is spent on the energy of one."""
    tells_spread: bool = False
    """Whether somebody draws how the samples spread while they are taken."""
