"""``kmeter bench``: is my kernel good, and did my change help?"""

from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson, LiveTarget, LockClocks
from kmeter.errors import CannotTellError, ExitCode, GateFailedError, NoGpuError, UsageError

if TYPE_CHECKING:
    from kmeter.bench.client import Client
    from kmeter.bench.settings import Settings
    from kmeter.model.benchmark import BenchRun, CacheState
    from kmeter.model.run_comparison import RowChange


def bench(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A Python file with @kmeter.benchmark.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only these benchmarks, or those of these tags."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-P", metavar="KEY=VALUE", help="Only this value. Repeatable."),
    ] = None,
    device: LiveTarget = "0",
    timer: Annotated[
        str | None,
        typer.Option("--timer", metavar="NAME", help="auto, events, graph, cupti or host."),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option("--cache", metavar="STATE", help="L2 before a call: cold, clean or warm."),
    ] = None,
    no_flush_l2: Annotated[
        bool, typer.Option("--no-flush-l2", help="The same as --cache warm.")
    ] = False,
    precision: Annotated[
        str, typer.Option("--precision", metavar="0.5%", help="Stop at this half interval.")
    ] = "0.5%",
    time_limit: Annotated[
        str, typer.Option("--time-limit", metavar="3s", help="The most time for a row's samples.")
    ] = "3s",
    max_samples: Annotated[
        int,
        typer.Option("--max-samples", metavar="N", min=1, max=1_000_000, help="The most of a row."),
    ] = 10_000,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="120s", help="A row silent for so long has hung.")
    ] = "120s",
    energy: Annotated[
        bool, typer.Option("--energy", help="Joules of a call, from a second of calls.")
    ] = False,
    lock_clocks: LockClocks = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Keep the run, all samples in it.")
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME", help="Keep the run in the history.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare", metavar="FILE|TAG", help="Against a saved run, or NVBench's JSON."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="FILE", help="Another benchmark file, timed in turns."),
    ] = None,
    fail_slower: Annotated[
        str, typer.Option("--fail-slower", metavar="5%", help="Exit 1 where slower by so much.")
    ] = "5%",
    across: Annotated[
        bool, typer.Option("--across", help="Compare two different cards all the same.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 4 where nobody can tell what changed.")
    ] = False,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write it for a pull request.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write one page with drawings.")
    ] = None,
    nvbench: Annotated[
        str | None, typer.Option("--nvbench", metavar="FILE", help="Write NVBench's JSON.")
    ] = None,
    shown: Annotated[
        str | None,
        typer.Option("--show", metavar="FILE|TAG", help="Run nothing, show a saved run."),
    ] = None,
    init: Annotated[
        str | None, typer.Option("--init", metavar="FILE", help="Write a first file to begin with.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="What the file holds; runs none.")] = False,
    history: Annotated[bool, typer.Option("--history", help="The runs kept by --tag.")] = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> int:
    """Time the kernels of a file, check them, and hold them against the roofline and a baseline."""
    from kmeter.cli import _bench_files as files

    if init is not None:
        return files.write_starter(init)
    if history:
        return files.show_history(as_json=as_json, ascii_mode=ascii_mode)
    if file is None and shown is None:
        raise UsageError("name a file", "kmeter bench --init FILE writes a first one")
    if against is not None and compare is not None:
        raise UsageError("--against and --compare are two ways to compare", "Take one of them")
    if shown is not None and against is not None:
        raise UsageError("--show runs nothing", "--show FILE --compare FILE compares saved runs")
    files.demand_writable(save, csv, markdown, html, nvbench)
    gate, baseline = _share(fail_slower), None
    if compare is not None:
        baseline = files.baseline(compare, file or "")
    if shown is not None:
        run = files.baseline(shown, file or "")
    else:
        client = _client(
            file or "", names or [], parameter or [], against or "", timeout, device,
            settings=_settings(timer, cache, no_flush_l2, precision, time_limit, max_samples, energy),
        )  # fmt: skip
        if listed:
            return files.show_list(client.listed(), as_json=as_json, ascii_mode=ascii_mode)
        run = _measured(client, tag, device, lock_clocks)
    is_whole = not names and not parameter
    stranger = None if baseline is None or across else _other_card(baseline, run)
    changes = () if stranger else _changes(run, baseline, against=against, is_whole=is_whole)
    other = against or compare or ""
    # Files first: nobody may be left to read what is shown.
    files.write_all(
        run, changes, other, save=save, csv=csv, markdown=markdown, html=html, nvbench=nvbench
    )
    files.show(run, changes, other, as_json=as_json, ascii_mode=ascii_mode)
    if not run.is_complete:
        return ExitCode.INTERRUPTED
    if stranger:
        raise UsageError(f"not compared, {stranger}", "--across compares all the same")
    _judge(run, changes, gate, strict=strict)
    return ExitCode.OK


def _settings(
    timer: str | None,
    cache: str | None,
    no_flush_l2: bool,
    precision: str,
    time_limit: str,
    max_samples: int,
    energy: bool,
) -> "Settings":
    from kmeter.bench.registry import TIMERS
    from kmeter.bench.settings import Settings
    from kmeter.units import quoted

    if timer is not None and timer not in TIMERS:
        raise UsageError(f"--timer is one of {', '.join(TIMERS)}, not {quoted(timer)}")
    wanted = _share(precision)
    if not wanted:
        raise UsageError("--precision is above 0")
    limit = _seconds(time_limit, "--time-limit")
    return Settings(timer, _cache(cache, no_flush_l2), wanted, limit, max_samples, energy)


def _cache(text: str | None, no_flush_l2: bool) -> "CacheState":
    from kmeter.model.benchmark import CacheState
    from kmeter.units import quoted

    states = [str(state) for state in (CacheState.COLD, CacheState.CLEAN, CacheState.WARM)]
    if text is not None and text not in states:
        raise UsageError(f"--cache is one of {', '.join(states)}, not {quoted(text)}")
    if no_flush_l2 and text not in {None, "warm"}:
        raise UsageError(f"--no-flush-l2 is --cache warm, not {text}")
    return CacheState(text or ("warm" if no_flush_l2 else "cold"))


def _share(text: str) -> float:
    from kmeter.units import parse_fraction

    return parse_fraction(text)


def _seconds(text: str, option: str) -> float:
    from kmeter.units import parse_seconds

    seconds = parse_seconds(text)
    if not 0 < seconds <= 86_400:
        raise UsageError(f"{option} is above 0 and at most a day")
    return seconds


def _client(
    file: str,
    names: list[str],
    parameters: list[str],
    against: str,
    timeout: str,
    device: str,
    settings: "Settings",
) -> "Client":
    from kmeter.bench.client import Client

    return Client(
        file,
        settings,
        against=against,
        names=names,
        narrowed=_narrowed(parameters),
        timeout_s=_seconds(timeout, "--timeout"),
        visible_device=_visible(device),
    )


def _narrowed(parameters: list[str]) -> dict[str, list[str]]:
    from kmeter.units import quoted

    found: dict[str, list[str]] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise UsageError(f"-P takes KEY=VALUE, not {quoted(text)}")
        found.setdefault(key, []).append(value)
    return found


def _visible(device: str) -> str | None:
    """The UUID of the one card that the file shall see; None for the first of all."""
    if device in {"0", "cuda:0"}:
        return None
    from kmeter.cli._live_card import live_name
    from kmeter.sources.cuda import open_machine

    try:
        card = open_machine(live_name(device)).cards[0]
    except NoGpuError as error:
        raise NoGpuError(error.message, "kmeter doctor says what is missing") from None
    if card.uuid is None:
        raise UsageError(f"{device} has no UUID to be chosen by", "Set CUDA_VISIBLE_DEVICES")
    return card.uuid


def _measured(
    client: "Client", tag: str | None, device: str, lock_clocks_mhz: int | None
) -> "BenchRun":
    """Run and follow; Ctrl-C ends it with the rows that were finished."""
    from kmeter.bench.collect import Collector
    from kmeter.bench.saved import checked_tag
    from kmeter.cli._interrupt import interruptible
    from kmeter.cli._live_card import at_clock
    from kmeter.cli._progress import BenchWatch, bar

    collector = Collector(None if tag is None else checked_tag(tag))
    with at_clock(device, lock_clocks_mhz), bar() as drawn, interruptible():
        watch = BenchWatch(drawn)
        try:
            for event in client.events():
                collector.take(event)
                watch.see(event)
        except KeyboardInterrupt:
            if not collector.has_begun:
                raise
    return collector.run


_MOST_NAMED = 5
"""Failures that the error's one line names."""

# ---- the gate -------------------------------------------------------------------------------


def _changes(
    run: "BenchRun",
    baseline: "BenchRun | None",
    *,
    against: str | None,
    is_whole: bool,
) -> "tuple[RowChange, ...]":
    from kmeter.model.run_comparison import against_rivals, compare_runs

    if against is not None:
        return against_rivals(run)
    return () if baseline is None else compare_runs(baseline, run, is_whole=is_whole)


def _other_card(baseline: "BenchRun", run: "BenchRun") -> str:
    """Why the two runs are not of one card; nothing where they are."""
    from kmeter.model.run_comparison import other_card

    return other_card(baseline.environment, run.environment)


def _judge(
    run: "BenchRun", changes: "tuple[RowChange, ...]", fail_slower: float, *, strict: bool
) -> None:
    """Raise GateFailedError or CannotTellError for what may not pass."""
    from kmeter.model.run_comparison import refused, undecided

    wrong = [f"{row.label} {row.outcome.in_words}" for row in run.failures]
    found = wrong + [item for item in refused(changes, fail_slower) if item not in wrong]
    if len(found) > _MOST_NAMED:
        found = [*found[:_MOST_NAMED], f"{len(found) - _MOST_NAMED} more"]
    if found:
        raise GateFailedError("; ".join(found))
    open_ones = undecided(changes)
    if strict and open_ones:
        raise CannotTellError(f"cannot tell: {', '.join(open_ones)}", "Take more samples")
