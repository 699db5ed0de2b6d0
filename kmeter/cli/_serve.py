"""The dashboard in a browser: a process a visitor, through textual-serve."""

import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from kmeter.cli._address import LOOPBACK, parse_address
from kmeter.errors import UsageError

PORT = 8000
_RUN = "import sys; from kmeter.cli.main import main; sys.exit(main())"


def serve(address: str, arguments: Sequence[str]) -> None:
    """Serve ``kmeter tui`` with these arguments until Ctrl-C; raises UsageError where that cannot be."""
    host, port = parse_address(address, "--serve-at", PORT)
    try:
        from textual_serve.server import Server
    except ImportError:
        way_out = "pip install 'kmeter[serve]'"
        raise UsageError("--serve needs textual-serve", way_out) from None
    command = shlex.join([sys.executable, "-c", _RUN, "tui", *arguments])
    if host not in {LOOPBACK, "localhost", "::1"}:
        print("kmeter: whoever reaches this port can run benchmark files here", file=sys.stderr)
    _guarded(Server, host)(command, host=host, port=port, title="kmeter").serve()


def _guarded(server: type[Any], served: str) -> type[Any]:
    """The server, refusing what a page of another site opens: a browser asks it on that page's behalf."""
    web: Any = import_module("aiohttp.web")

    class Guarded(server):  # type: ignore[misc]  # its type is known only when it is installed
        async def handle_websocket(self, request: Any) -> Any:
            if not is_same_site(request.headers.get("Origin"), request.host, served):
                raise web.HTTPForbidden(text="kmeter is opened by its own page alone")
            return await super().handle_websocket(request)

    return Guarded


def is_same_site(origin: str | None, host: str, served: str = "") -> bool:
    """Whether a request comes from the server's own page, or from no page at all.

    ``host`` must be an address, or the name that it is ``served`` by: a page could have any other name
    lead here.
    """
    name = urlsplit(f"//{host}").hostname or ""
    is_address = name in {"localhost", served} or name.replace(".", "").isdecimal() or ":" in name
    if origin is None:
        return is_address
    return is_address and urlsplit(origin).netloc == host
