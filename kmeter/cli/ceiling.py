"""``kmeter ceiling``: what the card really delivers, measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson, LockClocks
from kmeter.errors import ExitCode, GateFailedError, UsageError

if TYPE_CHECKING:
    from kmeter.measure.plan import Options
    from kmeter.model.ceiling import CeilingRun

EVERY = "all"
"""Every GPU of this machine."""


def ceiling(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Ceilings or the beginning of their names."),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            "-d",
            metavar="TARGET",
            help="Ordinal, UUID or bus id; all, one after another.",
        ),
    ] = "0",
    quick: Annotated[bool, typer.Option("--quick", help="The main ones, under 10 s.")] = False,
    repeat: Annotated[
        int | None, typer.Option("--repeat", metavar="N", min=1, max=1000, help="Samples of each.")
    ] = None,
    mb: Annotated[
        str | None,
        typer.Option("--mb", metavar="N", help="MiB of each DRAM array instead of the planned."),
    ] = None,
    matmul_n: Annotated[
        int | None,
        typer.Option("--matmul-n", metavar="N", min=16, max=65536, help="The one matrix size."),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="FILE",
            help="Exit 1 where one is below a reference: a file, or h200.",
        ),
    ] = None,
    tolerance: Annotated[
        str, typer.Option("--tolerance", metavar="5%", help="How much --check allows.")
    ] = "5%",
    lock_clocks: LockClocks = None,
    save: Annotated[
        bool, typer.Option("--save/--no-save", help="Keep them for roofline and bench.")
    ] = True,
    save_to: Annotated[
        Path | None,
        typer.Option("--save-to", metavar="DIR", help="Write a report there for kmeter fleet."),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="FILE", help="Measure nothing, show a file, or h200."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="What there is to measure.")] = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> int:
    """What the card really delivers at every level, measured. Nothing changes its clocks."""
    if listed:
        _list(as_json=as_json, ascii_mode=ascii_mode)
        return ExitCode.OK
    if show is not None:
        if save_to is not None:
            raise UsageError("--show measures nothing: --save-to does not go with it")
        _show(_reference(show), as_json=as_json, ascii_mode=ascii_mode)
        return ExitCode.OK
    from kmeter.measure.catalogue import chosen_names

    chosen = chosen_names(names or [], quick=quick)
    reference, allowed = None if check is None else _reference(check), _tolerance(tolerance)
    options = _options(quick, repeat, mb, matmul_n)
    if save_to is not None:
        from kmeter.fleet.reports import ready_folder

        ready_folder(save_to)
    if device == EVERY:
        if as_json or lock_clocks or check or save_to is None:
            raise UsageError(
                "-d all goes with --save-to DIR, and not with --json, --check or --lock-clocks"
            )
        return _every(chosen, options, save_to, save=save, ascii_mode=ascii_mode)
    run = _measure(device, chosen, options, lock_clocks)
    if save:
        _save(run)
    if save_to is not None:
        _report(run, save_to)
    _show(run, as_json=as_json, ascii_mode=ascii_mode)
    if not run.is_complete:
        return ExitCode.INTERRUPTED
    _judge(run, reference, allowed)
    return ExitCode.OK


def _options(quick: bool, repeat: int | None, mb: str | None, matmul_n: int | None) -> "Options":
    from kmeter.measure.plan import Options

    return Options(quick, repeat, None if mb is None else _array_bytes(mb), matmul_n)


def _array_bytes(text: str) -> int:
    from kmeter.units import parse_positive, quoted

    wrong = f"--mb takes the MiB of an array, not {quoted(text)}"
    return max(1, round(parse_positive(text, wrong, wrong))) * 2**20


def _measure(
    device: str, chosen: list[str], options: "Options", lock_clocks_mhz: int | None
) -> "CeilingRun":
    """Measure and follow; Ctrl-C ends it with what was finished."""
    from kmeter.cli._interrupt import interruptible
    from kmeter.cli._live_card import at_clock, live_name
    from kmeter.cli._progress import CeilingWatch, bar
    from kmeter.measure.client import Client
    from kmeter.measure.collect import Collector

    collector = Collector()
    with at_clock(device, lock_clocks_mhz), bar() as drawn, interruptible():
        watch = CeilingWatch(drawn)
        try:
            for event in Client(live_name(device), options).events(chosen):
                collector.take(event)
                watch.see(event)
        except KeyboardInterrupt:
            if not collector.has_begun:
                raise
    return collector.run


def _show(run: "CeilingRun", *, as_json: bool, ascii_mode: bool) -> None:
    from kmeter.cli.output import show, show_json

    if as_json:
        from kmeter.views.ceiling_json import ceiling_document

        show_json(ceiling_document(run))
    else:
        from kmeter.views.ceiling import CeilingView

        show(CeilingView(run), ascii_mode=ascii_mode)


def _list(*, as_json: bool, ascii_mode: bool) -> None:
    from kmeter.cli.output import show, show_json
    from kmeter.measure.catalogue import described

    found = described()
    if as_json:
        show_json({"schema": "kmeter.ceiling-list/1", "ceilings": [d._asdict() for d in found]})
        return
    from kmeter.views.tables import Pairs

    show(Pairs([(d.name, d.what) for d in found]), ascii_mode=ascii_mode)


def _save(run: "CeilingRun") -> None:
    """Keep what was measured, with what the file already has of this card."""
    import json

    from kmeter.cli.output import warn
    from kmeter.files import write_whole
    from kmeter.model.ceiling import merged
    from kmeter.sources._ceilings import ceilings_file, saved_ceilings
    from kmeter.views.ceiling_json import ceiling_document

    try:
        path = ceilings_file(run.uuid)
        try:
            old = saved_ceilings(run.uuid)
        except UsageError as error:
            warn(f"{error}; it is replaced")
            old = None
        document = ceiling_document(merged(old, run))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), json.dumps(document, indent=1, allow_nan=False) + "\n")
    except (UsageError, OSError) as error:
        warn(f"the ceilings are not saved: {error}")


# ---- reports of a fleet ---------------------------------------------------------------------


def _report(run: "CeilingRun", folder: Path) -> None:
    """Keep this run alone, as kmeter fleet reads it."""
    from kmeter.cli.output import warn
    from kmeter.fleet.reports import save_report

    path = save_report(run, folder)
    warn(f"reported to {path}" if path else "interrupted: the earlier report is kept")


def _every(
    chosen: list[str], options: "Options", folder: Path, *, save: bool, ascii_mode: bool
) -> int:
    """Measure each GPU of this machine while the others rest; raises GateFailedError where one fails.

    Only a terminal is shown what was measured: a launcher would gather it from a thousand hosts.
    """
    import sys

    from kmeter.cli._interrupt import interruptible
    from kmeter.cli._progress import CeilingWatch, bar
    from kmeter.fleet.gpu import client_of, gpus_here, measured

    failed: list[str] = []
    for gpu in gpus_here():
        with bar() as drawn, interruptible():
            run = measured(gpu, client_of(gpu, options), chosen, CeilingWatch(drawn).see)
        if save and run.ceilings:
            _save(run)
        _report(run, folder)
        if run.ceilings and sys.stdout.isatty():
            _show(run, as_json=False, ascii_mode=ascii_mode)
        if run.was_interrupted:
            return ExitCode.INTERRUPTED
        failed += _failures(run)
    if failed:
        raise GateFailedError("; ".join(failed))
    return ExitCode.OK


def _failures(run: "CeilingRun") -> "Iterator[str]":
    """What is wrong with a GPU, each after its name."""
    if run.refusal:
        yield f"{run.called}: {run.refusal}"
    if run.failed:
        yield f"{run.called} failed {', '.join(run.failed)}"


# ---- the gate -------------------------------------------------------------------------------


def _reference(path: str) -> "CeilingRun":
    from kmeter.sources._ceilings import reference_ceilings

    return reference_ceilings(path)


def _tolerance(text: str) -> float:
    from kmeter.units import parse_fraction

    return parse_fraction(text)


def _judge(run: "CeilingRun", reference: "CeilingRun | None", tolerance: float) -> None:
    """Raise GateFailedError where a probe failed, or one is below the reference."""
    from kmeter.model.ceiling_check import shortfalls
    from kmeter.views.ceiling import shortfall_text

    if run.failed:
        raise GateFailedError(f"failed: {', '.join(run.failed)}")
    if reference is None:
        return
    names = tuple(c.name for c in run.ceilings)
    found = shortfalls(run, reference, names, tolerance)
    if found:
        raise GateFailedError(f"below the reference: {'; '.join(map(shortfall_text, found))}")
