"""What becomes of a probe: measured, wrong, too fast, impossible here, or the end of the process."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from devices import H100_SXM

from kmeter.measure.events import Event, Finished, Note, Started
from kmeter.measure.gpu import Gpu
from kmeter.measure.plan import GIB, MIB, GpuFacts, Options
from kmeter.measure.probes import (
    Lab,
    Measured,
    Probe,
    ProbeFailedError,
    ProbeSkippedError,
    ProbeUnsupportedError,
)
from kmeter.measure.runner import GpuBrokenError, run_probes
from kmeter.measure.telemetry import Sampler
from kmeter.model.ceiling import Ceiling, Conditions, Measure, Status

FACTS = GpuFacts((9, 0), 132, 50 * MIB, 70 * GIB, 80 * GIB, 232448, 1.98e9, 63e9)
SAMPLED = Conditions(1.5e9, "NVML", 2.6e9, 300.0, 50.0, 0x4, 7)


class StubGpu:
    facts = FACTS
    released = 0

    def note_memory(self) -> None: ...

    def release(self) -> None:
        self.released += 1


class StubSampler:
    def start(self) -> None: ...

    def stop(self) -> Conditions:
        return SAMPLED


def run(
    found: Callable[[Lab], Measured], counted: Measure = Measure.BYTES_PER_S, **fields: Any
) -> tuple[Ceiling, list[Event]]:
    probe = Probe("p", "DRAM", counted, "What.", found, **fields)
    events: list[Event] = []
    run_probes(
        cast("Gpu", StubGpu()), H100_SXM, cast("Sampler", StubSampler()), [probe], Options(),
        events.append,
    )  # fmt: skip
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    return events[-1].ceiling, events


def failing(error: Exception) -> Callable[[Lab], Measured]:
    def measure(lab: Lab) -> Measured:
        raise error

    return measure


def test_a_good_probe_has_its_median_and_conditions() -> None:
    ceiling, _ = run(lambda lab: Measured((3e12, 1e12, 2e12), "how"), limit="dram")
    assert (ceiling.status, ceiling.value, ceiling.how) == (Status.OK, 2e12, "how")
    assert ceiling.conditions == SAMPLED
    assert ceiling.limit.value == pytest.approx(3.352e12, rel=1e-3)
    assert ceiling.measured_at.endswith("+00:00")


def test_a_clock_that_the_kernel_counted_is_the_one_that_was_held() -> None:
    ceiling, _ = run(lambda lab: Measured((50e12,), sm_clock_hz=1.7e9), limit="fp32")
    assert (ceiling.conditions.sm_clock_hz, ceiling.conditions.sm_clock_source) == (1.7e9, "SM")
    assert ceiling.conditions.power_w == 300.0


def test_a_clock_between_bursts_is_nobody_s() -> None:
    ceiling, _ = run(lambda lab: Measured((50e12,), in_bursts=True), limit="fp32")
    assert ceiling.conditions.sm_clock_hz is None


def test_a_probe_tells_what_it_does() -> None:
    def measure(lab: Lab) -> Measured:
        lab.tell("halfway")
        return Measured((1.0,))

    _, events = run(measure)
    assert Note("p", "halfway") in events


# ---- too good to be true --------------------------------------------------------------------


def test_above_its_limit_it_is_broken_and_says_so() -> None:
    ceiling, _ = run(lambda lab: Measured((4e12,)), limit="dram")
    assert (ceiling.status, ceiling.value) == (Status.FAILED, None)
    assert "above its limit" in ceiling.reason
    assert "this probe is broken" in ceiling.reason


def test_a_clock_above_the_nominal_one_raises_the_limit() -> None:
    too_fast = Measured((68e12,), sm_clock_hz=2.05e9)
    assert run(lambda lab: too_fast, limit="fp32")[0].status is Status.OK
    too_slow = Measured((68e12,), sm_clock_hz=1.5e9)
    assert run(lambda lab: too_slow, limit="fp32")[0].status is Status.FAILED


def test_l1_cannot_be_wider_than_its_banks() -> None:
    ceiling, _ = run(lambda lab: Measured((126e12,)), limit="shared")
    assert ceiling.status is Status.FAILED


def test_inside_l2_drams_peak_is_no_limit() -> None:
    ceiling, _ = run(
        lambda lab: Measured((9e12,), note="inside L2: this is not DRAM"), limit="dram"
    )
    assert (ceiling.status, ceiling.value, ceiling.limit.value) == (Status.OK, 9e12, None)


def test_a_latency_has_no_limit() -> None:
    assert run(lambda lab: Measured((1e-7,)), counted=Measure.SECONDS)[0].status is Status.OK


# ---- what cannot be measured ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ProbeFailedError("wrong sum"), Status.FAILED, "wrong sum"),
        (ProbeSkippedError("no room"), Status.SKIPPED, "no room"),
        (ProbeUnsupportedError("no nvmath"), Status.UNSUPPORTED, "no nvmath"),
        (ValueError("odd\nmore"), Status.FAILED, "ValueError: odd"),
        (RuntimeError(""), Status.FAILED, "RuntimeError"),
    ],
)
def test_every_end_has_a_status_and_a_reason(error: Exception, status: Status, reason: str) -> None:
    ceiling, _ = run(failing(error))
    assert (ceiling.status, ceiling.reason, ceiling.value) == (status, reason, None)


def test_out_of_memory_is_skipped() -> None:
    class OutOfMemoryError(Exception): ...

    ceiling, _ = run(failing(OutOfMemoryError("Out of memory allocating 8 bytes")))
    assert ceiling.status is Status.SKIPPED
    assert ceiling.reason.startswith("not enough memory is free")


def test_what_the_card_lacks_is_not_tried() -> None:
    ceiling, _ = run(failing(AssertionError()), unsupported=lambda facts: "needs 10.0")
    assert (ceiling.status, ceiling.reason) == (Status.UNSUPPORTED, "needs 10.0")


def test_after_a_lost_context_nothing_more_runs() -> None:
    error = RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")
    with pytest.raises(GpuBrokenError):
        run(failing(error))
