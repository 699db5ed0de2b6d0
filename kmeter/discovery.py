"""Finding the modules of a package by name, without importing them."""

from collections.abc import Iterable
from pkgutil import iter_modules


def public_modules(path: Iterable[str]) -> list[str]:
    """Names of the modules in a package's ``__path__``, without the private ones."""
    return sorted(module.name for module in iter_modules(path) if not module.name.startswith("_"))
