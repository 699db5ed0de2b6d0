"""``kmeter compare``: GPUs side by side at an arithmetic intensity."""

from typing import Annotated

import typer

from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import UsageError


def compare(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Cards to compare.")],
    ai: Annotated[
        list[str], typer.Option("--ai", metavar="X", help="Arithmetic intensity. Repeatable.")
    ],
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="TYPE", help="fp32, fp16-tensor, …")
    ] = "fp32",
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost", metavar="TARGET=PRICE,…", help="Price per hour: h100-sxm=2.69,4090=0.35."
        ),
    ] = None,
    as_json: AsJson = False,
    ascii_mode: Ascii = False,
) -> None:
    """Compare cards: bandwidth, peak, and what each attains at an intensity."""
    from kmeter.cli.output import show, show_json
    from kmeter.cli.roofline import parse_intensity, units_named
    from kmeter.model.comparison import comparison
    from kmeter.sources import open_device
    from kmeter.views.compare import ComparisonView
    from kmeter.views.compare_json import comparison_document

    units = units_named([dtype])
    if len(units) != 1:
        raise UsageError("compare takes one --dtype", "Run it once for each")
    devices = [open_device(target) for target in targets]
    costs = _costs(cost, {device.target for device in devices})
    found = comparison(devices, units[0], [parse_intensity(text) for text in ai], costs)
    if as_json:
        show_json(comparison_document(found))
    else:
        show(ComparisonView(found), ascii_mode=ascii_mode)


def _costs(text: str | None, compared: set[str]) -> dict[str, float]:
    """Prices per hour by target; each must belong to a card that is compared."""
    from kmeter.sources import open_device

    costs: dict[str, float] = {}
    for part in text.split(",") if text else ():
        name, equals, price = part.partition("=")
        if not equals:
            raise UsageError(f"--cost: {part!r} is no price", "Write h100-sxm=2.69,4090=0.35")
        target = open_device(name.strip()).target
        if target not in compared or target in costs:
            problem = "is priced twice" if target in costs else "is not compared"
            raise UsageError(f"--cost: {name.strip()} {problem}")
        costs[target] = _price(price)
    return costs


def _price(text: str) -> float:
    from kmeter.units import parse_positive, quoted

    return parse_positive(
        text,
        no_number=f"--cost: {text!r} is no price",
        out_of_range=f"--cost: a price is above 0, not {quoted(text)}",
    )
