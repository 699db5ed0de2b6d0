"""What there is to measure, for those who only want to know its names."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kmeter.measure.probes import Probe

NO_CUPY = "CuPy is not installed"
WAY_OUT = 'pip install "kmeter[cuda13]", or kmeter[cuda12] where the driver runs no CUDA 13'


class Description(NamedTuple):
    """A probe in words."""

    name: str
    level: str
    what: str
    counts: str
    in_quick: bool


def described() -> list[Description]:
    """Every probe; CuPy is not needed to know them."""
    return [Description(p.name, p.level, p.what, p.counts, p.in_quick) for p in _probes()]


def names_of(*, quick: bool = False) -> list[str]:
    """The names of all probes, or of those that ``--quick`` runs."""
    return [probe.name for probe in _probes() if probe.in_quick or not quick]


def _probes() -> "list[Probe]":
    from kmeter.measure.probes import probes

    return list(probes())
