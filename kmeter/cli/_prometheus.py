"""The live readings over HTTP, for Prometheus; a scrape is answered from memory and never reads a GPU."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from kmeter.cli._address import parse_address, written_address
from kmeter.errors import UsageError
from kmeter.model.card import Identity
from kmeter.model.history import History
from kmeter.model.live import Moment
from kmeter.sources._health import host_name
from kmeter.views.prometheus import families
from kmeter.views.prometheus_live import Seconds, live_metrics

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector

OPTION = "--prometheus"
_PATIENCE_S = 10.0
"""For a client that asks for nothing."""


class Exporter:
    """The last moment, for whoever asks."""

    def __init__(self, hostname: str, served_at: str = "") -> None:
        self.served_at = served_at
        """Host and port."""
        self._hostname = hostname
        self._history = History(kept=1)
        self._last: tuple[Moment, dict[Identity, Seconds]] | None = None

    def tell(self, moment: Moment) -> None:
        """One more reading; the one before is forgotten."""
        self._history.add(moment)
        held = {gpu.identity: self._held(gpu.identity) for gpu in moment.gpus}
        self._last = (moment, held)  # in one step: other threads collect

    def _held(self, identity: Identity) -> Seconds:
        return {held.reason: held.seconds for held in self._history.held_back(identity)}

    def collect(self) -> "Iterable[Metric]":
        """What prometheus_client asks its collectors for; nothing before the first reading."""
        last = self._last
        return () if last is None else families(live_metrics(*last, self._hostname))


@contextmanager
def exporter_at(address: str) -> Iterator[Exporter]:
    """Serve what the exporter is told until the block ends; raises UsageError where that cannot be."""
    host, port = parse_address(address, OPTION)
    exporter = Exporter(host_name(), written_address(host, port))
    server = _server(host, port, exporter)
    Thread(target=server.serve_forever, args=(0.2,), name="prometheus", daemon=True).start()
    try:
        yield exporter
    finally:
        server.shutdown()
        server.server_close()


def _server(host: str, port: int, exporter: Exporter) -> "_Server":
    try:
        return _Server(host, port, _handler(exporter))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no name of a host"
        where = written_address(host, port)
        raise UsageError(f"{OPTION} cannot listen on {where}: {reason}") from None


def _handler(exporter: Exporter) -> type[BaseHTTPRequestHandler]:
    """What answers a request, from this exporter alone: nothing is told of kmeter's own process."""
    from prometheus_client import CollectorRegistry, MetricsHandler

    readings = CollectorRegistry(auto_describe=False)
    readings.register(cast("Collector", exporter))

    class Handler(MetricsHandler):
        registry = readings
        timeout = _PATIENCE_S

    return Handler


class _Server(ThreadingHTTPServer):
    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error, and the terminal belongs to the dashboard."""
        if os.environ.get("KMETER_DEBUG"):
            super().handle_error(request, client_address)
