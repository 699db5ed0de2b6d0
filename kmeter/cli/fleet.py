"""``kmeter fleet``: which of many GPUs is slower than its like."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import CannotTellError, ExitCode, GateFailedError, KmeterError, UsageError
from kmeter.units import parse_seconds, quoted

if TYPE_CHECKING:
    from kmeter.cli._fleet_progress import FleetWatch
    from kmeter.fleet.reports import Gathered, Unreadable
    from kmeter.fleet.run import FleetRun
    from kmeter.model.ceiling import CeilingRun
    from kmeter.model.fleet import Verdict

fleet = typer.Typer()


@fleet.callback(invoke_without_command=True)
def judged(context: typer.Context) -> None:
    """Which of many GPUs is slower than its like, and why."""
    if context.invoked_subcommand is None:
        print(context.get_help())


Html = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Write one page with every strip.")
]
Prometheus = Annotated[
    str | None,
    typer.Option("--prometheus", metavar="FILE", help="Write a textfile collector's .prom."),
]
Expect = Annotated[
    int | None,
    typer.Option("--expect", metavar="N", min=1, help="Exit 1 where fewer GPUs reported."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit 4 where not all could be read and judged.")
]


class Outputs:
    """Files that a verdict goes to; raises UsageError where one cannot be."""

    def __init__(self, html: str | None, prometheus: str | None) -> None:
        if html is not None and html == prometheus:
            raise UsageError("--html and --prometheus cannot be one file")
        for path in filter(None, (html, prometheus)):
            folder = Path(path).resolve().parent
            if not folder.is_dir():
                raise UsageError(f"cannot write {quoted(path, 200)}: there is no {folder}")
        self._html, self._prometheus = html, prometheus

    def write(self, verdict: "Verdict", unreadable: "Sequence[Unreadable]") -> None:
        """Write those that are wanted."""
        from kmeter.files import write_whole

        if self._html is not None:
            from kmeter.views.fleet_html import fleet_html

            write_whole(self._html, fleet_html(verdict, unreadable))
        if self._prometheus is not None:
            from kmeter.views.prometheus_fleet import fleet_metrics

            write_whole(self._prometheus, fleet_metrics(verdict))


@fleet.command()
def report(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Folders of kmeter ceiling --save-to, or files."),
    ],
    html: Html = None,
    prometheus: Prometheus = None,
    expect: Expect = None,
    strict: Strict = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> int:
    """Judge what GPUs reported into files, each against the median of its like.

    GPUs of one model and power limit are compared test by test; one is flagged where it falls short
    of the median by more than max(3 %, 5 x MAD). Exit 1 where one is flagged.
    """
    from kmeter.fleet.reports import gather
    from kmeter.model.fleet_verdict import judge

    outputs = Outputs(html, prometheus)
    gathered = gather(paths)
    if not gathered.reports:
        raise UsageError(_nothing(gathered), "kmeter ceiling --quick --save-to DIR writes reports")
    told = Told(judge(gathered.reports), gathered.unreadable)
    told.publish(outputs, as_json=as_json, ascii_mode=ascii_mode)
    told.judge(expect, strict=strict)
    return ExitCode.OK


@fleet.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Ceilings or the beginning of their names."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Of dask.distributed, or its file."),
    ] = None,
    is_local: Annotated[
        bool, typer.Option("--local", help="Over the GPUs of this machine alone.")
    ] = False,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="As long as kmeter ceiling does, not --quick.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="Who is silent for longer hangs.")
    ] = "180s",
    save_to: Annotated[
        Path | None, typer.Option("--save-to", metavar="DIR", help="Keep the reports, too.")
    ] = None,
    html: Html = None,
    prometheus: Prometheus = None,
    expect: Expect = None,
    strict: Strict = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> int:
    """Measure every GPU that the workers of a Dask scheduler see, and judge them.

    One GPU of a host is measured at a time, and one that is slow once more. A worker that dies or
    hangs keeps nobody else. Exit 1 where a GPU is flagged.
    """
    from kmeter.cli._fleet_progress import fleet_watch
    from kmeter.cli._interrupt import interruptible, unheard
    from kmeter.fleet.cluster import connected, local
    from kmeter.fleet.plan import Patience, Plan
    from kmeter.fleet.run import FleetRun
    from kmeter.measure.catalogue import chosen_names
    from kmeter.measure.plan import Options

    if is_local == (scheduler is not None):
        raise UsageError("either --scheduler ADDRESS or --local", "kmeter fleet run --local")
    outputs = Outputs(html, prometheus)
    chosen = chosen_names(names or [], quick=not thorough)
    patience = Patience(silence_s=_silence_s(timeout))
    plan = Plan(chosen, Options(not thorough, None, None, None), patience=patience)
    keep = Keeper(save_to)
    with interruptible(), ExitStack() as later:
        with fleet_watch() as watch:
            if scheduler is None:
                with unheard():
                    workers = later.enter_context(local())
            else:
                workers = later.enter_context(connected(scheduler))
            measuring = FleetRun(workers, plan, watch, keep)
            verdict, ending = _measured(measuring, watch)
        for measured in measuring.runs.values():
            keep(measured)
        told = Told(verdict, left_out=measuring.left_out)
        told.publish(outputs, as_json=as_json, ascii_mode=ascii_mode)
    error = ending or keep.error
    if error is not None:
        raise error
    told.judge(expect, strict=strict)
    return ExitCode.OK


def _silence_s(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds < 1:
        raise UsageError(f"--timeout is a second or more, not {quoted(text)}")
    return seconds


class Keeper:
    """Writes reports into a folder; what cannot be written costs no measurement.

    Raises UsageError for what cannot be a folder.
    """

    def __init__(self, folder: Path | None) -> None:
        self.error: KmeterError | None = None
        """The first one."""
        self._folder = folder
        if folder is not None:
            from kmeter.fleet.reports import ready_folder

            ready_folder(folder)

    def __call__(self, run: "CeilingRun") -> None:
        """Keep a run, where there is a folder."""
        if self._folder is None:
            return
        from kmeter.fleet.reports import save_report

        try:
            save_report(run, self._folder)
        except KmeterError as error:
            self.error = self.error or error


def _measured(
    measuring: "FleetRun", watch: "FleetWatch"
) -> "tuple[Verdict, KeyboardInterrupt | KmeterError | None]":
    """The verdict, and what ended it too early; by then something must have been measured."""
    from kmeter.fleet.second_look import measured_and_judged, verdict_of

    try:
        return measured_and_judged(measuring, watch.again), None
    except (KeyboardInterrupt, KmeterError) as ending:
        measuring.stop()
        if not measuring.runs:
            raise
        return verdict_of(measuring.runs.values()), ending


def _nothing(gathered: "Gathered") -> str:
    if not gathered.unreadable:
        return "there is no report"
    first, others = gathered.unreadable[0], len(gathered.unreadable) - 1
    more = f", and {others} more" if others else ""
    return f"there is no report: {first.path}: {first.reason}{more}"


class Told(NamedTuple):
    """A verdict, and what it says nothing about."""

    verdict: "Verdict"
    unreadable: "Sequence[Unreadable]" = ()
    left_out: Sequence[str] = ()
    """Workers and GPUs that a run did not hear of."""

    @property
    def is_certain(self) -> bool:
        """Whether every GPU could be read and judged."""
        return self.verdict.is_certain and not self.unreadable and not self.left_out

    def publish(self, outputs: Outputs, *, as_json: bool, ascii_mode: bool) -> None:
        """Write the files, then show it, also where one of them could not be written."""
        try:
            outputs.write(self.verdict, self.unreadable)
        finally:
            self._show(as_json=as_json, ascii_mode=ascii_mode)

    def _show(self, *, as_json: bool, ascii_mode: bool) -> None:
        from kmeter.cli.output import show, show_json

        if as_json:
            from kmeter.views.fleet_json import fleet_document

            show_json(fleet_document(*self, is_certain=self.is_certain))
        else:
            from kmeter.views.fleet import FleetView

            show(FleetView(self.verdict, self.unreadable), ascii_mode=ascii_mode)

    def judge(self, expected: int | None, *, strict: bool) -> None:
        """Raise GateFailedError where a GPU is missing or flagged, CannotTellError where not all is known."""
        found, flagged = len(self.verdict.reports), self.verdict.flagged
        if expected is not None and found < expected:  # what is not there tells of no fault
            raise GateFailedError(f"{found} of {expected} GPUs reported")
        if flagged:
            from kmeter.views.fleet import counted, gpu_text

            named = "; ".join(" ".join(gpu_text(gpu).split()) for gpu in flagged[:3])
            more = f"; {len(flagged) - 3} more" if len(flagged) > 3 else ""
            verb = "stands" if len(flagged) == 1 else "stand"
            count = f"{len(flagged)} of {counted(found, 'GPU')}"
            raise GateFailedError(f"{count} {verb} out: {named}{more}")
        if strict and not self.is_certain:
            raise CannotTellError("not every GPU could be read and judged")
