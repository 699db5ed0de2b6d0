"""One GPU of this machine measured, whatever becomes of it: its run always tells which GPU it is of."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from kmeter import __version__
from kmeter.errors import KmeterError
from kmeter.measure.client import MODULE, Client
from kmeter.measure.collect import Collector
from kmeter.measure.events import Event
from kmeter.measure.plan import Options
from kmeter.model.card import Identity
from kmeter.model.ceiling import CeilingRun
from kmeter.sources._health import host_name
from kmeter.units import on_a_line


def gpus_here() -> tuple[Identity, ...]:
    """The GPUs that this process sees, and those that it should see and that are lost.

    Raises NoGpuError without any.
    """
    from kmeter.sources.cuda import identities

    return tuple(gpu for gpu in identities() if gpu.ordinal is not None or gpu.lost)


def key_of(gpu: Identity, host: str) -> str:
    """What names a GPU among all hosts: its UUID, else its place there."""
    return gpu.uuid or f"{host} {gpu.pci_bus_id or number_of(gpu)}"


def number_of(gpu: Identity) -> str:
    """``GPU 3`` as CUDA counts, ``NVML GPU 3`` where CUDA does not see it."""
    return f"NVML GPU {gpu.nvml_index}" if gpu.ordinal is None else f"GPU {gpu.ordinal}"


def client_of(gpu: Identity, options: Options, command: Sequence[str] = MODULE) -> Client:
    """What measures that GPU, and no other, in a process of its own."""
    name = gpu.uuid or gpu.pci_bus_id or str(gpu.ordinal)
    return Client(name, options, is_quiet=True, command=command)


def measured(
    gpu: Identity, client: Client, names: Sequence[str], see: Callable[[Event], object]
) -> CeilingRun:
    """The ceilings of a GPU; Ctrl-C ends it with what was finished.

    Where none can be measured, a run without ceilings says why.
    """
    if gpu.lost:
        return refused(gpu, client.options, gpu.lost)
    collector = Collector()
    try:
        with suppress(KeyboardInterrupt):
            for event in client.events(names):
                collector.take(event)
                see(event)
    except KmeterError as error:
        if not collector.has_begun:
            return refused(gpu, client.options, str(error))
        return replace(collector.run, refusal=on_a_line(str(error)))
    return collector.run if collector.has_begun else _unmeasured(gpu, client.options)


def refused(gpu: Identity, options: Options, reason: str, host: str | None = None) -> CeilingRun:
    """A run without ceilings of a GPU of this host, or of another one, and why there are none."""
    run = replace(_unmeasured(gpu, options), refusal=on_a_line(reason))
    return replace(run, host=host) if host else run


def _unmeasured(gpu: Identity, options: Options) -> CeilingRun:
    """A run of that GPU of which nothing is known."""
    return CeilingRun(
        gpu_name=gpu.name or "a GPU without a name",
        uuid=gpu.uuid,
        compute_capability="",
        driver_version=None,
        cuda_version="",
        compiler_version="",
        kmeter_version=__version__,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        quick=options.quick,
        planned_bytes=0,
        peak_bytes=None,
        is_complete=False,
        host=host_name(),
        pci_bus_id=gpu.pci_bus_id,
        number=number_of(gpu),
    )
