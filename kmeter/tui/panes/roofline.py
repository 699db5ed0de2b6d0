"""The roofline: roofs to choose, kernels that were timed, and a dot for what the GPU does right now."""

from dataclasses import replace
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from kmeter.errors import KmeterError
from kmeter.model.achieved import Achieved, achieved, busiest_unit
from kmeter.model.card import Card
from kmeter.model.compute_units import label, operation
from kmeter.model.history import History
from kmeter.model.live import LiveGpu
from kmeter.model.measured_roofline import levels_of, measured_roofline
from kmeter.model.peaks import peaks
from kmeter.model.roofline import Placed
from kmeter.model.roofline import Roofline as Line
from kmeter.model.roofline import roofline as line_of
from kmeter.tui.drawing import View
from kmeter.tui.panes import Pane
from kmeter.units import UNKNOWN, number, percent, shortened, si
from kmeter.views.roofline_plot import Frame, RooflinePlot, frame_of, mark, roof_text

AUTOMATIC = "busiest"
UNITS = (
    AUTOMATIC, "fp32", "fp64", "fp64_tensor", "tf32_tensor", "fp16_tensor", "bf16_tensor", "fp8_tensor_fp32_accumulate", "int8_tensor",
)  # fmt: skip
NOW = "now"
_AROUND_THE_PLOT = 7
"""Lines of the pane that are no drawing: roofs, axis, the selected point."""
_LEAST_HEIGHT = 4
_ZOOM, _PAN = 0.8, 0.1


class Roofline(Pane, can_focus=True):
    """The plot fills the pane; a line below it reads out the selected point."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "unit(1)", "data type"),
        Binding("D", "unit(-1)", "data type before", show=False),
        Binding("m", "measured", "peaks/measured"),
        Binding("v", "levels", "L2, L1", show=False),
        Binding("n", "point(1)", "next point"),
        Binding("left_square_bracket", "zoom(1)", "out", key_display="["),
        Binding("right_square_bracket", "zoom(-1)", "in", key_display="]"),
        Binding("shift+left,h", "pan(-1, 0)", "left", show=False),
        Binding("shift+right,l", "pan(1, 0)", "right", show=False),
        Binding("up,k", "pan(0, 1)", "up", show=False),
        Binding("down,j", "pan(0, -1)", "down", show=False),
        Binding("0", "whole", "whole", show=False),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id)
        self._card: Card | None = None
        self._reason = "not read yet"
        self._history: History | None = None
        self._wanted = AUTOMATIC
        self._is_measured = False
        self._has_levels = False
        """Whether the roofs of L2 and L1 are drawn, too."""
        self._frame: Frame | None = None
        self._selected = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield View("", id="plot")

    def take_focus(self) -> None:
        self.focus()

    def show_card(self, card: Card | None, reason: str) -> None:
        self._card, self._reason = card, reason
        self._draw()

    def show_history(self, history: History) -> None:
        self._history = history
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    # ---- keys -----------------------------------------------------------------------------

    def action_unit(self, steps: int) -> None:
        self._wanted = UNITS[(UNITS.index(self._wanted) + steps) % len(UNITS)]
        self._frame = None
        self._draw()

    def action_measured(self) -> None:
        self._is_measured = not self._is_measured
        self._draw()

    def action_levels(self) -> None:
        self._has_levels = not self._has_levels
        self._frame = None
        self._draw()

    def action_point(self, steps: int) -> None:
        self._selected += steps
        self._draw()

    def action_zoom(self, steps: int) -> None:
        frame = self._frame or self._whole_frame()
        if frame is not None:
            self._frame = frame.zoomed(_ZOOM**-steps)
            self._draw()

    def action_pan(self, right: int, up: int) -> None:
        frame = self._frame or self._whole_frame()
        if frame is not None:
            self._frame = frame.panned(_PAN * right, _PAN * up)
            self._draw()

    def action_whole(self) -> None:
        self._frame = None
        self._draw()

    # ---- drawing --------------------------------------------------------------------------

    def _draw(self) -> None:
        if self.is_mounted and self.size.width:
            self.query_one("#plot", View).draw(self._picture())

    def _unit(self) -> str:
        if self._wanted != AUTOMATIC:
            return self._wanted
        gpu = self._gpu()
        return busiest_unit(gpu) if gpu else "fp32"

    def _gpu(self) -> LiveGpu | None:
        moment = self._history.last if self._history else None
        return self.dashboard.chosen_of(moment) if moment and moment.gpus else None

    def _line(self) -> tuple[Line, str]:
        """The roofline that is judged by, and why it is not the one that was asked for."""
        assert self._card is not None
        device = self._card.device
        line = line_of(device, peaks(device), (self._unit(),))
        run = self.dashboard.cards.ceilings_of(self._card)
        measured = measured_roofline(line, run) if run and self._is_measured else None
        levels = levels_of(run) if run and self._has_levels else ()
        is_lacking = run is None and (self._is_measured or self._has_levels)
        is_lacking |= self._is_measured and measured is None
        remark = "no ceilings were measured on this card: peaks" if is_lacking else ""
        return replace(measured or line, levels=levels), remark

    def _whole_frame(self) -> Frame | None:
        if self._card is None:
            return None
        try:
            line, _ = self._line()
        except KmeterError:
            return None
        return frame_of([line], self._placed(line, self._live()))

    def _placed(self, line: Line, live: Achieved | None) -> list[Placed]:
        """What the GPU does now, first; then what benchmarks reached."""
        now = live.point(NOW) if live else None
        points = (*([now] if now else []), *self.dashboard.points)
        return [line.place(point) for point in points]

    def _live(self) -> Achieved | None:
        gpu = self._gpu()
        return achieved(gpu, self._card.device, self._unit()) if gpu and self._card else None

    def _picture(self) -> RenderableType:
        if self._card is None:
            return Text(f"no roofline: {self._reason}")
        try:
            line, remark = self._line()
        except KmeterError as error:
            return Text(str(error))
        live = self._live()
        placed = self._placed(line, live)
        frame = self._frame or frame_of([line], [p for p in placed if _is_near(p, line)])
        height = max(_LEAST_HEIGHT, self.size.height - _AROUND_THE_PLOT)
        heading = Text.assemble(
            (line.device.name, "bold"), f", {', '.join(roof_text(roof) for roof in line.roofs)}",
            f" ({'measured' if self._is_measured and not remark else 'peaks'})",
        )  # fmt: skip
        return Group(
            heading,
            RooflinePlot([line], placed, frame=frame, height=height),
            Text(remark) if remark else _live_text(live),
            self._point_text(line, placed, frame),
        )

    def _point_text(self, line: Line, placed: list[Placed], frame: Frame) -> Text:
        if not placed:
            return Text("no points: run a benchmark in the Bench pane", style="dim")
        index = self._selected % len(placed)
        item = placed[index]
        point = item.point
        unit = f"{operation(line.compute.name)}/s"
        of_roof = _share_text(item, line)
        is_seen = frame.holds(
            point.arithmetic_intensity, point.flop_per_s or item.attainable_flop_per_s
        )
        words = (
            f"{mark(index)} {shortened(point.name, 24)}: {number(point.arithmetic_intensity)} {unit.removesuffix('/s')}/byte, "
            f"{si(point.flop_per_s, unit)}, {of_roof}"
        )
        return Text(words + ("" if is_seen else ", outside of the plot"), style="bold")


def _live_text(live: Achieved | None) -> Text:
    if live is None:
        return Text("nothing was read of this GPU yet", style="dim")
    if live.flop_per_s is None and live.dram_bytes_per_s is None:
        return Text(f"no live dot: {live.reason}")
    rate = si(live.flop_per_s, f"{operation(live.unit)}/s", 3)
    text = f"now: {label(live.unit)} {rate}, DRAM {si(live.dram_bytes_per_s, 'B/s', 3)}"
    return Text(f"{text}, by how busy they are{'' if live.flop_per_s else ': no dot'}")


def _share_text(item: Placed, line: Line) -> str:
    """How near a point comes to its roof; above it, another data type may be its own."""
    if item.above_roof:
        return f"above the {label(line.compute.name)} roof: d chooses another data type"
    share = percent(item.fraction_of_roof) if item.fraction_of_roof is not None else UNKNOWN
    return f"{share} of the roof, {item.bound}-bound"


def _is_near(placed: Placed, line: Line) -> bool:
    """Whether a point shall widen the plot: not one whose intensity is a thousand times the ridge's."""
    return line.ridge / 1e3 <= placed.point.arithmetic_intensity <= line.ridge * 1e3
