"""What ``kmeter bench`` prints and writes beside its measuring."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kmeter.cli.output import show as print_view
from kmeter.cli.output import show_json
from kmeter.errors import ExitCode, UsageError
from kmeter.files import write_whole
from kmeter.units import quoted

if TYPE_CHECKING:
    from kmeter.bench.events import CaseInfo
    from kmeter.model.benchmark import BenchRun
    from kmeter.model.run_comparison import RowChange


def write_starter(file: str) -> int:
    """Write a first file; one that is there already is left alone."""
    from kmeter.bench.starter import starter

    if not file:
        raise UsageError("--init needs a file's name", "kmeter bench --init mine.py")
    if Path(file).exists():
        raise UsageError(f"{file} is there already")
    write_whole(file, starter(file))
    print(f"{file} is written. Run it: kmeter bench {file}")
    return ExitCode.OK


def show_list(cases: "list[CaseInfo]", *, as_json: bool, ascii_mode: bool) -> int:
    """The rows that a file would have."""
    import msgspec

    if as_json:
        show_json({"schema": "kmeter.bench-list/1", "cases": msgspec.to_builtins(cases)})
        return ExitCode.OK
    from kmeter.views.tables import Column, WideOrStacked

    columns = [
        Column(name, right=False)
        for name in ("benchmark", "checked", "counts", "dtype", "timer", "tags")
    ]
    rows = [
        (case.label, "yes" if case.has_reference else "no", _counts(case), case.dtype or "–", case.timer,
         ", ".join(case.tags) or "–")
        for case in cases
    ]  # fmt: skip
    print_view(WideOrStacked(columns, rows), ascii_mode=ascii_mode)
    return ExitCode.OK


def _counts(case: "CaseInfo") -> str:
    found = ["bytes"] * case.counts_bytes + ["FLOP"] * case.counts_flop
    return ", ".join(found) or "–"


def show_history(*, as_json: bool, ascii_mode: bool) -> int:
    """The tags, and the files of each."""
    from kmeter.bench.saved import tags
    from kmeter.views.tables import Pairs

    known = tags()
    if as_json:
        kept = {tag: [str(path) for path in paths] for tag, paths in known.items()}
        show_json({"schema": "kmeter.bench-history/1", "tags": kept})
    elif known:
        rows = [(tag, str(path)) for tag, paths in known.items() for path in paths]
        print_view(Pairs(rows), ascii_mode=ascii_mode)
    else:
        print("No run is kept yet: kmeter bench FILE --tag NAME keeps one.")
    return ExitCode.OK


def baseline(name: str, file: str) -> "BenchRun":
    """The run to compare with, read before anything is measured."""
    from kmeter.bench.saved import baseline as kept

    return kept(name, file)


def show(
    run: "BenchRun",
    changes: "tuple[RowChange, ...]",
    other: str,
    *,
    as_json: bool,
    ascii_mode: bool,
) -> None:
    """Print the run, and what changed against another."""
    if as_json:
        from kmeter.views.bench_json import bench_document, changes_document

        compared = {"comparison": changes_document(changes, other)} if changes else {}
        show_json({**bench_document(run), **compared})
        return
    from kmeter.views.bench import BenchView, ChangesView

    print_view(BenchView(run), ascii_mode=ascii_mode)
    if changes:
        print()
        print_view(ChangesView(changes, other), ascii_mode=ascii_mode)


def demand_writable(*paths: str | None) -> None:
    """Raise UsageError for a folder that is not there, before minutes are spent on measuring."""
    for path in paths:
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise UsageError(f"cannot write {quoted(path, 200)}: there is no such folder")


def write_all(
    run: "BenchRun",
    changes: "tuple[RowChange, ...]",
    other: str,
    *,
    save: str | None,
    csv: str | None,
    markdown: str | None,
    html: str | None,
    nvbench: str | None,
) -> None:
    """Write every file that is asked for; an interrupted run's finished rows, too."""
    from kmeter.views.bench_json import bench_document

    if save is not None:
        write_whole(save, _text(bench_document(run)))
    if run.tag is not None:
        from kmeter.bench.saved import tagged_file

        path = tagged_file(run.tag, run)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), _text(bench_document(run)))
    if nvbench is not None:
        from kmeter.views.nvbench_json import nvbench_document

        write_whole(nvbench, _text(nvbench_document(run)))
    if csv is not None:
        from kmeter.views.bench_export import bench_csv

        write_whole(csv, bench_csv(run))
    if markdown is not None:
        from kmeter.views.bench_export import bench_markdown

        write_whole(markdown, bench_markdown(run, changes, other))
    if html is not None:
        from kmeter.views.bench_html import bench_html

        write_whole(html, bench_html(run))


def _text(document: "dict[str, object]") -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
