"""Folders of reports: what is written is read again, and what is none is named."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from recorded import h200_run

from kmeter.errors import UsageError
from kmeter.fleet.reports import decode_report, gather, report_text, save_report
from kmeter.measure.catalogue import names_of
from kmeter.model.ceiling import CeilingRun, Conditions, Status
from kmeter.model.fleet import Figure


def run_of(number: int = 0, **fields: object) -> CeilingRun:
    known = {
        "uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "host": f"node{number // 8}",
        "pci_bus_id": f"0000:{number % 8:02x}:00.0", "power_limit_w": 700.0,
    }  # fmt: skip
    return replace(h200_run(), **known | fields)  # type: ignore[arg-type]


def reasons(folder: Path) -> dict[str, str]:
    return {item.path: item.reason for item in gather([folder]).unreadable}


# ---- writing and reading --------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run = run_of(uncorrected_errors=2)
    path = save_report(run, tmp_path / "new" / "folder")
    assert path is not None
    (report,), unreadable = gather([tmp_path])
    assert not unreadable
    assert report.origin == f"new/folder/{path.name}"
    assert (report.host, report.uuid, report.pci_bus_id) == (run.host, run.uuid, run.pci_bus_id)
    assert (report.power_limit_w, report.uncorrected_errors) == (700.0, 2)
    assert [f.value for f in report.ceilings] == [c.value for c in run.ceilings]
    assert [f.conditions for f in report.ceilings] == [c.conditions for c in run.ceilings]


def test_a_gpu_has_one_file_in_a_folder(tmp_path: Path) -> None:
    first = save_report(run_of(started_at="2026-12-01T00:00:00+00:00"), tmp_path)
    again = save_report(run_of(started_at="2026-12-02T00:00:00+00:00"), tmp_path)
    save_report(run_of(1), tmp_path)
    assert first == again
    found = gather([tmp_path]).reports
    assert sorted(r.started_at[:10] for r in found) == ["2026-12-02", h200_run().started_at[:10]]


def test_a_host_may_have_any_name(tmp_path: Path) -> None:
    path = save_report(run_of(host="../../etc/pass wd"), tmp_path)
    assert path is not None
    assert path.parent == tmp_path
    assert gather([tmp_path]).reports[0].host == "../../etc/pass wd"


def test_a_gpu_without_uuid_is_named_by_its_bus_id(tmp_path: Path) -> None:
    path = save_report(run_of(uuid=None), tmp_path)
    assert path is not None
    assert path.name == "node0-0000_00_00.0.json"


def test_a_gpu_that_nothing_names_has_its_number(tmp_path: Path) -> None:
    run = replace(run_of(uuid=None, pci_bus_id=None), number="GPU 3")
    path = save_report(run, tmp_path)
    assert path is not None
    assert path.name == "node0-GPU_3.json"
    assert gather([tmp_path]).reports[0].identity == ("node0", "GPU 3")


def test_an_interrupted_run_does_not_replace_a_whole_one(tmp_path: Path) -> None:
    whole = save_report(run_of(), tmp_path)
    assert save_report(run_of(is_complete=False, ceilings=()), tmp_path) is None
    assert gather([tmp_path]).reports[0].is_complete
    refused = run_of(is_complete=False, ceilings=(), refusal="GPU lost")
    assert save_report(refused, tmp_path) == whole
    assert gather([tmp_path]).reports[0].refusal == "GPU lost"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make"):
        save_report(run_of(), tmp_path / "file" / "folder")


def test_files_and_folders_may_be_named_and_each_counts_once(tmp_path: Path) -> None:
    path = save_report(run_of(), tmp_path / "a")
    assert path is not None
    save_report(run_of(1), tmp_path / "b")
    gathered = gather([tmp_path / "a", path, tmp_path, tmp_path / "b"])
    assert len(gathered.reports) == 2


def test_a_run_of_kmeter_ceiling_json_is_a_report(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(json.loads(report_text(run_of())), indent=2))
    assert len(gather([tmp_path]).reports) == 1


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        gather([tmp_path / "nowhere"])


REAL = Path(__file__).parents[1] / "data" / "fleet" / "h200-quick.json"


def test_the_report_of_a_real_h200_is_read() -> None:
    """Of ``kmeter ceiling --quick --save-to``; its host and UUID are made up."""
    (report,), unreadable = gather([REAL])
    assert not unreadable
    assert (report.gpu_name, report.power_limit_w, report.uncorrected_errors) == (
        "NVIDIA H200",
        700,
        0,
    )
    assert {figure.conditions.busy_neighbours for figure in report.ceilings} == {0}
    assert {figure.name for figure in report.ceilings} == set(names_of(quick=True))
    assert all(figure.is_quick and figure.value for figure in report.ceilings)


# ---- what is no report ----------------------------------------------------------------------


def _text(**fields: object) -> str:
    return json.dumps(json.loads(report_text(run_of())) | fields)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (_text()[:-9], "cut off"),
        (_text()[:1], "cut off"),
        ("# notes\n", "no report of kmeter's"),
        ("[]", "no report of kmeter's"),
        ('{"schema": "nvbench/1"}', "no report of kmeter's"),
        ('{"schema": "kmeter.bench/1"}', "no report of kmeter's"),
        (_text(schema="kmeter.ceiling/2"), "written by another version"),
        (_text(uuid=None, pci_bus_id=None), "does not say which GPU"),
        (_text(ceilings=[]), "no tests"),
        (_text(gpu_name="a\x1b[2J"), "not printable"),
        (_text(host="two\nlines"), "not printable"),
        (_text(power_limit_w=1e300), "impossible power limit"),
        (_text(power_limit_w=-5), "impossible power limit"),
        (_text(uuid=None, host=None), "does not say which GPU"),
        ('{"schema": "kmeter.ceiling/\\u001b[2J"}', "written by another version"),
        (_text(uuid=5), "no report of kmeter's"),
        ("[" * 100_000, "no report of kmeter's"),
        ("\x00\xff", "no report of kmeter's"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_named_and_the_rest_is_read(
    tmp_path: Path, content: str, reason: str
) -> None:
    save_report(run_of(), tmp_path)
    (tmp_path / "odd.json").write_text(content, "latin-1")
    assert reason in reasons(tmp_path)["odd.json"]
    assert len(gather([tmp_path]).reports) == 1


def decoded(ceiling: dict[str, object]) -> Figure:
    """The first test of a report in which that stands."""
    document = json.loads(report_text(run_of()))
    document["ceilings"][0] |= ceiling
    return decode_report(json.dumps(document).encode(), "x").ceilings[0]


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e39, 1e-39])
def test_a_value_that_nothing_can_have_is_a_failure_of_its_test_alone(value: float) -> None:
    figure = decoded({"value": value})
    assert (figure.status, figure.value) == (Status.FAILED, None)
    assert figure.reason == f"{value:g} is no value that a GPU can have"


def test_words_of_a_test_move_no_cursor() -> None:
    figure = decoded({"name": "\x1b[31mred", "reason": "two\nlines\tand a tab"})
    assert (figure.name, figure.reason) == ("?[31mred", "two lines and a tab")


@pytest.mark.parametrize(
    "conditions",
    [{"throttle_reasons_mask": -1}, {"sm_clock_hz": -1.0}, {"memory_clock_hz": 1e40}],
)
def test_conditions_that_cannot_be_are_unknown(conditions: dict[str, object]) -> None:
    assert decoded({"conditions": conditions}).conditions == Conditions()


def test_a_clock_of_0_is_how_a_driver_says_that_it_does_not_know() -> None:
    figure = decoded({"conditions": {"sm_clock_hz": 0, "temperature_c": 40}})
    assert figure.conditions == Conditions(sm_clock_hz=0, temperature_c=40)


def test_a_test_in_another_measure_is_no_report() -> None:
    with pytest.raises(UsageError, match="no report"):
        decoded({"measure": "furlongs"})


def test_a_test_that_is_there_twice_is_refused() -> None:
    document = json.loads(report_text(run_of()))
    document["ceilings"] *= 2
    with pytest.raises(UsageError, match="a test twice"):
        decode_report(json.dumps(document).encode(), "x")


def test_pipes_and_dead_links_are_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    found = {"pipe.json": "no ordinary file", "link.json": "it leads nowhere"}
    assert reasons(tmp_path) == found


def test_what_is_being_written_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / ".node0.json.tmp").write_text("{")
    (tmp_path / ".snapshots").mkdir()
    (tmp_path / ".snapshots" / "old.json").write_text("{")
    assert gather([tmp_path]) == ([], [])


def test_a_loop_of_folders_ends(tmp_path: Path) -> None:
    save_report(run_of(), tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(gather([tmp_path]).reports) == 1


def test_linked_folders_are_read_and_each_once(tmp_path: Path) -> None:
    save_report(run_of(), tmp_path / "elsewhere")
    (tmp_path / "top").mkdir()
    for name in ("one", "two"):
        (tmp_path / "top" / name).symlink_to(tmp_path / "elsewhere")
    assert [r.origin.split("/")[0] for r in gather([tmp_path / "top"]).reports] == ["one"]


def test_names_tell_apart_what_lies_in_several_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text("")
    found = gather([tmp_path / "a", tmp_path / "b"]).unreadable
    assert [item.path for item in found] == [f"{tmp_path}/a/x.json", f"{tmp_path}/b/x.json"]


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("\ufeff" + _text(), "utf-8")
    assert len(gather([tmp_path]).reports) == 1


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = save_report(run_of(), tmp_path)
    assert path is not None
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "Permission denied" in reasons(tmp_path)[path.name]


def test_a_report_of_a_newer_kmeter_with_more_fields_is_read() -> None:
    assert decode_report(_text(something_new=[1]).encode(), "x").uuid == run_of().uuid


def test_a_report_of_an_older_kmeter_with_fewer_fields_is_read() -> None:
    document = json.loads(report_text(run_of()))
    for name in ("host", "pci_bus_id", "power_limit_w", "uncorrected_errors", "refusal"):
        del document[name]
    for ceiling in document["ceilings"]:
        del ceiling["conditions"]["busy_neighbours"]
    report = decode_report(json.dumps(document).encode(), "x")
    assert (report.host, report.power_limit_w) == (None, None)
    assert report.ceilings[0].conditions.busy_neighbours is None


def test_conditions_default_to_unknown() -> None:
    document = json.loads(report_text(run_of()))
    del document["ceilings"][0]["conditions"]
    assert decode_report(json.dumps(document).encode(), "x").ceilings[0].conditions == Conditions()
