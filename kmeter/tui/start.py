"""How the dashboard begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.live import Moment
from kmeter.model.roofline import KernelPoint
from kmeter.sources._session import SessionWriter
from kmeter.sources._watch import Listener


@dataclass
class Start:
    """What the command line, or a test, asks for."""

    pane: str = ""
    """Empty for the one that was open last."""
    targets: Sequence[str] = ()
    interval_s: float | None = None
    """None for the one that was set last."""
    order: str = "index"
    record: SessionWriter | None = None
    """What keeps every reading."""
    listeners: Sequence[Listener] = ()
    """Who else is told every reading, in the thread that reads."""
    served_at: str = ""
    """Where others are told of them; empty where they are not."""
    moments: Sequence[Moment] = ()
    """Of a session; none to watch this machine."""
    speed: float = 1.0
    points: Sequence[KernelPoint] = ()
    """Kernels of saved benchmarks, for the roofline."""
    kernels: Sequence[CompiledKernel] = ()
    """Compiled kernels, for the occupancy's form."""
    title: str = ""
    """What the session is called."""
    settings_file: Path | None = None
    """None to remember nothing."""
    needs_gpu: bool = False
    """Whether there is nothing to show without one."""
    is_ascii: bool = False
    is_ticking: bool = True
    """Whether a session goes by on its own; tests tell it when."""
