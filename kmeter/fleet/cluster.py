"""dask.distributed as far as kmeter needs it: who is there, work for one of them, and what they say."""

import json
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from kmeter.errors import KmeterError, NoGpuError, UsageError, first_line_of, words_of
from kmeter.fleet import task
from kmeter.fleet.gpu import gpus_here
from kmeter.units import quoted

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 10
FETCH_S = 30.0
"""How long the result of finished work may take to arrive."""
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss|ucx)://)?[^\s/]+:[0-9]{1,5}")
MISSING = UsageError("dask.distributed is not installed", "pip install 'kmeter[fleet]'")


class Step(NamedTuple):
    """A GPU is at a probe."""

    key: str
    probe: str
    done: int
    of: int


class Answer(NamedTuple):
    """Work has ended: with a result, or with the reason why there is none."""

    ticket: int
    result: Any = None
    reason: str = ""
    is_lost: bool = False
    """Whether nobody knows what became of it: the scheduler went away, perhaps to come back."""


class Cluster:
    """The workers of a scheduler. What they say arrives in ``inbox``, from other threads."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._topic = f"kmeter-{uuid4().hex}"
        self._futures: dict[int, Future[Any]] = {}
        self._count = 0
        self._workers: list[str] = []
        self.inbox: SimpleQueue[Step | Answer] = SimpleQueue()
        client.subscribe_topic(self._topic, self._hear)

    def workers(self) -> list[str]:
        """The addresses of those that the scheduler hears of now; raises KmeterError where it is gone."""
        with suppress(
            Exception
        ):  # a client that lost its scheduler tries for a while to find it again
            self._workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        if self._client.status == "closed":
            raise KmeterError("the scheduler answers no more")
        return self._workers

    def look(self, worker: str) -> int:
        """Ask a worker for what it sees: the ticket that its ``Answer`` will have.

        First it is asked whether it has kmeter: what it cannot import would end it.
        """
        ticket = self._ticket()
        asked = self._submitted(worker, find_spec, task.__name__)
        self._futures[ticket] = asked
        asked.add_done_callback(lambda done: self._look_with(ticket, worker, done))
        return ticket

    def _look_with(self, ticket: int, worker: str, asked: "Future[Any]") -> None:
        """In a thread of Dask's: ask on where there is kmeter."""
        if ticket not in self._futures:
            return
        if asked.status == "finished" and asked.result(timeout=FETCH_S) is not None:
            self._follow(ticket, self._submitted(worker, task.look))
            return
        del self._futures[ticket]
        is_lost = asked.status not in {"finished", "error"}
        self.inbox.put(Answer(ticket, reason="kmeter cannot be imported there", is_lost=is_lost))

    def measure(self, worker: str, *arguments: Any) -> int:
        """Have a worker measure a GPU, see ``task.measure``: the ticket of its ``Answer``."""
        gpu, names, options, command = arguments
        return self._submit(worker, task.measure, gpu, names, options, self._topic, command)

    def stop(self, worker: str) -> None:
        """Have a worker end what it measures; one that does not answer is not waited for."""
        threading.Thread(target=self._stop, args=(worker,), daemon=True).start()

    def forget(self, ticket: int) -> None:
        """The answer is not wanted any more, should it come."""
        future = self._futures.pop(ticket, None)
        if future is not None:
            with suppress(Exception):
                future.cancel()

    def _stop(self, worker: str) -> None:
        with suppress(Exception):  # it is gone, or it hangs
            self._client.run(task.stop, self._topic, workers=[worker])

    def _submit(self, worker: str, function: Callable[..., Any], *arguments: Any) -> int:
        ticket = self._ticket()
        self._follow(ticket, self._submitted(worker, function, *arguments))
        return ticket

    def _ticket(self) -> int:
        self._count += 1
        return self._count

    def _submitted(
        self, worker: str, function: Callable[..., Any], *arguments: Any
    ) -> "Future[Any]":
        return self._client.submit(
            function, *arguments, workers=[worker], allow_other_workers=False, pure=False, retries=0
        )

    def _follow(self, ticket: int, future: "Future[Any]") -> None:
        self._futures[ticket] = future
        future.add_done_callback(lambda done: self._answer(ticket, done))

    def _answer(self, ticket: int, future: "Future[Any]") -> None:
        """In a thread of Dask's."""
        if self._futures.pop(ticket, None) is None:
            return
        try:
            self.inbox.put(Answer(ticket, future.result(timeout=FETCH_S)))
        except Exception as error:
            is_lost = future.status not in {"finished", "error"}
            self.inbox.put(Answer(ticket, reason=words_of(error), is_lost=is_lost))

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """A message with its time, to which Dask has added who sent it."""
        told = event[1]
        self.inbox.put(Step(*(told[name] for name in Step._fields)))


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """The workers of the scheduler at an address, or of a scheduler's file; raises UsageError."""
    try:
        from distributed import Client
    except ImportError:
        raise MISSING from None
    found = _address_of(address)
    with _quiet():
        try:
            client = Client(found, timeout=CONNECT_S, set_as_default=False)
        except Exception as error:
            raise UsageError(f"no Dask scheduler at {address}: {first_line_of(error)}") from None
        with client:
            yield Cluster(client)


def _address_of(text: str) -> str:
    """The address, or the one in a scheduler's file; raises UsageError for what is neither."""
    if Path(text).is_file():
        try:
            text = str(json.loads(Path(text).read_bytes())["address"])
        except (OSError, ValueError, TypeError, KeyError):
            raise UsageError(f"{text} is no file of a Dask scheduler") from None
    if not _ADDRESS.fullmatch(text):
        raise UsageError(f"{quoted(text)} is no address", "Write tcp://HOST:PORT")
    return text


@contextmanager
def local() -> Iterator[Cluster]:
    """A cluster over this machine's GPUs, a worker a GPU, which ends with the block.

    Raises NoGpuError without a GPU.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MISSING from None
    try:
        count = len(gpus_here())
    except NoGpuError as error:
        raise NoGpuError(error.message, "--scheduler ADDRESS measures where GPUs are") from None
    with (
        _quiet(),
        LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield Cluster(client)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own words about who went are left out meanwhile: kmeter says what becomes of them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
