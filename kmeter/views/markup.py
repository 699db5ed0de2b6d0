"""Text for HTML and XML: escaped, and without what neither can hold."""

import html
import re

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """The text with a sign in the place of each character that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def escaped(text: str) -> str:
    """The text as content or attribute."""
    return html.escape(clean(text))


def tag(name: str, text: str) -> str:
    """An element that holds only this text."""
    return f"<{name}>{escaped(text)}</{name}>"
