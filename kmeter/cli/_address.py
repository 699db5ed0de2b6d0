"""Where a server of kmeter listens, as users write it."""

from kmeter.errors import UsageError
from kmeter.units import quoted

LOOPBACK = "127.0.0.1"


def parse_address(text: str, option: str, port: int | None = None) -> tuple[str, int]:
    """``HOST:PORT``, a port of this machine, or a host where ``option`` has a ``port`` of its own.

    An IPv6 address stands in brackets: ``[::1]:8000``. Raises UsageError for what is neither.
    """
    host, colon, digits = text.rpartition(":")
    if not colon:
        host, digits = (LOOPBACK, text) if text.isdecimal() else (text, str(port or ""))
    host = host.removeprefix("[").removesuffix("]")
    is_port = digits.isdecimal() and len(digits) <= 5 and 0 < int(digits) < 65536
    if not is_port or not host:
        form = "[HOST:]PORT" if port is None else "HOST:PORT"
        raise UsageError(f"{option} takes {form}, not {quoted(text)}")
    return host, int(digits)


def written_address(host: str, port: int) -> str:
    """The same as text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
