"""A page in one HTML file: nothing is loaded from elsewhere and nothing runs in it.

It is XHTML at the same time, so that any XML parser reads it.
"""

from collections.abc import Iterable

from kmeter.views.markup import tag
from kmeter.views.roofline_theme import stylesheet

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { background: PAPER; color: INK; }
th, td { border-bottom: 1px solid GRID; }
th, dt, figcaption { color: SOFT; }
a { color: ROOF; }
.bad { color: ABOVE; }
"""
_LAYOUT = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  max-width: 1280px; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3, dd, li { overflow-wrap: anywhere; }
h3 { margin: 2rem 0 .3rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dd { margin: 0; }
li { white-space: pre-wrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td:first-child { white-space: normal; min-width: 14rem; overflow-wrap: anywhere; }
.bad { font-weight: 600; }
figure { margin: .5rem 0; }
svg { max-width: 100%; height: auto; }
"""


def html_page(title: str, body: str, layout: str = "", style: str = "") -> str:
    """The document around ``body``, which is markup.

    ``layout`` and ``style`` are CSS of the body's own; only ``style`` may name colours of the
    theme: ``color: INK;``.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>\n'
        '<meta charset="utf-8"/>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"{tag('title', title)}\n"
        f"<style>{_LAYOUT}{layout}{stylesheet('auto', _STYLE + style)}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def html_table(headings: Iterable[str], *bodies: Iterable[str]) -> str:
    """A table under headings that are text; each body is its lines, which are markup."""
    names = "".join(tag("th", heading) for heading in headings)
    parts = "\n".join("<tbody>\n" + "\n".join(lines) + "\n</tbody>" for lines in bodies)
    return f'<div class="wide"><table>\n<thead><tr>{names}</tr></thead>\n{parts}\n</table></div>'
