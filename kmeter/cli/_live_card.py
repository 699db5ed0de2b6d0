"""A card of this machine, by the name a user gives it, and its clock held for a while."""

from contextlib import AbstractContextManager, nullcontext

from kmeter.errors import UsageError


def live_name(device: str) -> str:
    """The name of a card of this machine; raises UsageError for a recording or catalogue entry."""
    from kmeter.sources import resolve

    source, name = resolve(device)
    if source != "cuda":
        raise UsageError(f"{device!r} is no card of this machine", "kmeter devices lists them")
    return name


def at_clock(device: str, sm_clock_mhz: int | None) -> AbstractContextManager[None]:
    """A block in which the SM clock is held, as root; without a clock nothing is changed."""
    if sm_clock_mhz is None:
        return nullcontext()
    from kmeter.measure.clocks import locked_clocks
    from kmeter.sources._nvml import Nvml
    from kmeter.sources.cuda import nvml_handle

    nvml = Nvml()
    return locked_clocks(nvml, nvml_handle(nvml, live_name(device)), sm_clock_mhz * 1e6)
