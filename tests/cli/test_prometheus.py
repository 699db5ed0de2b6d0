"""``kmeter top --prometheus``: a real server, scraped over loopback, of readings of a fake NVML."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import fakes
import pytest
from fakes import FakeGpu
from fakes.fixtures import Kmeter
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families
from running import MODULE
from snapshots import check_snapshot
from terminal import Terminal

from kmeter.cli._address import parse_address
from kmeter.cli._prometheus import exporter_at
from kmeter.errors import ExitCode, UsageError
from kmeter.model.card import Fact, Identity
from kmeter.model.live import LiveGpu, Moment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

DEADLINE_S = 20.0
HEARS_CTRL_C = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MODULE}"
"""Also where the tests themselves run in the background of a shell."""
AWKWARD = 'A "GPU"\nof \\ 2'
BUSY = {
    "nvmlDeviceGetClockInfo:1": "1515", "nvmlDeviceGetPowerUsage": "692042",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "4", "nvmlDeviceGetUtilizationRates": "29 25",
    "gpm": "1", "gpm:1": "97", "gpm:2": "96", "gpm:3": "14", "gpm:4": "1", "gpm:5": "94",
    "gpm:6": "0", "gpm:7": "94", "gpm:8": "0", "gpm:10": "17", "gpm:11": "0", "gpm:12": "0",
    "gpm:13": "0", "gpm:20": "4", "gpm:21": "13", "gpm:60": "error 3", "gpm:61": "error 3",
}  # fmt: skip

Labels = Mapping[str, str]
Scrape = dict[str, list[tuple[Labels, float]]]


@pytest.fixture
def port() -> int:
    """One that nobody listens on."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


def text_at(port: int, host: str = "127.0.0.1", **headers: str) -> str:
    with urlopen(Request(f"http://{host}:{port}/metrics", headers=headers)) as answer:
        return str(answer.read().decode())


def samples(text: str) -> Scrape:
    found: Scrape = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def scraped_when(port: int, holds: Callable[[Scrape], bool]) -> str:
    """What is served as soon as that holds."""
    end = time.monotonic() + DEADLINE_S
    while True:
        text = ""
        with suppress(URLError, ConnectionError):
            text = text_at(port)
        if text and holds(samples(text)):
            return text
        assert time.monotonic() < end, f"never served; last:\n{text}"
        time.sleep(0.05)


def is_read(found: Scrape) -> bool:
    return "kmeter_gpu_up" in found


def is_free(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


@contextmanager
def headless(
    port: int, told: Mapping[str, str], *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HEARS_CTRL_C, "top", "--headless", "--prometheus", str(port)]
    with subprocess.Popen(
        [*command, "-i", "100ms", *arguments],
        env=os.environ | told,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def reading(**facts: float) -> Moment:
    identity = Identity(0, 0, "0000:41:00.0", "GPU-1", AWKWARD, mig=False)
    known = {name: Fact(value) for name, value in facts.items()}
    return Moment("2026-12-02T22:00:00.000+00:00", (LiveGpu(identity, known),))


# ---- the server -----------------------------------------------------------------------------


def test_the_last_moment_alone_is_served(port: int) -> None:
    with exporter_at(str(port)) as exporter:
        assert text_at(port) == "", "nothing was read yet"
        exporter.tell(reading(power_w=90.0, temperature_c=30))
        exporter.tell(reading(power_w=100.0))
        found = samples(text_at(port))
    assert [value for _, value in found["DCGM_FI_DEV_POWER_USAGE"]] == [100]
    assert "DCGM_FI_DEV_GPU_TEMP" not in found
    assert is_free(port)


def test_a_name_may_be_anything(port: int) -> None:
    with exporter_at(str(port)) as exporter:
        exporter.tell(reading(power_w=90.0))
        text = text_at(port)
    assert r'modelName="A \"GPU\"\nof \\ 2"' in text
    ((labels, _),) = samples(text)["DCGM_FI_DEV_POWER_USAGE"]
    assert labels["modelName"] == AWKWARD


def test_nothing_is_told_of_kmeters_own_process(port: int) -> None:
    with exporter_at(str(port)) as exporter:
        exporter.tell(reading(power_w=90.0))
        names = set(samples(text_at(port)))
    assert {name for name in names if not name.startswith(("DCGM_FI_", "kmeter_"))} == set()


def test_the_form_that_prometheus_asks_for(port: int) -> None:
    accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,*/*;q=0.1"
    with exporter_at(str(port)) as exporter:
        exporter.tell(reading(throttle_reasons_mask=4))
        text = text_at(port, Accept=accept)
    kinds = {family.name: family.type for family in open_metrics(text)}  # type: ignore[no-untyped-call]
    assert kinds["kmeter_clock_event_seconds"] == "counter"
    assert kinds["DCGM_FI_DEV_CLOCKS_EVENT_REASONS"] == "gauge"


def test_a_client_that_goes_away_is_no_error(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    with exporter_at(str(port)) as exporter:
        exporter.tell(reading(power_w=90.0))
        for words in (b"", b"GET /metrics", b"NONSENSE\r\n\r\n"):
            with closing(socket.create_connection(("127.0.0.1", port))) as client:
                client.sendall(words)
        assert is_read(samples(text_at(port)))
    assert capfd.readouterr() == ("", "")


def test_ipv6(port: int) -> None:
    if not socket.has_ipv6:
        pytest.skip("this Python knows no IPv6")
    try:
        with exporter_at(f"[::1]:{port}") as exporter:
            exporter.tell(reading(power_w=90.0))
            assert exporter.served_at == f"[::1]:{port}"
            assert is_read(samples(text_at(port, "[::1]")))
    except UsageError as error:
        pytest.skip(f"this machine has no IPv6: {error}")


@pytest.mark.parametrize("address", ["", "box", "0", "70000", ":9400", "127.0.0.1:"])
def test_no_addresses(address: str) -> None:
    with pytest.raises(UsageError, match=r"--prometheus takes \[HOST:\]PORT"):
        parse_address(address, "--prometheus")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70])
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(UsageError, match="--prometheus cannot listen on"), exporter_at(f"{host}:1"):
        pass


# ---- without a screen -----------------------------------------------------------------------


def test_a_whole_scrape(port: int, tmp_path: Path, libraries: Path) -> None:
    gpus = [
        FakeGpu(name="NVIDIA H200", number=1, nvml=BUSY),
        FakeGpu(number=2, nvml={"nvmlDeviceGetMemoryInfo_v2": "error 3"}),
        FakeGpu(number=3, lost_after=0),
    ]
    with headless(port, fakes.environment(tmp_path, libraries, gpus)):
        text = scraped_when(port, is_read)
    text = re.sub(r'Hostname="[^"]*"', 'Hostname="box"', text)
    text = re.sub(r"(?m)^(kmeter_reading_timestamp_seconds\S*) .*", r"\1 WHEN", text)
    text = re.sub(r"(?m)^(kmeter_clock_event_seconds_total.*}) .*", r"\1 SECONDS", text)
    check_snapshot("top/prometheus.txt", text)


def test_what_nvidias_grafana_dashboard_asks_for(
    port: int, tmp_path: Path, libraries: Path
) -> None:
    """Each series of dashboard 12239, by the labels that its queries name."""
    with headless(port, fakes.environment(tmp_path, libraries, [FakeGpu(nvml=BUSY)])):
        found = samples(scraped_when(port, is_read))
    for name in (
        "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE",
    ):  # fmt: skip
        ((labels, _),) = found[name]
        assert labels["gpu"] == "0"
        assert labels["Hostname"] == socket.gethostname()


def test_a_gpu_that_is_lost_leaves_no_samples(port: int, tmp_path: Path, libraries: Path) -> None:
    def is_lost(found: Scrape) -> bool:
        return 0.0 in [value for _, value in found.get("kmeter_gpu_up", [])]

    gpus = [FakeGpu(number=1), FakeGpu(number=2, lost_after=100)]
    with headless(port, fakes.environment(tmp_path, libraries, gpus)):
        found = samples(scraped_when(port, is_lost))
    of_the_lost = {n for n, all_of in found.items() for s, _ in all_of if s.get("gpu") == "1"}
    assert of_the_lost == {"kmeter_gpu_up"}
    assert [labels["gpu"] for labels, _ in found["DCGM_FI_DEV_POWER_USAGE"]] == ["0"]


def test_a_hanging_nvml_does_not_hang_a_scrape(port: int, tmp_path: Path, libraries: Path) -> None:
    told = fakes.environment(tmp_path, libraries, [FakeGpu()], nvml_lines=("slow 60000",))
    with headless(port, told):
        end = time.monotonic() + DEADLINE_S
        while is_free(port):
            assert time.monotonic() < end
        text_at(port)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_frees_the_port(
    port: int, tmp_path: Path, libraries: Path, ending: signal.Signals
) -> None:
    kept = tmp_path / "session.jsonl"
    told = fakes.environment(tmp_path, libraries, [FakeGpu()])
    with headless(port, told, "--record", str(kept)) as process:
        scraped_when(port, is_read)
        process.send_signal(ending)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert out == b""
    assert err.decode() == f"kmeter: serving http://127.0.0.1:{port}/metrics until Ctrl-C\n"
    assert is_free(port)
    assert len(kept.read_bytes().splitlines()) >= 1


def test_a_port_in_use_is_a_line(port: int, kmeter: Kmeter) -> None:
    with exporter_at(str(port)):
        finished = kmeter("top", "--headless", "--prometheus", str(port), gpus=[FakeGpu()])
    assert finished.code == ExitCode.USAGE
    assert finished.err == (
        f"kmeter: --prometheus cannot listen on 127.0.0.1:{port}: Address already in use\n"
    )


def test_without_a_gpu_nothing_is_served(port: int, kmeter: Kmeter) -> None:
    finished = kmeter("top", "--headless", "--prometheus", str(port), gpus=[])
    assert finished.code == ExitCode.NO_GPU
    assert "--replay FILE" in finished.err
    assert is_free(port)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--once",), "--once and --json do not go with it"),
        (("--json",), "--once and --json do not go with it"),
        (("--replay", "x"), "--prometheus does not go with it"),
        ((), "--prometheus needs --headless"),
    ],
)
def test_what_does_not_go_together(kmeter: Kmeter, arguments: tuple[str, ...], says: str) -> None:
    finished = kmeter("top", "--prometheus", "9400", *arguments, gpus=[FakeGpu()])
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1


# ---- beside the dashboard -------------------------------------------------------------------


def test_the_dashboards_readings_are_served(
    port: int, home: dict[str, str], tmp_path: Path, libraries: Path
) -> None:
    told = fakes.environment(tmp_path, libraries, [FakeGpu(number=1), FakeGpu(number=2)])
    with Terminal("top", "--prometheus", str(port), environment={**home, **told}) as terminal:
        terminal.wait_for(f"served at 127.0.0.1:{port}")
        found = samples(scraped_when(port, is_read))
        assert [value for _, value in found["DCGM_FI_DEV_POWER_USAGE"]] == [62, 62]
        terminal.send("q")
        assert terminal.ended() == 0
    assert is_free(port)


def test_a_port_in_use_opens_no_dashboard(
    port: int, home: dict[str, str], tmp_path: Path, libraries: Path
) -> None:
    told = fakes.environment(tmp_path, libraries, [FakeGpu()])
    with (
        exporter_at(str(port)),
        Terminal("top", "--prometheus", str(port), environment={**home, **told}) as terminal,
    ):
        assert terminal.ended() == ExitCode.USAGE
        assert "cannot listen" in terminal.text()
        assert b"\x1b" not in terminal.raw
