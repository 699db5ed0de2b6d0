"""``kmeter occupancy``: how much of an SM a launch fills, and what keeps it from more."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import DEFAULT_TARGET, Ascii, AsJson, Target
from kmeter.errors import GateFailedError, UsageError
from kmeter.model.launch_text import parse_blocks, parse_launch, parse_positive
from kmeter.units import parse_fraction, percent

if TYPE_CHECKING:
    from kmeter.model.architecture import Architecture
    from kmeter.model.device import Device
    from kmeter.model.launch import Launch
    from kmeter.model.launch_report import LaunchQuestion


def occupancy(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Compiled kernels instead of numbers: cubin, fatbin, library, object, PTX, "
            "ptxas -v's words (- is stdin), a Triton cache's folder.",
            show_default=False,
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option("--block", "-b", metavar="N|NxN|NxNxN", help="Threads per block."),
    ] = None,
    regs: Annotated[int, typer.Option("--regs", "-r", help="Registers per thread.")] = 0,
    smem: Annotated[
        str, typer.Option("--smem", metavar="SIZE", help="Static shared memory per block (48KiB).")
    ] = "0",
    dynamic_smem: Annotated[
        str, typer.Option("--dynamic-smem", metavar="SIZE", help="Dynamic shared memory per block.")
    ] = "0",
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc", metavar="X.Y", help="Compute capability instead of a card: 8.6, sm_90a."
        ),
    ] = None,
    device: Target = None,
    carveout: Annotated[
        int | None,
        typer.Option("--carveout", metavar="PERCENT", help="Preferred share of shared memory."),
    ] = None,
    barriers: Annotated[int, typer.Option("--barriers", help="Named barriers a block uses.")] = 0,
    launch_bounds: Annotated[
        str | None,
        typer.Option("--launch-bounds", metavar="MAX[,MIN]", help="As in __launch_bounds__."),
    ] = None,
    grid: Annotated[
        str | None, typer.Option("--grid", metavar="N|NxN|NxNxN", help="Blocks: show the waves.")
    ] = None,
    sms: Annotated[int | None, typer.Option("--sms", help="SMs of the GPU, for --grid.")] = None,
    cluster: Annotated[
        int | None, typer.Option("--cluster", metavar="N", help="Blocks per cluster.")
    ] = None,
    gpcs: Annotated[
        str | None,
        typer.Option("--gpcs", metavar="N,N,…", help="SMs of each GPC, to count clusters."),
    ] = None,
    assume_cc: Annotated[
        str | None,
        typer.Option("--assume-cc", metavar="X.Y", help="Limits to use for a newer --cc."),
    ] = None,
    heatmap: Annotated[
        bool, typer.Option("--heatmap", help="Draw block size x registers instead.")
    ] = False,
    require: Annotated[
        str | None,
        typer.Option(
            "--require", metavar="SHARE", help="Exit 1 where occupancy is below it: 50% or 0.5."
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="REGEX", help="Of FILE, kernels so called.")
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="sm_90", help="Of FILE, kernels for it; what a text lacks."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort", metavar="KEY", help="Of FILE: occupancy, registers, shared, spills, name."
        ),
    ] = None,
    diff: Annotated[
        str | None, typer.Option("--diff", metavar="FILE", help="A newer build: what changed.")
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="GATE,…",
            help="With --diff, exit 1 on lower-occupancy, spills, registers, shared, missing.",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", help="Write --diff for a pull request."),
    ] = None,
    sarif: Annotated[
        str | None,
        typer.Option("--sarif", metavar="FILE", help="Write what --fail-on found as SARIF."),
    ] = None,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """Theoretical occupancy of a launch, or of compiled kernels: exact, without a GPU."""
    if files:
        from kmeter.cli._kernel_files import FileQuestion, answer

        _refuse_numbers({
            "--regs": regs, "--smem": smem != "0", "--barriers": barriers, "--cluster": cluster,
            "--launch-bounds": launch_bounds, "--grid": grid, "--gpcs": gpcs, "--sms": sms,
            "--heatmap": heatmap, "--assume-cc": assume_cc,
        })  # fmt: skip
        answer(
            FileQuestion(
                files, block, dynamic_smem, cc, device, carveout, require, kernel, arch, sort, diff,
                fail_on, markdown, sarif, as_json, ascii_mode,
            )
        )  # fmt: skip
        return
    if block is None:
        raise UsageError("--block or a FILE says what is asked", "kmeter occupancy --help")
    if any((kernel, arch, sort, diff, fail_on, markdown, sarif)):
        raise UsageError("--kernel, --arch, --sort and --diff are for a FILE of compiled kernels")
    from kmeter.cli.output import show, show_json
    from kmeter.model.launch_report import launch_report

    required = 0.0 if require is None else parse_fraction(require)
    chosen = _open(device, cc)
    sm, assumed_for = _architecture(chosen, cc, assume_cc)
    max_threads, min_blocks = _launch_bounds(launch_bounds)
    launch = parse_launch(block, regs, smem, dynamic_smem, carveout, barriers, max_threads)
    question = _question(launch, min_blocks, grid, sms, cluster, gpcs, chosen)
    report = launch_report(sm, question)
    if as_json:
        from kmeter.views.occupancy_json import occupancy_document

        show_json(occupancy_document(report, chosen, assumed_for))
    elif heatmap:
        from kmeter.views.heatmap import Heatmap

        show(Heatmap(sm, launch), ascii_mode=ascii_mode)
    else:
        from kmeter.views.occupancy import OccupancyView

        show(OccupancyView(report, assumed_for), ascii_mode=ascii_mode)
    if report.occupancy.fraction < required:
        reached = percent(report.occupancy.fraction)
        raise GateFailedError(f"{reached} occupancy is below the {percent(required)} of --require")


# ---- what the options mean ------------------------------------------------------------------


def _refuse_numbers(told: Mapping[str, object]) -> None:
    """What a file says itself, and what is of one launch alone."""
    given = [option for option, value in told.items() if value]
    if given:
        raise UsageError(f"{given[0]} does not go with a FILE, which says what its kernels need")


def _open(device: str | None, cc: str | None) -> "Device | None":
    if device is not None and cc is not None:
        raise UsageError("--cc and --device both say which GPU", "Give one of them")
    if cc is not None:
        return None
    from kmeter.sources import open_device

    return open_device(DEFAULT_TARGET if device is None else device)


def _architecture(
    device: "Device | None", cc: str | None, assume_cc: str | None
) -> tuple["Architecture", str]:
    """The row, and the compute capability it stands in for where it is assumed."""
    from kmeter.model.architecture import (
        architecture,
        compute_capability,
        known_architecture,
    )

    wanted = compute_capability(device.compute_capability if device else cc or "")
    found = known_architecture(wanted)
    if found is None and assume_cc is not None:
        return architecture(assume_cc), wanted
    if assume_cc is not None:
        raise UsageError(f"compute capability {wanted} is in the table", "Leave out --assume-cc")
    return architecture(wanted), ""


def _question(
    launch: "Launch",
    min_blocks: int | None,
    grid: str | None,
    sms: int | None,
    cluster: int | None,
    gpcs: str | None,
    device: "Device | None",
) -> "LaunchQuestion":
    from kmeter.model.launch_report import LaunchQuestion

    for option, value in (("--sms", sms), ("--cluster", cluster)):
        if value is not None and value < 1:
            raise UsageError(f"{option} is 1 or more, not {value}")
    layout = tuple(parse_positive(part, "--gpcs") for part in gpcs.split(",")) if gpcs else ()
    count = sms if sms is not None else device.sm_count if device else None
    if layout and count is not None and sum(layout) != count:
        raise UsageError(f"--gpcs add up to {sum(layout)} SMs, and the GPU has {count}")
    return LaunchQuestion(
        launch=launch,
        min_blocks=min_blocks,
        grid=parse_blocks(grid) if grid is not None else None,
        sm_count=count or sum(layout) or None,
        cluster_size=cluster,
        sms_per_gpc=layout,
    )


def _launch_bounds(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 1024, None
    numbers = [parse_positive(part, "--launch-bounds") for part in text.split(",")]
    if len(numbers) > 2 or numbers[0] > 1024:
        raise UsageError(
            f"{text!r} are no launch bounds", "Write MAX or MAX,MIN, with MAX at most 1024"
        )
    return numbers[0], numbers[1] if len(numbers) == 2 else None
