"""How often the verdict errs, in generated fleets, beside the rule "mean - 1 SD and > 10 %"."""

import random
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from fleets import report

from kmeter.model.ceiling import Conditions, Measure, Status
from kmeter.model.fleet import Figure, Report
from kmeter.model.fleet_verdict import judge

GPUS, SEEDS, TESTS, NOISE = 256, 100, 4, 0.01
ODD = 100
"""The place of the GPU that is made slower, in the first test."""


def fleets(share: float, clock_hz: float = 1.98e9) -> Iterator[list[Report]]:
    """A fleet a seed: every figure with its own noise, one GPU at a share of its speed."""
    for seed in range(SEEDS):
        noise = random.Random(seed)
        fleet = [
            report(place, *(_figure(n, noise.gauss(1, NOISE)) for n in range(TESTS)))
            for place in range(GPUS)
        ]
        first, *others = fleet[ODD].ceilings
        slow = replace(
            first, value=(first.value or 0) * share, conditions=Conditions(sm_clock_hz=clock_hz)
        )
        fleet[ODD] = replace(fleet[ODD], ceilings=(slow, *others))
        yield fleet


def _figure(number: int, factor: float) -> Figure:
    conditions = Conditions(sm_clock_hz=1.98e9)
    return Figure(
        f"test-{number}", Measure.BYTES_PER_S, Status.OK, value=4e12 * factor, conditions=conditions
    )


def by_mean(fleet: list[Report]) -> set[str | None]:
    """Whom the other rule finds: below the mean by a standard deviation and by 10 %."""
    found = set()
    for number in range(TESTS):
        values = [r.ceilings[number].value or 0.0 for r in fleet]
        line = min(fmean(values) - stdev(values), 0.9 * fmean(values))
        found |= {r.uuid for r, value in zip(fleet, values, strict=True) if value < line}
    return found


@pytest.mark.parametrize(
    ("share", "least", "most_by_mean"), [(1.0, 0, 0), (0.92, 99, 5), (1 / 3, 100, 100)]
)
def test_who_is_found(share: float, least: int, most_by_mean: int) -> None:
    odd = report(ODD).uuid
    found = false_flags = found_by_mean = 0
    for fleet in fleets(share):
        flagged = {gpu.uuid for gpu in judge(fleet).flagged}
        found += odd in flagged
        false_flags += len(flagged - {odd}) if share < 1 else len(flagged)
        found_by_mean += odd in by_mean(fleet)
    print(
        f"\none of {GPUS} at {share:.0%}: found in {found} of {SEEDS} seeds, {false_flags} false flags; "
        f"mean - 1 SD and > 10 % finds it in {found_by_mean}"
    )
    assert found >= least
    assert false_flags <= 1
    assert found_by_mean <= most_by_mean


def test_a_gpu_at_a_third_is_found_with_its_reason() -> None:
    for fleet in fleets(1 / 3, clock_hz=6.6e8):
        finding = judge(fleet).findings[0]
        assert finding.report.uuid == report(ODD).uuid
        assert finding.causes == ("SM clock 660 MHz, usual 1.98 GHz",)
