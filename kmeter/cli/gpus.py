"""``kmeter gpus``: the cards that kmeter knows without having one."""

from typing import TYPE_CHECKING, Annotated

import typer

from kmeter.cli.options import Ascii, AsJson

if TYPE_CHECKING:
    from kmeter.views.gpu_card import Card


def gpus(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATTERN]...", help="Words of a name: h100, rtx 4090, laptop."),
    ] = None,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """List the catalogue's cards, or show one card in full."""
    from kmeter.cli.output import show, show_json
    from kmeter.sources import catalogue

    cards = [_card(gpu_id) for gpu_id in catalogue.select(patterns or ())]
    if as_json:
        from kmeter.views.gpus_json import gpus_document

        show_json(gpus_document(cards))
    elif len(cards) == 1:
        from kmeter.views.gpu_sheet import GpuSheet

        show(GpuSheet(cards[0]), ascii_mode=ascii_mode)
    else:
        from kmeter.views.gpus import GpusTable

        show(GpusTable(cards), ascii_mode=ascii_mode)


def _card(gpu_id: str) -> "Card":
    from kmeter.sources import catalogue
    from kmeter.views.gpu_card import Card

    entry = catalogue.entries()[gpu_id]
    return Card(
        id=gpu_id,
        device=catalogue.device_of(gpu_id),
        aliases=tuple(entry.get("aliases", ())),
        product=entry.get("product", ""),
        physical_sources=tuple(entry["physical_source"]),
        citations=catalogue.citations(),
    )
