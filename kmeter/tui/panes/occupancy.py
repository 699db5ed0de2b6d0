"""Occupancy while you type: what each resource allows, cliffs, the sweep, and a heat map to walk in."""

from collections.abc import Sequence
from math import prod
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal, VerticalScroll
from textual.widgets import Input, Label

from kmeter.errors import KmeterError, UsageError
from kmeter.kernels.demangle import demangled
from kmeter.model.architecture import Architecture, architecture, compute_capability
from kmeter.model.card import Card
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.launch import Launch
from kmeter.model.launch_report import LaunchQuestion, launch_report
from kmeter.model.launch_text import parse_blocks, parse_launch
from kmeter.sources import open_device, resolve
from kmeter.tui.drawing import View
from kmeter.tui.panes import Pane
from kmeter.units import shortened
from kmeter.views.heatmap import Heatmap, SharedHeatmap
from kmeter.views.occupancy import OccupancyView

_FALLBACK_CC = "9.0"
_REGISTER_STEP, _MOST_REGISTERS = 8, 255
_WARP, _MOST_THREADS = 32, 1024
_KIB, _SHARED_STEP_KIB = 1024, 4


class Field(NamedTuple):
    """A field of the form."""

    name: str
    label: str
    start: str


FIELDS = (
    Field("target", "cc or card", ""),
    Field("block", "block", "256"),
    Field("regs", "registers", "32"),
    Field("smem", "static smem", "0"),
    Field("dynamic", "dynamic smem", "0"),
    Field("carveout", "carve-out %", ""),
    Field("barriers", "barriers", "0"),
    Field("grid", "grid", ""),
)


class Heat(View, can_focus=True):
    """The heat map; arrows move the launch in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step('block', -1)", "block", show=False),
        Binding("right", "step('block', 1)", "block", show=False),
        Binding("up", "down_the_map(-1)", "up", show=False),
        Binding("down", "down_the_map(1)", "down", show=False),
        Binding("m", "other_map", "registers/shared"),
    ]
    is_of_shared = False
    """Whether shared memory is what goes down the map."""

    @property
    def _pane(self) -> "Occupancy":
        return next(node for node in self.ancestors if isinstance(node, Occupancy))

    def action_step(self, name: str, steps: int) -> None:
        self._pane.step(name, steps)

    def action_down_the_map(self, steps: int) -> None:
        self.action_step("dynamic" if self.is_of_shared else "regs", steps)

    def action_other_map(self) -> None:
        self.is_of_shared = not self.is_of_shared
        self._pane.compute()

    def draw_map(self, sm: Architecture, launch: Launch) -> None:
        """The map of a launch's neighbours."""
        self.draw(SharedHeatmap(sm, launch) if self.is_of_shared else Heatmap(sm, launch))


class Occupancy(Pane):
    """The form, the report, the map."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "to_map", "to the map"),
        Binding("n,ctrl+n", "other_kernel(1)", "kernel", key_display="n"),
        Binding("N", "other_kernel(-1)", "kernel before", show=False),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._card_target = ""
        self._is_own_target = True
        """Whether the first field still says what was filled in for the user."""
        self._kernel_index = 0

    def compose(self) -> ComposeResult:
        yield View("", id="kernel")
        with Grid(id="form"):
            for field in FIELDS:
                with Horizontal(classes="field"):
                    yield Label(field.label)
                    yield Input(field.start, id=f"field-{field.name}", compact=True)
        with VerticalScroll():
            yield View("", id="wrong", classes="warning")
            yield View("", id="report")
            yield Heat("", id="heat")

    def on_mount(self) -> None:
        self.query_one("#kernel", View).display = bool(self._kernels)
        if self._kernels:
            self._fill_in()

    @property
    def _kernels(self) -> Sequence[CompiledKernel]:
        return self.dashboard.start_with.kernels

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only where there are several kernels, another one can be taken."""
        return action != "other_kernel" or len(self._kernels) > 1

    def action_other_kernel(self, steps: int) -> None:
        self._kernel_index = (self._kernel_index + steps) % len(self._kernels)
        self._fill_in()

    def _fill_in(self) -> None:
        """What the file says of a kernel, into the form."""
        kernel = self._kernels[self._kernel_index]
        name = demangled([kernel.name]).get(kernel.name, kernel.name)
        words = (
            f"{self._kernel_index + 1} of {len(self._kernels)}: {shortened(name, 60)}, "
            f"{kernel.architecture or 'unknown architecture'}, {_bounds_text(kernel)}"
        )
        self.query_one("#kernel", View).draw(Text(words, style="bold"))
        self._is_own_target = False
        for field, value in _filled_in(kernel).items():
            self.query_one(f"#field-{field}", Input).value = value
        self.compute()

    def take_focus(self) -> None:
        if self._kernels:  # their keys are letters, which a field would take
            self.query_one(Heat).focus(scroll_visible=False)
        else:
            self.query_one("#field-block", Input).focus()

    def show_card(self, card: Card | None, reason: str) -> None:
        """Begin with the card that is looked at, unless the user has named another."""
        target = self.query_one("#field-target", Input)
        if self._is_own_target:
            cc = card.device.compute_capability if card else ""
            self._card_target = cc or _FALLBACK_CC
            target.value = self._card_target
        self.compute()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "field-target":
            self._is_own_target = event.value in {"", self._card_target}
        self.compute()

    def on_resize(self, event: events.Resize) -> None:
        self.compute()

    def step(self, name: str, steps: int) -> None:
        """Another warp, or another granule of registers."""
        field = self.query_one(f"#field-{name}", Input)
        try:
            launch = self._question().launch
        except KmeterError:
            return
        if name == "block":
            warps = -(-launch.block_size // _WARP) + steps
            field.value = str(min(_MOST_THREADS, max(_WARP, warps * _WARP)))
        elif name == "dynamic":
            kibs = -(-launch.dynamic_shared_bytes // _KIB) + steps * _SHARED_STEP_KIB
            field.value = f"{max(0, kibs)}KiB"
        else:
            granules = -(-launch.registers_per_thread // _REGISTER_STEP) + steps
            field.value = str(min(_MOST_REGISTERS, max(_REGISTER_STEP, granules * _REGISTER_STEP)))

    def action_to_map(self) -> None:
        self.query_one(Heat).focus()

    # ---- computing ------------------------------------------------------------------------

    def _text(self, name: str) -> str:
        return self.query_one(f"#field-{name}", Input).value.strip()

    def _question(self) -> LaunchQuestion:
        """What the form asks; raises KmeterError, naming what is wrong."""
        carveout = self._text("carveout")
        launch = parse_launch(
            self._text("block"),
            _whole(self._text("regs"), "registers"),
            self._text("smem") or "0",
            self._text("dynamic") or "0",
            _whole(carveout, "a carve-out") if carveout else None,
            _whole(self._text("barriers"), "barriers"),
            _MOST_THREADS,
        )
        grid = self._text("grid")
        return LaunchQuestion(launch, grid=parse_blocks(grid) if grid else None)

    def compute(self) -> None:
        """Answer what the form asks."""
        wrong = self.query_one("#wrong", View)
        try:
            sm, sm_count = _architecture(self._text("target") or self._card_target or _FALLBACK_CC)
            question = self._question()._replace(sm_count=sm_count)
            report = launch_report(sm, question)
        except KmeterError as error:
            wrong.display = True
            wrong.draw(
                Text(f"{error.message.replace('--', '')}: what is below is of the last launch")
            )
            return
        wrong.display = False
        self.query_one("#report", View).draw(OccupancyView(report))
        self.query_one(Heat).draw_map(sm, question.launch)


def _filled_in(kernel: CompiledKernel) -> dict[str, str]:
    """Fields and their texts; what the file does not say keeps what it has."""
    known = {
        "target": compute_capability(kernel.architecture) if kernel.architecture else None,
        "block": prod(kernel.required_block)
        if kernel.required_block
        else kernel.max_threads_per_block,
        "regs": kernel.registers_per_thread,
        "smem": kernel.static_shared_bytes,
        "dynamic": kernel.dynamic_shared_bytes,
        "barriers": kernel.barriers,
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def _bounds_text(kernel: CompiledKernel) -> str:
    if kernel.required_block:
        return f"runs blocks of {prod(kernel.required_block)} alone"
    most = kernel.max_threads_per_block
    return f"blocks of at most {most}" if most else "no launch bounds"


def _whole(text: str, what: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"{what}: a whole number, not {text[:20]!r}")
    return int(text)


def _architecture(target: str) -> tuple[Architecture, int | None]:
    """Of a compute capability, or of a card; the SM count where a card is named."""
    if resolve(target)[0] == "catalogue" and target.replace(".", "").isdecimal():
        return architecture(target), None
    device = open_device(target)
    return architecture(device.compute_capability), device.sm_count
