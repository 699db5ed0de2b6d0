"""The process that measures: ``python -m kmeter.measure.worker``, a request in, events out.

It is a process of its own because an error in a CUDA kernel ends every later one of the process.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from kmeter import __version__
from kmeter.errors import ExitCode, KmeterError, NoGpuError, first_line_of
from kmeter.measure.catalogue import NO_CUPY, WAY_OUT
from kmeter.measure.compiler import compiler_version
from kmeter.measure.events import Ended, Event, Planned, Refused, line_of
from kmeter.measure.limits import pcie_bytes_per_s
from kmeter.measure.plan import GpuFacts, Options, planned_bytes
from kmeter.measure.process import end_with_parent
from kmeter.model.card import Card, Machine
from kmeter.model.ceiling import CeilingRun
from kmeter.sources._health import host_name, neighbours, uncorrected_errors

if TYPE_CHECKING:
    from kmeter.measure.gpu import Gpu


class Request(msgspec.Struct):
    """What to measure, on which card."""

    device: str
    names: list[str]
    options: Options


def main() -> int:
    """Read one request from stdin, write events to stdout."""
    end_with_parent()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not get between the events

    def emit(event: Event) -> None:
        out.write(line_of(event))

    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    try:
        return serve(request, emit)
    except KmeterError as error:
        emit(Refused(error.exit_code, str(error)))
        return error.exit_code


def serve(request: Request, emit: Callable[[Event], None]) -> int:
    """Measure what is asked for; raises NoGpuError without a GPU or CuPy."""
    from kmeter.sources._nvml import Nvml
    from kmeter.sources.cuda import nvml_handle, open_machine

    try:
        machine = open_machine(request.device)
    except NoGpuError as error:
        raise NoGpuError(error.message, "To measure, a GPU of this machine is needed") from None
    card = machine.cards[0]
    _import_cupy()
    from kmeter.measure.probes import probes
    from kmeter.measure.runner import GpuBrokenError, run_probes
    from kmeter.measure.telemetry import Sampler

    gpu = _opened(card, request.options)
    wanted = {probe.name: probe for probe in probes()}
    chosen = [wanted[name] for name in request.names]
    share = 0.3 if request.options.quick else 1.0
    nvml = Nvml()
    handle = nvml_handle(nvml, request.device)
    run = _run(machine, card, request.options, gpu.planned_bytes)
    emit(
        Planned(
            replace(run, uncorrected_errors=uncorrected_errors(nvml, handle)),
            [probe.name for probe in chosen],
            [probe.seconds * share for probe in chosen],
        )
    )
    _reset_persisting_l2()
    try:
        sampler = Sampler(nvml, handle, neighbours(nvml, handle))
        run_probes(gpu, card.device, sampler, chosen, request.options, emit)
    except GpuBrokenError:
        return ExitCode.GATE_FAILED
    emit(Ended(gpu.peak_bytes))
    return ExitCode.OK


def _import_cupy() -> None:
    try:
        import cupy  # noqa: F401
    except ImportError:
        raise NoGpuError(NO_CUPY, WAY_OUT) from None


def _opened(card: Card, options: Options) -> "Gpu":
    """The card under CuPy; raises NoGpuError where the two do not go together, and how they would."""
    from kmeter.measure.gpu import Gpu

    try:
        facts = _facts(card)
        return Gpu(facts, planned_bytes(facts, options))
    except Exception as error:
        if os.environ.get("KMETER_DEBUG"):
            raise
        raise NoGpuError(f"CuPy cannot use this GPU: {first_line_of(error)}", WAY_OUT) from None


def _facts(card: Card) -> GpuFacts:
    """The planners' view of a card; makes it CuPy's current device, which creates a context."""
    import cupy

    device = cupy.cuda.Device(card.ordinal)
    device.use()
    free, total = cupy.cuda.runtime.memGetInfo()
    major, minor = card.device.compute_capability.split(".")
    return GpuFacts(
        compute_capability=(int(major), int(minor)),
        sm_count=card.device.sm_count or 1,
        l2_bytes=card.device.l2_bytes or 0,
        free_bytes=free,
        total_bytes=total,
        shared_bytes_per_block_opt_in=card.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 48 * 1024)
        or 0,
        sm_clock_hz=card.device.sm_clock_hz,
        pcie_bytes_per_s=_link_bytes_per_s(card),
        compiler=compiler_version(),
        peers=tuple(_peers(card.ordinal or 0)),
    )


def _link_bytes_per_s(card: Card) -> float | None:
    """PCIe's rate; None for a GPU that reaches the host's memory by another way (C2C, on-chip)."""
    if card.attribute("INTEGRATED") or card.attribute(
        "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES"
    ):
        return None
    generation, width = card.fact("pcie_generation_max").value, card.fact("pcie_width").value
    return pcie_bytes_per_s(generation, width)


def _peers(ordinal: int) -> Any:
    from cupy.cuda import runtime

    for other in range(runtime.getDeviceCount()):
        if other != ordinal and runtime.deviceCanAccessPeer(ordinal, other):
            yield other


def _reset_persisting_l2() -> None:
    """Lines that another kernel of this context marked to stay in L2 are ordinary ones again."""
    import ctypes

    from kmeter.sources._libcuda import load

    reset = getattr(load(), "cuCtxResetPersistingL2Cache", None)
    if reset is not None:
        reset.restype = ctypes.c_int
        reset()


def _run(machine: Machine, card: Card, options: Options, planned: int) -> CeilingRun:
    return CeilingRun(
        gpu_name=card.device.name,
        uuid=card.uuid,
        compute_capability=card.device.compute_capability,
        driver_version=machine.driver_version.value,
        cuda_version=machine.cuda_version.value,
        compiler_version=".".join(map(str, compiler_version())),
        kmeter_version=__version__,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        quick=options.quick,
        planned_bytes=planned,
        peak_bytes=None,
        ecc=card.fact("ecc").value,
        pcie_width=card.fact("pcie_width").value,
        pcie_generation=card.fact("pcie_generation_max").value,
        other_processes=card.fact("processes").value,
        host=host_name(),
        pci_bus_id=card.pci_bus_id,
        power_limit_w=card.fact("power_limit_w").value or None,
        number=f"GPU {card.ordinal}",
    )


if __name__ == "__main__":
    sys.exit(main())
