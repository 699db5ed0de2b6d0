"""``kmeter info``: what a card is, and what its driver says about it now."""

from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson, Target
from kmeter.errors import UsageError

if TYPE_CHECKING:
    from kmeter.model.card import Card, Machine


def info(
    device: Target = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every field, peak and attribute.")
    ] = False,
    grep: Annotated[
        str, typer.Option("--grep", metavar="WORD", help="Only rows that hold the word.")
    ] = "",
    field: Annotated[
        str | None,
        typer.Option(
            "--field", metavar="NAME", help="Print one bare value, under its name in --json."
        ),
    ] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="A B", help="What differs between two targets."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Record the card in a file.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out of --save what identifies the card.")
    ] = False,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """What a card is: limits, peaks, clocks, links, and every attribute. Without -d every card."""
    if diff is not None:
        _show_difference(*diff, ascii_mode=ascii_mode)
        return
    if save is not None:
        _save(save, device, redact=redact)
        return
    machine = _open(device)
    if as_json:
        from kmeter.cli.output import show_json
        from kmeter.views.card_json import machine_document

        show_json(machine_document(machine))
    elif field is not None:
        for card in machine.cards:
            print(_bare(card, machine, field))
    else:
        _show(machine, everything=everything, grep=grep, ascii_mode=ascii_mode)


def _open(target: str | None) -> "Machine":
    from kmeter.sources import open_machine, resolve

    if target is None or resolve(target)[0] == "cuda":
        _import_while_the_driver_wakes()
    return open_machine(target)


def _import_while_the_driver_wakes() -> None:
    from kmeter.sources._warm_up import warm_up

    warm_up()

    import kmeter.sources.cuda
    import kmeter.views.card  # noqa: F401


def _show(machine: "Machine", *, everything: bool, grep: str, ascii_mode: bool) -> None:
    from rich.console import Group

    from kmeter.cli.output import show
    from kmeter.views.card import CardView

    views = [CardView(card, machine, everything, grep) for card in machine.cards]
    parts = [part for view in views for part in ("", view)][1:]
    show(Group(*parts), ascii_mode=ascii_mode)


def _bare(card: "Card", machine: "Machine", name: str) -> str:
    from kmeter.views.card_rows import card_rows

    rows = {row.name: row for row in card_rows(card, machine)}
    if name not in rows:
        from difflib import get_close_matches

        near = ", ".join(get_close_matches(name, rows, n=5, cutoff=0.4)) or "see kmeter info --all"
        raise UsageError(f"there is no field {name!r}", f"Nearest: {near}")
    value = rows[name].value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)


def _show_difference(one: str, other: str, *, ascii_mode: bool) -> None:
    from kmeter.cli.output import show
    from kmeter.views.card import DifferenceView, differences
    from kmeter.views.card_rows import card_rows

    machines = (_open(one), _open(other))
    rows = [card_rows(machine.cards[0], machine) for machine in machines]
    show(DifferenceView((one, other), differences(*rows)), ascii_mode=ascii_mode)


def _save(path: str, device: str | None, *, redact: bool) -> None:
    from kmeter.files import write_whole
    from kmeter.sources import resolve
    from kmeter.sources.cuda import record

    source, name = resolve("0" if device is None else device)
    if source != "cuda":
        raise UsageError("only a card of this machine can be recorded", "kmeter devices lists them")
    write_whole(path, record(name, redact=redact))
    print(f"recorded in {path}; open it anywhere with -d {path}")
