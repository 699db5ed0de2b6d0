"""Occupancy over block size and registers as a field of numbers, coloured where there is colour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kmeter.model.architecture import Architecture
from kmeter.model.launch import Launch
from kmeter.model.occupancy import Occupancy
from kmeter.model.sweep import WARP_MULTIPLES, sweep
from kmeter.units import number, size
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
        yield _title(self.sm, shared)
        yield _header("regs", block_sizes)
        for row, count in enumerate(registers):
            line = [
                (field[column][row], self._is_own(block_size, count))
                for column, block_size in enumerate(block_sizes)
            ]
            yield _line(str(count), line)
        yield Text("threads per block across, registers per thread down", style="dim")

    def _is_own(self, block_size: int, registers: int) -> bool:
        launch = self.launch
        own = -(-max(1, launch.registers_per_thread) // _REGISTER_STEP) * _REGISTER_STEP
        return (
            launch.registers_per_thread > 0
            and block_size == launch.padded_block_size
            and registers == min(own, 255)
        )


@dataclass(frozen=True)
class SharedHeatmap:
    """Block sizes across, shared memory a block down; the launch's own cell stands in brackets."""

    sm: Architecture
    launch: Launch

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        block_sizes = _columns(self.launch, options.max_width - 2)
        registers = self.launch.registers_per_thread
        with_registers = f", {registers} registers a thread" if registers else ""
        yield _title(self.sm, with_registers)
        rows = self._rows()
        labels = {shared_bytes: number(shared_bytes / _KIB, 3) for shared_bytes in rows}
        axis = 1 + max(map(len, labels.values()))
        yield _header("KiB", block_sizes, axis)
        for shared_bytes in rows:
            static_bytes = min(self.launch.static_shared_bytes, shared_bytes)
            launch = replace(
                self.launch, static_shared_bytes=static_bytes,
                dynamic_shared_bytes=shared_bytes - static_bytes, max_dynamic_shared_bytes=None,
            )  # fmt: skip
            found = sweep(self.sm, launch, block_sizes, (registers,))
            line = [
                (cells[0], self._is_own(block_size, shared_bytes))
                for block_size, cells in zip(block_sizes, found, strict=True)
            ]
            yield _line(labels[shared_bytes], line, axis)
        yield Text("threads per block across, shared memory per block in KiB down", style="dim")

    def _rows(self) -> list[int]:
        """Evenly spaced up to what a block can have, and the launch's own among them."""
        most = self.sm.shared_bytes_per_block_opt_in
        step = next(s for s in _SHARED_STEPS if most // s <= _MOST_SHARED_ROWS)
        own = min(self.launch.shared_bytes, most)
        return sorted({*range(0, most + 1, step), own, most})

    def _is_own(self, block_size: int, shared_bytes: int) -> bool:
        launch = self.launch
        return block_size == launch.padded_block_size and shared_bytes == launch.shared_bytes


_KIB = 1024
_SHARED_STEPS = (2 * _KIB, 4 * _KIB, 8 * _KIB, 16 * _KIB, 32 * _KIB)
_MOST_SHARED_ROWS = 30


def _title(sm: Architecture, beside: str) -> Text:
    return Text(
        f"Occupancy in % on {sm.compute_capability} ({sm.generation}){beside}", style="bold"
    )


def _header(heading: str, block_sizes: Sequence[int], axis: int = _AXIS) -> Text:
    return Text(
        f"{heading:>{axis - 1}} " + "".join(f"{b:>{_CELL}}" for b in block_sizes), style="dim"
    )


def _line(label: str, cells: Sequence[tuple[Occupancy, bool]], axis: int = _AXIS) -> Text:
    line = Text(f"{label:>{axis - 1}} ", style="dim")
    for found, own in cells:
        line.append_text(_cell(found, own))
    return line


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
