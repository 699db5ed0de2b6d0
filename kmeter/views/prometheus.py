"""Metrics as Prometheus reads them: plain values here, the format's own types where they leave kmeter."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


class Sample(NamedTuple):
    """One number of a metric."""

    labels: Mapping[str, str]
    value: float


class Metric(NamedTuple):
    """A name, and what was read under it; without samples nobody knows it."""

    name: str
    """A counter's ends in ``_total``."""
    kind: Literal["gauge", "counter"]
    help: str
    samples: tuple[Sample, ...]


def dcgm_bus_id(bus_id: str) -> str:
    """A PCI bus id as DCGM's exporter labels it, ``00000000:65:00.0``."""
    domain, _, rest = bus_id.upper().partition(":")
    return f"{domain:0>8}:{rest}"


def families(metrics: Iterable[Metric]) -> Iterator["Family"]:
    """The metrics in prometheus_client's types, which write and escape them; those without samples left out."""
    from prometheus_client.core import Metric as Family

    for metric in metrics:
        if not metric.samples:
            continue
        family = Family(metric.name.removesuffix("_total"), metric.help, metric.kind)
        for sample in metric.samples:
            family.add_sample(metric.name, dict(sample.labels), sample.value)
        yield family
