"""Tables of Markdown, whatever stands in their cells."""

from collections.abc import Sequence


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Headings and rows; the first column stands to the left."""
    rule = "|".join(["---", *("---:" for _ in headings[1:])])
    lines = [f"| {' | '.join(headings)} |", f"|{rule}|"]
    return lines + [f"| {' | '.join(map(escaped, row))} |" for row in rows]


def escaped(text: str) -> str:
    """Text that Markdown takes as it is."""
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
