"""Readings of a card while something runs, put together."""

from typing import Any, cast

from kmeter.measure.telemetry import SAMPLED, Sampler, conditions_of
from kmeter.model.card import Fact
from kmeter.model.device import Source
from kmeter.sources._nvml import Nvml, Reading


def reading(clock: float | None, power: float, mask: int) -> dict[str, Fact]:
    values: dict[str, Any] = {
        "sm_clock_hz": clock,
        "memory_clock_hz": 3.2e9,
        "power_w": power,
        "temperature_c": 40 + power / 100,
        "throttle_reasons_mask": mask,
    }
    return {
        name: Fact(reason="not supported") if value is None else Fact(value, Source.NVML)
        for name, value in values.items()
    }


def test_clocks_by_the_median_and_heat_by_the_most() -> None:
    found = conditions_of([reading(2e9, 100, 1), reading(1e9, 700, 4), reading(1.9e9, 300, 0x40)])
    assert (found.sm_clock_hz, found.sm_clock_source) == (1.9e9, "NVML")
    assert (found.power_w, found.temperature_c, found.samples) == (700, 47, 3)
    assert found.throttle_reasons_mask == 0x44, "idle says nothing"


def test_what_nvml_does_not_support_is_unknown() -> None:
    found = conditions_of([reading(None, 100, 0)])
    assert (found.sm_clock_hz, found.sm_clock_source) == (None, "")
    assert conditions_of([]).throttle_reasons_mask is None


def test_a_card_that_nvml_does_not_know_has_no_samples() -> None:
    sampler = Sampler(cast("Nvml", None), None)
    sampler.start()
    assert sampler.stop().samples == 0


def test_the_sampler_begins_anew() -> None:
    class StubNvml:
        def read(self, function: str, *arguments: Any) -> Reading:
            return Reading(7)

        def constant(self, name: str) -> int:
            return 1

    sampler = Sampler(cast("Nvml", StubNvml()), object())
    for _ in range(2):
        sampler.start()
        while not sampler._readings:
            pass
        found = sampler.stop()
        assert found.samples >= 1
        assert found.memory_clock_hz == 7e6
    assert set(sampler._readings[0]) == set(SAMPLED)
