"""Probes one after another: each becomes a ceiling, whatever happens to it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from kmeter.measure.events import Event, Finished, Note, Started
from kmeter.measure.gpu import Gpu
from kmeter.measure.limits import above, lacking, limit_of
from kmeter.measure.plan import Options
from kmeter.measure.probes import (
    Lab,
    Measured,
    Probe,
    ProbeFailedError,
    ProbeSkippedError,
    ProbeUnsupportedError,
)
from kmeter.measure.telemetry import Sampler
from kmeter.model.ceiling import Ceiling, Conditions, Limit, Status, middle
from kmeter.model.device import Device

Emit = Callable[[Event], None]


class GpuBrokenError(Exception):
    """A CUDA error after which this process can launch nothing more."""


def run_probes(
    gpu: Gpu,
    device: Device,
    sampler: Sampler,
    chosen: Iterable[Probe],
    options: Options,
    emit: Emit,
) -> None:
    """Measure each probe and tell about it; raises GpuBrokenError after a sticky CUDA error."""
    for probe in chosen:
        emit(Started(probe.name))
        lab = Lab(gpu, options, tell=partial(_tell, emit, probe.name))
        ceiling, is_broken = _measure(probe, lab, device, sampler)
        emit(Finished(ceiling))
        if is_broken:
            raise GpuBrokenError(ceiling.reason)


def _tell(emit: Emit, name: str, text: str) -> None:
    emit(Note(name, text))


def _measure(probe: Probe, lab: Lab, device: Device, sampler: Sampler) -> tuple[Ceiling, bool]:
    limit = limit_of(probe.limit, device, lab.facts)
    empty = Ceiling(
        probe.name, probe.level, probe.measure, Status.OK, counts=probe.counts, limit=limit
    )
    missing = lacking(probe.limit, device) or probe.unsupported(lab.facts)
    if missing:
        return replace(empty, status=Status.UNSUPPORTED, reason=missing), False
    start = time.perf_counter()
    sampler.start()
    is_broken = False
    try:
        ceiling = _judged(empty, probe.run(lab), limit)
    except ProbeUnsupportedError as error:
        ceiling = replace(empty, status=Status.UNSUPPORTED, reason=str(error))
    except ProbeSkippedError as error:
        ceiling = replace(empty, status=Status.SKIPPED, reason=str(error))
    except ProbeFailedError as error:
        ceiling = replace(empty, status=Status.FAILED, reason=str(error))
    except Exception as error:
        ceiling = replace(empty, status=_status_of(error), reason=_in_words(error))
        is_broken = _is_sticky(error)
    conditions = _under(sampler.stop(), ceiling.conditions)
    if not is_broken:
        lab.gpu.note_memory()
        lab.gpu.release()
    ended = replace(
        ceiling,
        conditions=conditions,
        seconds=time.perf_counter() - start,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        is_quick=lab.options.quick,
    )
    return ended, is_broken


def _judged(empty: Ceiling, found: Measured, limit: Limit) -> Ceiling:
    value = middle(found.samples)
    ceiling = replace(
        empty,
        value=value,
        samples=found.samples,
        cycles=found.cycles,
        how=found.how,
        note=found.note,
        working_set_bytes=found.working_set_bytes,
        points=found.points,
        conditions=_told_by(found),
    )
    if "inside L2" in found.note:
        # DRAM's peak does not bound what never leaves L2.
        return replace(ceiling, limit=Limit(reason=found.note))
    if (
        value is not None
        and empty.measure.more_is_better
        and above(value, limit, found.sm_clock_hz)
    ):
        reason = f"{value:.4g} is above its limit of {limit.value:.4g}: this probe is broken"
        return replace(ceiling, status=Status.FAILED, reason=reason, value=None)
    return ceiling


def _told_by(found: Measured) -> Conditions:
    """The clock as the probe knows it."""
    if found.sm_clock_hz:
        return Conditions(found.sm_clock_hz, "SM")
    return Conditions(sm_clock_source="in bursts" if found.in_bursts else "")


def _under(sampled: Conditions, told: Conditions) -> Conditions:
    """What was sampled, with the clock that the kernel counted itself where it did."""
    if not told.sm_clock_source:
        return sampled
    return replace(sampled, sm_clock_hz=told.sm_clock_hz, sm_clock_source=told.sm_clock_source)


def _status_of(error: Exception) -> Status:
    return Status.SKIPPED if "OutOfMemory" in type(error).__name__ else Status.FAILED


def _in_words(error: Exception) -> str:
    if "OutOfMemory" in type(error).__name__:
        return f"not enough memory is free: {str(error).strip().splitlines()[0]}"
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def _is_sticky(error: Exception) -> bool:
    """Whether the CUDA context is lost: an illegal address, a failed assertion, a hang's end."""
    return any(word in str(error) for word in _STICKY)


_STICKY = (
    "ILLEGAL_ADDRESS", "IllegalAddress", "LAUNCH_FAILED", "LaunchFailure", "ILLEGAL_INSTRUCTION",
    "IllegalInstruction", "MISALIGNED", "MisalignedAddress", "ASSERT", "Assert", "LAUNCH_TIMEOUT",
    "LaunchTimeout", "HARDWARE_STACK", "ECC", "CONTEXT_IS_DESTROYED", "unspecified launch failure",
)  # fmt: skip
