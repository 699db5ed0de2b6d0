"""kmeter: is my CUDA kernel good, what holds it back, did my last change help?

The public names below are resolved on first use, so that ``import kmeter`` costs nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kmeter.bench.registry import benchmark
    from kmeter.kernels.files import kernels_of
    from kmeter.kernels.live_function import compiled_kernels
    from kmeter.model.architecture import architecture
    from kmeter.model.launch import Launch
    from kmeter.model.occupancy import occupancy
    from kmeter.model.peaks import peaks
    from kmeter.model.roofline import roofline
    from kmeter.sources import open_device

__version__ = "0.1.0"

__all__ = [
    "Launch", "architecture", "benchmark", "compiled_kernels", "kernels_of", "occupancy", "open_device",
    "peaks", "roofline",
]  # fmt: skip

_HOME = {
    "Launch": "kmeter.model.launch",
    "architecture": "kmeter.model.architecture",
    "benchmark": "kmeter.bench.registry",
    "compiled_kernels": "kmeter.kernels.live_function",
    "kernels_of": "kmeter.kernels.files",
    "occupancy": "kmeter.model.occupancy",
    "open_device": "kmeter.sources",
    "peaks": "kmeter.model.peaks",
    "roofline": "kmeter.model.roofline",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'kmeter' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
