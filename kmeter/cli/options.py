"""Options that several commands share, spelled once."""

from typing import Annotated

import typer

Target = Annotated[
    str,
    typer.Option(
        "--device",
        "-d",
        metavar="TARGET",
        help="A card of the catalogue (h100-sxm, 4090), a CUDA ordinal (0), a UUID or a file.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

Ascii = Annotated[bool, typer.Option("--ascii", help="Print ASCII characters only.")]

DEFAULT_TARGET = "cuda:0"
