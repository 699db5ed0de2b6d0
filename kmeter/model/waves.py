"""How a grid fills the GPU: waves of blocks, and what the last one wastes."""

from typing import NamedTuple


class Waves(NamedTuple):
    """A grid laid over the blocks that the GPU holds at once."""

    grid: int
    """Blocks launched."""
    blocks_per_wave: int
    """Blocks that all SMs hold together; of clusters, whole ones."""
    waves: int
    last_wave_fraction: float
    """How full the last wave is, 0 to 1."""
    efficiency: float
    """Blocks over the places of all waves, 0 to 1."""
    better_grids: tuple[int, ...]
    """The nearest grids, below and above, whose last wave is full."""


def waves(grid: int, places: int) -> Waves | None:
    """The waves of ``grid`` blocks on a GPU that holds ``places`` at once; None where it is 0."""
    if places == 0:
        return None
    count = -(-grid // places)
    last = grid - (count - 1) * places
    return Waves(
        grid=grid,
        blocks_per_wave=places,
        waves=count,
        last_wave_fraction=last / places,
        efficiency=grid / (count * places),
        better_grids=_full_grids(count, places) if last < places else (),
    )


def _full_grids(count: int, places: int) -> tuple[int, ...]:
    return tuple(n * places for n in (count - 1, count) if n)
