"""``kmeter roofline``: where the limit lies, and how near kernels come."""

from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import DEFAULT_TARGET, Ascii, AsJson, Target
from kmeter.errors import GateFailedError, UsageError

if TYPE_CHECKING:
    from kmeter.cli._profiles import Profiles
    from kmeter.model.device import Device
    from kmeter.model.roofline import KernelPoint, Placed, Roofline

_POINT_FORM = "Write NAME,flop=2.1GFLOP,bytes=48MiB,time=120us"


def roofline(
    device: Target = None,
    dtype: Annotated[
        list[str] | None,
        typer.Option(
            "--dtype", metavar="TYPE", help="fp32, fp16-tensor, …; the first judges. Repeatable."
        ),
    ] = None,
    ai: Annotated[
        list[str] | None,
        typer.Option("--ai", metavar="X", help="Arithmetic intensity, FLOP/byte. Repeatable."),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            "--point",
            metavar="NAME,flop=,bytes=,time=",
            help="A kernel as measured: flop=2.1GFLOP, bytes=48MiB, time=120us; a bare number "
            "counts FLOP, bytes, seconds. Repeatable.",
        ),
    ] = None,
    ncu: Annotated[
        list[str] | None,
        typer.Option(
            "--ncu",
            metavar="FILE",
            help="Kernels as Nsight Compute (CSV, .ncu-rep), nvprof or kmeter bench --save "
            "counted them. Repeatable.",
        ),
    ] = None,
    peak_bw: Annotated[
        str | None,
        typer.Option("--peak-bw", metavar="GB/s", help="DRAM bandwidth instead of the derived."),
    ] = None,
    peak_tflops: Annotated[
        str | None,
        typer.Option("--peak-tflops", metavar="TF", help="Compute peak instead of the derived."),
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write the points as CSV.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Write the drawing as SVG.")
    ] = None,
    theme: Annotated[
        str, typer.Option("--theme", metavar="auto|light|dark", help="Colours of the SVG.")
    ] = "auto",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 where a point lies above its roof.")
    ] = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """The roofline of a card, and kernels placed under it."""
    from kmeter.model.peaks import peaks
    from kmeter.model.roofline import roofline as make_roofline
    from kmeter.units import quoted

    bandwidth = _peak(peak_bw, "B", 1e9, "--peak-bw")
    peak = _peak(peak_tflops, "FLOP", 1e12, "--peak-tflops")
    points = [_intensity(text) for text in ai or ()] + [_point(text) for text in point or ()]
    profiles = _profiles(ncu or [])
    of_profiles = profiles.units if profiles else ()
    units = tuple(units_named(dtype or list(of_profiles) or ["fp32"]))
    opened, uuid = _open(device, given=bandwidth is not None and peak is not None)
    line = make_roofline(opened, peaks(opened), units, dram_bytes_per_s=bandwidth, flop_per_s=peak)
    line, measured = _with_ceilings(line, uuid)
    placed, remarks = [line.place(point) for point in points], list[str]()
    if profiles is not None:
        found = profiles.placed(line)
        placed, remarks = placed + found.placed, found.remarks
    _write_files(line, placed, csv, svg, theme)
    _show(line, placed, measured, remarks, as_json=as_json, ascii_mode=ascii_mode)
    above = [item.point.name for item in placed if item.above_roof]
    if strict and above:
        raise GateFailedError(f"above the roof: {', '.join(map(quoted, above))}")


def _open(target: str | None, *, given: bool) -> tuple["Device", str | None]:
    """The device, and of a card of this machine or a recording the UUID."""
    if target is None and given:
        return _given_device(), None
    from kmeter.sources import open_device, open_machine, resolve

    target = DEFAULT_TARGET if target is None else target
    if resolve(target)[0] == "catalogue":
        return open_device(target), None
    card = open_machine(target).cards[0]
    return card.device, card.uuid


def _profiles(files: list[str]) -> "Profiles | None":
    if not files:
        return None
    from kmeter.cli._profiles import read_profiles

    return read_profiles(files)


def _with_ceilings(line: "Roofline", uuid: str | None) -> "tuple[Roofline, Roofline | None]":
    """The roofs, with those of nearer memories, and all by the ceilings saved for this very card."""
    if uuid is None:
        return line, None
    from dataclasses import replace

    from kmeter.model.measured_roofline import levels_of, measured_roofline
    from kmeter.sources._ceilings import saved_ceilings

    try:
        run = saved_ceilings(uuid)
    except UsageError as error:
        from kmeter.cli.output import warn

        warn(f"no ceilings: {error}")
        return line, None
    if run is None:
        return line, None
    return replace(line, levels=levels_of(run)), measured_roofline(line, run)


def _given_device() -> "Device":
    from kmeter.model.device import Device, Source

    return Device(
        target="given",
        source=Source.GIVEN,
        name="Given peaks",
        compute_capability="",
        architecture=None,
    )


def _write_files(
    line: "Roofline", placed: "list[Placed]", csv: str | None, svg: str | None, theme: str
) -> None:
    from kmeter.files import write_whole

    if theme not in {"auto", "light", "dark"}:
        raise UsageError(f"--theme is auto, light or dark, not {theme!r}")
    if csv is not None:
        from kmeter.views.roofline_json import points_csv

        write_whole(csv, points_csv(placed))
    if svg is not None:
        from kmeter.views.roofline_svg import roofline_svg

        write_whole(svg, roofline_svg(line, placed, theme))


def _show(
    line: "Roofline",
    placed: "list[Placed]",
    measured: "Roofline | None",
    remarks: list[str],
    *,
    as_json: bool,
    ascii_mode: bool,
) -> None:
    from kmeter.cli.output import show, show_json

    if as_json:
        from kmeter.views.roofline_json import roofline_document

        show_json(roofline_document(line, placed, measured, remarks))
    else:
        from kmeter.views.roofline import RooflineView

        show(RooflineView(line, placed, measured, tuple(remarks)), ascii_mode=ascii_mode)


# ---- what the options mean ------------------------------------------------------------------


def units_named(texts: list[str]) -> list[str]:
    """The compute units that ``--dtype`` names: repeated, or separated by commas.

    Raises UsageError, listing the known ones.
    """
    from kmeter.model.compute_units import UNITS, unit_named

    units = []
    for text in ",".join(texts).split(","):
        unit = unit_named(text)
        if unit is None:
            known = ", ".join(unit.replace("_", "-") for unit in UNITS)
            raise UsageError(f"{text.strip()!r} is no data type", f"Known: {known}")
        if unit not in units:
            units.append(unit)
    return units


def parse_intensity(text: str) -> float:
    """FLOP/byte, above 0 and finite; raises UsageError."""
    from kmeter.units import parse_positive

    return parse_positive(
        text,
        no_number=f"--ai takes FLOP per byte, not {text!r}",
        out_of_range=f"an arithmetic intensity is above 0 and finite, not {text}",
    )


def _intensity(text: str) -> "KernelPoint":
    from kmeter.model.roofline import KernelPoint
    from kmeter.units import number

    value = parse_intensity(text)
    return KernelPoint(f"AI {number(value)}", value)


def _point(text: str) -> "KernelPoint":
    """``NAME,flop=…,bytes=…,time=…``, the three in any order."""
    from kmeter.model.roofline import KernelPoint
    from kmeter.units import parse_amount, parse_seconds, quoted

    name, *parts = text.split(",")
    amounts = {}
    for part in parts:
        key, equals, amount = part.partition("=")
        if not equals or key.strip() in amounts:
            raise UsageError(f"--point {quoted(text)}: {quoted(part)} is no new key", _POINT_FORM)
        amounts[key.strip()] = amount
    if set(amounts) != {"flop", "bytes", "time"} or not name.strip():
        raise UsageError(f"--point {quoted(text)} needs a name, flop, bytes and time", _POINT_FORM)
    return KernelPoint.timed(
        _printable(name),
        flop=parse_amount(amounts["flop"], "FLOP"),
        bytes_moved=parse_amount(amounts["bytes"], "B"),
        seconds=parse_seconds(amounts["time"]),
    )


def _printable(name: str) -> str:
    """A name without what would move a cursor, break an XML document or not be UTF-8."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in name).strip()


def _peak(text: str | None, unit: str, bare: float, option: str) -> float | None:
    from kmeter.units import parse_rate

    value = None if text is None else parse_rate(text, unit, bare)
    if value is not None and not value > 0:
        raise UsageError(f"{option} must be above 0, not {value:g}")
    return value
