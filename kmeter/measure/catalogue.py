"""What there is to measure, for those who only want to know its names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kmeter.errors import UsageError
from kmeter.units import quoted

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


def chosen_names(names: Sequence[str], *, quick: bool) -> list[str]:
    """The probes that are meant, in their own order; raises UsageError for a name of none."""
    known = names_of()
    for name in names:
        if not any(_is_meant(probe, name) for probe in known):
            from difflib import get_close_matches

            near = ", ".join(get_close_matches(name, known, n=4, cutoff=0.4))
            raise UsageError(
                f"there is no ceiling {quoted(name)}",
                f"Nearest: {near}" if near else "kmeter ceiling --list shows them",
            )
    if names:
        return [probe for probe in known if any(_is_meant(probe, name) for name in names)]
    return names_of(quick=True) if quick else known


def _is_meant(probe: str, name: str) -> bool:
    return probe == name or probe.startswith(f"{name}-")
