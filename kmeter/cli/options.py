"""Options that several commands share, spelled once."""

from typing import Annotated

import typer

Target = Annotated[
    str | None,
    typer.Option(
        "--device",
        "-d",
        metavar="TARGET",
        help="A card: name (h100-sxm, 4090), CUDA ordinal (0), UUID, bus id or recording.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

Ascii = Annotated[bool, typer.Option("--ascii", help="Print ASCII characters only.")]

DEFAULT_TARGET = "cuda:0"

LiveTarget = Annotated[
    str, typer.Option("--device", "-d", metavar="TARGET", help="Ordinal, UUID or bus id.")
]
"""A card of this machine, where something is measured."""

LockClocks = Annotated[
    int | None,
    typer.Option("--lock-clocks", metavar="MHZ", min=1, help="Hold the SM clock (as root)."),
]
