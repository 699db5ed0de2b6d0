"""The colours and type of the SVG roofline, light and dark."""

_LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "grid": "#e6e9ed",
    "roof": "#0969da", "other": "#8250df", "point": "#1a7f37", "above": "#cf222e",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "grid": "#262c36",
    "roof": "#4493f8", "other": "#ab7df8", "point": "#3fb950", "above": "#f85149",
}  # fmt: skip

_STYLE = """
text { font-family: system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: INK; }
.paper { fill: PAPER; } .title { font-size: 19px; font-weight: 600; }
.sub, .axis, .tick, .legend { font-size: 13px; } .sub, .tick { fill: SOFT; }
.legend-soft { font-size: 13px; fill: SOFT; }
.grid { stroke: GRID; } .frame { stroke: SOFT; fill: none; }
.roof { stroke: ROOF; stroke-width: 2.6; fill: none; stroke-linejoin: round; }
.other { stroke: OTHER; stroke-width: 2; fill: none; stroke-dasharray: 7 4; }
.roof-name { font-size: 13px; fill: ROOF; font-weight: 600; }
.other-name { font-size: 13px; fill: OTHER; }
.ridge { stroke: SOFT; stroke-dasharray: 2 4; }
.point { fill: POINT; stroke: PAPER; stroke-width: 1.5; } .above { fill: ABOVE; }
.leader { stroke: SOFT; stroke-opacity: .6; }
.to-roof { stroke: POINT; stroke-opacity: .45; } .mark { font-size: 11px; font-weight: 700; }
.above-text { fill: ABOVE; font-weight: 600; }
"""


def stylesheet(theme: str, style: str = _STYLE) -> str:
    """CSS of a picture; ``theme`` is ``light``, ``dark``, or ``auto``: as the reader prefers.

    ``style`` may be other CSS that names the same colours: ``color: INK;``.
    """
    if theme == "auto":
        dark = _painted(style, _DARK)
        return f"{_painted(style, _LIGHT)}@media (prefers-color-scheme: dark) {{{dark}}}"
    return _painted(style, _DARK if theme == "dark" else _LIGHT)


def _painted(style: str, colours: dict[str, str]) -> str:
    for name, colour in colours.items():
        style = style.replace(f" {name.upper()};", f" {colour};")
    return style
