"""Recorded devices: saved, opened everywhere, and refused where they are something else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeGpu
from running import Run
from snapshots import check_snapshot, drawn

from kmeter.errors import ExitCode
from kmeter.sources.snapshot import embedded_names, open_machine
from kmeter.views.card import CardView, differences
from kmeter.views.card_rows import card_rows

Kmeter = Callable[..., Any]


@pytest.fixture
def saved(kmeter: Kmeter, tmp_path: Path) -> Path:
    path = tmp_path / "a100.json"
    finished = kmeter("info", "--save", str(path), "--redact", gpus=[FakeGpu()])
    assert finished.code == ExitCode.OK, finished.err
    return path


def test_a_recording_is_opened_by_every_command(run: Run, saved: Path) -> None:
    target = str(saved)
    assert run("info", "-d", target, "--field", "sm_count").out == "108\n"
    assert "2.039 TB/s" in run("roofline", "-d", f"snapshot:{target}", "--ai", "1").out
    occupancy = run("occupancy", "-d", target, "--block", "256", "--grid", "108", "--json")
    assert json.loads(occupancy.out)["compute_capability"] == "8.0"
    assert run("compare", target, "h100-sxm", "--ai", "1").code == ExitCode.OK


def test_a_recording_says_that_it_is_one(run: Run, saved: Path) -> None:
    assert "a recording of" in run("info", "-d", str(saved)).out


def test_redacting_leaves_no_identity(saved: Path) -> None:
    text = saved.read_text()
    assert FakeGpu().uuid not in text
    assert FakeGpu().bus_id not in text


def test_an_unredacted_recording_keeps_it(kmeter: Kmeter, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    kmeter("info", "--save", str(path), gpus=[FakeGpu()])
    assert FakeGpu().uuid in path.read_text()


def test_only_a_card_of_this_machine_is_recorded(kmeter: Kmeter, tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    finished = kmeter("info", "-d", "h100-sxm", "--save", path, gpus=[FakeGpu()])
    assert finished.code == ExitCode.USAGE
    assert "only a card of this machine" in finished.err


def test_a_file_that_is_not_there_is_said_to_be_none(run: Run) -> None:
    failed = run("info", "-d", "card.json")
    assert failed.code == ExitCode.USAGE
    assert failed.err.startswith("kmeter: no card is called 'card.json'. There is no such file")


@pytest.mark.parametrize("name", ["1", "cuda:1", FakeGpu(number=2).uuid, FakeGpu(number=2).bus_id])
def test_the_card_that_is_named_is_recorded(kmeter: Kmeter, tmp_path: Path, name: str) -> None:
    path = tmp_path / "second.json"
    two = [FakeGpu(number=1), FakeGpu(number=2)]
    finished = kmeter("info", "-d", name, "--save", str(path), gpus=two)
    assert finished.code == ExitCode.OK, finished.err
    text = path.read_text()
    assert (two[0].uuid in text, two[1].uuid in text) == (False, True)


# ---- files that are none --------------------------------------------------------------------


def bad(saved: Path, **changes: Any) -> str:
    return json.dumps(json.loads(saved.read_text()) | changes)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: bad(p, schema="kmeter.device/9"), "another version of kmeter"),
        (lambda p: bad(p, schema="else"), "no recording of a device"),
        (lambda p: p.read_text()[:500], "no recording of a device"),
        (lambda _: '{"nvidia": "foreign"}', "no recording of a device"),
        (lambda _: "[1, 2, 3]", "no recording of a device"),
        (lambda _: "", "no recording of a device"),
        (lambda _: "\x00\xff\xfe not text", "no recording of a device"),
        (lambda p: p.read_text().replace("62.0", "NaN"), "no recording of a device"),
        (lambda p: p.read_text().replace("62.0", "Infinity"), "no recording of a device"),
        (lambda p: bad(p, cuda={"name": 5}), "no recording of a device"),
        (lambda p: bad(p, nvml={"power_w": {"value": [1]}}), "no recording of a device"),
        (lambda _: "[" * 100_000, "no recording of a device"),
        (lambda _: '{"schema": "kmeter.device/1", "cuda": "__import__(\'os\')"}', "no recording"),
    ],
)
def test_what_is_no_recording_is_one_line(
    run: Run, saved: Path, make: Callable[[Path], str], says: str
) -> None:
    path = saved.parent / "bad.json"
    path.write_text(make(saved), errors="surrogateescape")
    finished = run("info", "-d", str(path))
    assert finished.code == ExitCode.USAGE
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1
    assert finished.out == ""


def test_a_huge_file_is_not_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    finished = run("info", "-d", str(path))
    assert finished.code == ExitCode.USAGE
    assert "larger than any recording" in finished.err


def test_a_recording_that_is_not_there(run: Run) -> None:
    finished = run("info", "-d", "snapshot:nowhere.json")
    assert finished.code == ExitCode.USAGE
    assert "h200" in finished.err


def test_fields_that_were_not_recorded_are_unknown(run: Run, saved: Path) -> None:
    path = saved.parent / "old.json"
    path.write_text(bad(saved, nvml={}))
    document = json.loads(run("info", "-d", str(path), "--json").out)
    assert document["devices"][0]["nvml"]["power_w"]["reason"] == "not recorded"
    assert document["devices"][0]["peaks"]["flop_per_s"]["fp32"]["value"] is not None


# ---- the embedded one -----------------------------------------------------------------------


def test_an_h200_comes_with_kmeter() -> None:
    assert "h200" in embedded_names()
    machine = open_machine("h200")
    rows = {row.name: row for row in card_rows(machine.cards[0], machine)}
    assert rows["sm_count"].value == 132
    assert rows["dram_bytes_per_s"].value == pytest.approx(4.814e12, rel=1e-3)
    assert rows["fp32"].value == pytest.approx(66.9e12, rel=1e-3)
    assert rows["driver_version"].value == "580.159.04"


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("ascii_mode", [False, True], ids=["unicode", "ascii"])
def test_info_of_the_h200(width: int, ascii_mode: bool) -> None:
    machine = open_machine("h200")
    text = drawn(CardView(machine.cards[0], machine), width, ascii_mode=ascii_mode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or not ascii_mode
    check_snapshot(f"info/h200-{width}{'-ascii' * ascii_mode}.txt", text)


def test_info_in_colour_and_whole() -> None:
    machine = open_machine("h200")
    card = machine.cards[0]
    check_snapshot("info/h200-80-colour.txt", drawn(CardView(card, machine), 80, colour=True))
    check_snapshot("info/h200-all-120.txt", drawn(CardView(card, machine, everything=True), 120))


# ---- single values, search, differences -----------------------------------------------------


def test_a_field_is_one_bare_value(run: Run) -> None:
    h200 = ("info", "-d", "snapshot:h200", "--field")
    assert run(*h200, "dram_bytes_per_s").out == "4814304000000\n"
    assert run(*h200, "sm_count").out == "132\n"
    assert run(*h200, "MULTIPROCESSOR_COUNT").out == "132\n"
    unknown = run(*h200, "sm_cuont")
    assert unknown.code == ExitCode.USAGE
    assert "sm_count" in unknown.err


def test_grep_finds_attributes_too(run: Run) -> None:
    out = run("info", "-d", "snapshot:h200", "--grep", "cluster").out
    assert "cluster_launch" in out
    assert "temperature" not in out


def test_a_difference_names_what_differs(run: Run) -> None:
    finished = run("info", "--diff", "snapshot:h200", "h100-sxm", COLUMNS="120")
    assert finished.code == ExitCode.OK
    assert "4.814 TB/s" in finished.out
    assert "3.352 TB/s" in finished.out
    assert "SMs" not in finished.out
    same = run("info", "--diff", "snapshot:h200", "snapshot:h200")
    assert same.out == "nothing differs\n"


def test_what_only_one_card_has_is_a_difference() -> None:
    machine = open_machine("h200")
    rows = card_rows(machine.cards[0], machine)
    ((one, other),) = differences(rows, rows[:-1])
    assert one.value is not None
    assert other.reason == "not there"


def test_a_file_that_is_called_like_a_card_is_not_taken_for_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "h100-sxm").write_text("not a recording")
    monkeypatch.chdir(tmp_path)
    assert run("info", "-d", "h100-sxm", "--field", "sm_count").out == "132\n"


def test_the_embedded_h200_is_the_card_that_was_recorded_before() -> None:
    """Attributes of one H200 read by another program, on another day and machine."""
    data = Path(__file__).parents[1] / "data" / "h200.json"
    recorded = json.loads(data.read_text())["cuda"][0]["attributes"]
    bus_and_vendor = {33, 34, 50, 139, 140}
    found = {a.id: a.value for a in open_machine("h200").cards[0].attributes}
    assert {id_: found.get(int(id_)) for id_ in recorded if int(id_) not in bus_and_vendor} == {
        id_: value for id_, value in recorded.items() if int(id_) not in bus_and_vendor
    }
