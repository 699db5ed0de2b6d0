"""Occupancy over block size and registers as a field of numbers, coloured where there is colour."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.architecture import Architecture
from kmeter.model.launch import Launch
from kmeter.model.occupancy import Occupancy
from kmeter.model.sweep import WARP_MULTIPLES, sweep
from kmeter.units import size
from kmeter.views.occupancy import colour

_CELL = 5
_AXIS = 5
_REGISTER_STEP = 8
"""Registers of a warp come in multiples of 256, so of a thread in multiples of 8."""


@dataclass(frozen=True)
class Heatmap:
    """Block sizes across, registers down; the launch's own cell stands in brackets."""

    sm: Architecture
    launch: Launch

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        block_sizes = _columns(self.launch, options.max_width)
        registers = _rows(self.sm)
        field = sweep(self.sm, self.launch, block_sizes, registers)
        shared = (
            f", {size(self.launch.shared_bytes)} shared memory" if self.launch.shared_bytes else ""
        )
        yield Text(
            f"Occupancy in % on {self.sm.compute_capability} ({self.sm.generation}){shared}",
            style="bold",
        )
        yield Text(
            "regs ".rjust(_AXIS) + "".join(f"{b:>{_CELL}}" for b in block_sizes), style="dim"
        )
        for row, count in enumerate(registers):
            line = Text(f"{count:>{_AXIS - 1}} ", style="dim")
            for column, block_size in enumerate(block_sizes):
                line.append_text(_cell(field[column][row], self._is_own(block_size, count)))
            yield line
        yield Text("threads per block across, registers per thread down", style="dim")

    def _is_own(self, block_size: int, registers: int) -> bool:
        launch = self.launch
        own = -(-max(1, launch.registers_per_thread) // _REGISTER_STEP) * _REGISTER_STEP
        return (
            launch.registers_per_thread > 0
            and block_size == launch.padded_block_size
            and registers == min(own, 255)
        )


def _rows(sm: Architecture) -> tuple[int, ...]:
    counts = range(2 * _REGISTER_STEP, 255, _REGISTER_STEP)
    return (
        *(count for count in counts if count < sm.max_registers_per_thread),
        sm.max_registers_per_thread,
    )


def _columns(launch: Launch, width: int) -> tuple[int, ...]:
    """As many block sizes as fit, evenly spaced, and the launch's own among them."""
    fit = max(1, (width - _AXIS) // _CELL)
    step = next((s for s in (1, 2, 4, 8, 16, 32) if len(WARP_MULTIPLES) // s + 1 <= fit), 32)
    return tuple(sorted({*WARP_MULTIPLES[step - 1 :: step], launch.padded_block_size}))


def _cell(found: Occupancy, own: bool) -> Text:
    percent = str(round(100 * found.fraction))
    text = f"[{percent}]" if own else f"{percent} "
    return Text(f"{text:>{_CELL}}", style=colour(found.fraction) if found.fraction else "dim")
