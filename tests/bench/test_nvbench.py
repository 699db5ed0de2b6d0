"""NVBench's documents: read with all that they say, refused in one line, written for its script."""

import contextlib
import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmeter.bench import nvbench
from kmeter.bench.nvbench import is_nvbench, read_nvbench
from kmeter.errors import UsageError
from kmeter.model.benchmark import BenchRun, CacheState, Environment, Outcome, Roofs, Row
from kmeter.views.nvbench_json import nvbench_document

Json = dict[str, Any]


def result(tag: str, **values: str | int | None) -> Json:
    """Values as NVBench writes them: always text, whatever their type."""
    return {"tag": tag, "data": [{"name": k, "type": "any", "value": v} for k, v in values.items()]}


def state(*summaries: Json, axes: list[Json] | None = None, **more: Any) -> Json:
    return {"device": 0, "axis_values": axes, "summaries": list(summaries), **more}


def document(*states: Json, devices: list[Json] | None = None) -> Json:
    gpu = {"id": 0, "name": "NVIDIA H200", "sm_version": 900}
    benchmark = {"name": "copy", "axes": None, "states": list(states)}
    return {"meta": {}, "devices": devices or [gpu], "benchmarks": [benchmark]}


def read(content: Json, folder: Path | None = None) -> BenchRun:
    return read_nvbench(json.dumps(content).encode(), "x.json", folder)


def only_row(content: Json, folder: Path | None = None) -> Row:
    (row,) = read(content, folder).rows
    return row


MEAN = result("nv/cold/time/gpu/mean", value="2e-06")


# ---- reading --------------------------------------------------------------------------------


def test_a_state_becomes_a_row_of_its_mean_that_says_so() -> None:
    axes = [
        {"name": "n", "type": "int64", "value": "1048576"},
        {"name": "ratio", "type": "float64", "value": "0.5"},
        {"name": "T", "type": "string", "value": "I32"},
    ]
    rate = result("nv/cold/bw/global/bytes_per_second", value="4194304000000.0")
    size = result("nv/cold/sample_size", value="499")
    run = read(document(state(MEAN, rate, size, axes=axes)))
    assert run.environment.gpu_name == "NVIDIA H200"
    assert run.environment.compute_capability == "9.0"
    (row,) = run.rows
    assert row.label == "copy[n=1048576, ratio=0.5, T=I32]"
    assert row.samples_s == (2e-6,)
    assert row.notes == ("no samples in the file: this is the mean of 499",)
    assert row.bytes_per_call == 8388608
    assert (row.engine, row.cache_state) == ("events", CacheState.COLD)


def test_byte_counts_serve_where_no_bandwidth_is_given() -> None:
    counts = [result("nv/gmem/reads/in", value="4096"), result("nv/gmem/writes/out", value="1024")]
    assert only_row(document(state(MEAN, *counts))).bytes_per_call == 5120
    assert only_row(document(state(MEAN))).bytes_per_call is None


def test_without_a_cold_time_the_batch_counts_and_is_warm() -> None:
    row = only_row(document(state(result("nv/batch/time/gpu/mean", value="3e-06"))))
    assert (row.samples_s, row.cache_state) == ((3e-6,), CacheState.WARM)


def test_a_skipped_state_failed_for_its_reason() -> None:
    row = only_row(document(state(is_skipped=True, skip_reason="needs\nmore  memory")))
    assert (row.outcome, row.reason) == (Outcome.FAILED, "needs more memory")


@pytest.mark.parametrize("value", ["nan", "inf", None])
def test_a_time_that_nvbench_could_not_compute_is_none(value: str | None) -> None:
    row = only_row(document(state(result("nv/cold/time/gpu/mean", value=value))))
    assert (row.outcome, row.samples_s) == (Outcome.FAILED, ())


def test_rows_of_several_gpus_are_told_apart() -> None:
    devices = [{"id": 0, "name": "A", "sm_version": 900}, {"id": 1, "name": "B", "sm_version": 900}]
    run = read(document(state(MEAN), state(MEAN, device=1), devices=devices))
    assert [row.label for row in run.rows] == ["copy[Device=0]", "copy[Device=1]"]
    assert [row.roofs.device_name for row in run.rows] == ["A", "B"]
    assert run.environment.gpu_name is None
    assert run.environment.no_gpu_reason
    assert run.environment.compute_capability == "9.0"


def test_empty_lists_are_null_in_nvbench() -> None:
    assert read({"devices": None, "benchmarks": None}).rows == ()
    assert read({"devices": None, "benchmarks": [{"name": "x", "states": None}]}).rows == ()


def test_the_keys_decide_what_a_file_is() -> None:
    assert is_nvbench(json.dumps(document()).encode())
    for other in (b"", b"[]", b"{", b'{"schema": "kmeter.bench/1"}', b"\xff", b"[" * 100_000):
        assert not is_nvbench(other)


# ---- samples --------------------------------------------------------------------------------


def announced(filename: str, size: int) -> Json:
    times = result("nv/json/bin:nv/cold/sample_times", filename=filename, size=str(size))
    return document(state(MEAN, times))


def sample_file(folder: Path, *samples: float) -> Path:
    path = folder / "x.json-bin" / "0.bin"
    path.parent.mkdir()
    path.write_bytes(struct.pack(f"<{len(samples)}f", *samples))
    return path


@pytest.mark.parametrize(
    "spelled", ["x.json-bin/0.bin", "/out/x.json-bin/0.bin", "o\\x.json-bin\\0.bin"]
)
def test_samples_are_read_beside_the_document(tmp_path: Path, spelled: str) -> None:
    sample_file(tmp_path, 1e-6, 3e-6, 2e-6)
    row = only_row(announced(spelled, 3), tmp_path)
    assert row.samples_s == pytest.approx([1e-6, 3e-6, 2e-6])
    assert row.notes == ()


def test_without_a_folder_or_a_file_there_the_mean_is_left(tmp_path: Path) -> None:
    content = announced("x.json-bin/0.bin", 3)
    assert only_row(content).samples_s == (2e-6,)
    row = only_row(content, tmp_path)
    assert (row.samples_s, row.notes) == (
        (2e-6,),
        ("no file of samples beside it: this is the mean",),
    )


@pytest.mark.parametrize(
    "spelled", ["/etc/passwd", "../../secret.bin", "x.json-bin/../0.bin", "0.bin"]
)
def test_a_path_to_somewhere_else_is_refused(tmp_path: Path, spelled: str) -> None:
    with pytest.raises(UsageError, match="no file of samples"):
        read(announced(spelled, 3), tmp_path)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    sample_file(outside, 1e-6)
    (inside / "x.json-bin").symlink_to(outside / "x.json-bin")
    with pytest.raises(UsageError, match="leads out of its folder"):
        read(announced("x.json-bin/0.bin", 1), inside)


def test_a_truncated_file_of_samples_is_refused(tmp_path: Path) -> None:
    path = sample_file(tmp_path, 1e-6, 2e-6)
    for size in (1, 3):
        with pytest.raises(UsageError, match="announced"):
            read(announced("x.json-bin/0.bin", size), tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match="announced"):
        read(announced("x.json-bin/0.bin", 2), tmp_path)


@pytest.mark.parametrize("sample", [math.nan, math.inf, -1e-6, 1e-40])
def test_an_impossible_sample_is_refused(tmp_path: Path, sample: float) -> None:
    sample_file(tmp_path, 1e-6, sample)
    with pytest.raises(UsageError, match="impossible"):
        read(announced("x.json-bin/0.bin", 2), tmp_path)


def test_all_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvbench, "MOST_SAMPLES", 3)
    sample_file(tmp_path, 1e-6, 2e-6)
    content = announced("x.json-bin/0.bin", 2)
    content["benchmarks"] *= 2
    first, second = read(content, tmp_path).rows
    assert (len(first.samples_s), second.samples_s) == (2, (2e-6,))
    assert "more samples than kmeter reads" in second.notes[0]


# ---- what is no document --------------------------------------------------------------------


def refused(raw: bytes) -> str:
    with pytest.raises(UsageError) as caught:
        read_nvbench(raw, "x.json")
    message = str(caught.value)
    assert message.startswith("x.json")
    assert "\n" not in message
    return message


def test_a_truncated_document_is_refused_wherever_it_ends() -> None:
    raw = json.dumps(document(state(MEAN))).encode()
    for end in range(len(raw)):
        refused(raw[:end])


def test_too_large_or_too_deep_a_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(b'{"devices": [], "meta": ' + b"[" * 1_000_000)
    monkeypatch.setattr(nvbench, "LARGEST_BYTES", 10)
    assert "larger" in refused(b" " * 11)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"devices": {}, "benchmarks": []},
        {"devices": [{"name": "no id"}], "benchmarks": []},
        {"devices": [], "benchmarks": [{"states": []}]},
        document(state(summaries={"GPU Time": 1})),
        document(state(is_skipped="yes")),
        document(state(result("nv/cold/time/gpu/mean", value="fast"))),
        document(state(result("nv/cold/time/gpu/mean", value="-1e-6"))),
        document(state(result("nv/cold/time/gpu/mean", value="1e300"))),
        document(state(result("nv/cold/time/gpu/mean", value=10**400))),
        document(state(MEAN, axes=[{"name": "n", "type": "int64", "value": "many"}])),
        document(state(MEAN, axes=[{"name": "n", "type": "int64", "value": "9" * 5000}])),
        document(state(MEAN, axes=[{"name": "\x1b[2J", "type": "string", "value": "x"}])),
        document(devices=[{"id": 0, "name": "\x1b[2J"}]) | {"benchmarks": [{"name": "a\rb", "states": [state()]}]},
    ],
)  # fmt: skip
def test_wrong_types_and_numbers_are_refused_in_a_line(wrong: Any) -> None:
    refused(json.dumps(wrong).encode())


def test_an_axis_keeps_the_text_of_what_json_has_no_number_for() -> None:
    axes = [
        {"name": "a", "type": "int64", "value": str(2**63)},
        {"name": "b", "type": "float64", "value": "inf"},
    ]
    assert only_row(document(state(MEAN, axes=axes))).parameters == {"a": str(2**63), "b": "inf"}


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.floats().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SOUND = document(
    state(
        MEAN,
        result("nv/cold/sample_size", value="499"),
        result("nv/cold/bw/global/bytes_per_second", value="1e12"),
        result("nv/json/bin:nv/cold/sample_times", filename="x.json-bin/0.bin", size="3"),
        axes=[{"name": n, "type": n, "value": "1"} for n in ("int64", "float64", "string")],
    ),
    state(result("nv/gmem/reads/in", value="4096"), result("nv/batch/time/gpu/mean", value="1e-6")),
    state(is_skipped=True, skip_reason="too large"),
)


def mutated(draw: st.DrawFn, node: Any) -> Any:
    """The document with one of its values, at any depth, replaced by anything."""
    if not isinstance(node, dict | list) or not node or draw(st.integers(0, 9)) == 0:
        return draw(ANY)
    key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    copy: Any = node.copy()
    copy[key] = mutated(draw, node[key])
    return copy


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    content: Any = SOUND
    for _ in range(draw(st.integers(0, 3))):
        content = mutated(draw, content)
    return json.dumps(content).encode()


@settings(deadline=None, max_examples=300)
@given(documents() | st.binary())
def test_nothing_but_a_usage_error_is_ever_raised(raw: bytes) -> None:
    is_nvbench(raw)
    with contextlib.suppress(UsageError):
        run = read_nvbench(raw, "x.json", Path("/nowhere"))
        json.dumps(nvbench_document(run), allow_nan=False)


# ---- writing --------------------------------------------------------------------------------


def run_of(*rows: Row) -> BenchRun:
    environment = Environment(gpu_name="NVIDIA H200", compute_capability="9.0")
    return BenchRun(environment, "2026-12-01T00:00:00Z", rows)


def value_of(content: Json, tag: str) -> Any:
    """The value of a tag in the first state, as the document spells it."""
    summaries = content["benchmarks"][0]["states"][0]["summaries"]
    return next((s["data"][0]["value"] for s in summaries if s["tag"] == tag), "missing")


TIMES = (2e-6, 1e-6, 3e-6, 2e-6, 2e-6)


def test_what_is_written_is_computed_from_the_samples_that_count() -> None:
    row = Row(
        "copy", samples_s=(*TIMES, 9.0), throttled=(5,), bytes_per_call=4e6,
        roofs=Roofs(dram_bytes_per_s=4e12),
    )  # fmt: skip
    content = nvbench_document(run_of(row))
    assert value_of(content, "nv/cold/sample_size") == "5"
    assert float(value_of(content, "nv/cold/time/gpu/mean")) == pytest.approx(2e-6)
    assert float(value_of(content, "nv/cold/time/gpu/min")) == 1e-6
    assert float(value_of(content, "nv/cold/time/gpu/max")) == 3e-6
    noise = float(value_of(content, "nv/cold/time/gpu/stdev/relative"))
    assert noise == pytest.approx(math.sqrt(0.5) / 2)
    assert float(value_of(content, "nv/cold/bw/global/bytes_per_second")) == pytest.approx(2e12)
    assert float(value_of(content, "nv/cold/bw/global/utilization")) == pytest.approx(0.5)


def test_what_is_unknown_is_left_out_or_null() -> None:
    content = nvbench_document(run_of(Row("copy", samples_s=(0.0, 0.0), bytes_per_call=1.0)))
    assert value_of(content, "nv/cold/time/gpu/stdev/relative") is None
    assert value_of(content, "nv/cold/time/gpu/iqr/relative") == "missing"
    assert value_of(content, "nv/cold/bw/global/bytes_per_second") == "missing"
    assert value_of(content, "nv/cold/sm_clock_rate/mean") == "missing"


def test_axes_have_the_narrowest_type_of_all_rows() -> None:
    parameters: list[Json] = [
        {"n": 1, "x": 1, "flag": True, "big": 2**70},
        {"n": 2, "x": 0.00123456789, "flag": False, "big": 1},
    ]
    rows = [Row("copy", parameters=p, samples_s=TIMES) for p in parameters]
    (benchmark,) = nvbench_document(run_of(*rows))["benchmarks"]
    types = {axis["name"]: axis["type"] for axis in benchmark["axes"]}
    assert types == {"n": "int64", "x": "float64", "flag": "string", "big": "string"}
    first, second = benchmark["states"]
    assert first["name"] == f"Device=0 n=1 x=1 flag=True big={2**70}"
    assert "x=0.00123456789" in second["name"]


def test_an_unknown_state_of_l2_does_not_come_back_as_nvbenchs() -> None:
    raw = json.dumps(nvbench_document(run_of(Row("copy", samples_s=TIMES)))).encode()
    (row,) = read_nvbench(raw, "x.json").rows
    assert (row.engine, row.cache_state, row.cache_note) == ("", CacheState.UNKNOWN, "")


def test_a_run_comes_back_but_for_its_samples() -> None:
    rows = (
        Row("copy", {"n": 1024, "dtype": "fp16"}, samples_s=TIMES, engine="graph",
            cache_state=CacheState.CLEAN, bytes_per_call=4096.0),
        Row("copy", {"n": 2048, "dtype": "fp16"}, Outcome.WRONG, "3 elements differ"),
        Row("sum", samples_s=(5e-6,), engine="cupti", cache_state=CacheState.WARM),
        Row("crash", outcome=Outcome.CRASHED),
        Row("never"),
    )  # fmt: skip
    raw = json.dumps(nvbench_document(run_of(*rows)), allow_nan=False).encode()
    assert is_nvbench(raw)
    run = read_nvbench(raw, "x.json")
    assert run.environment == run_of().environment
    assert [row.label for row in run.rows] == [row.label for row in rows]
    assert run.rows[0].samples_s == pytest.approx([2e-6])
    assert run.rows[0].bytes_per_call == 4096
    assert [(r.engine, r.cache_state) for r in (run.rows[0], run.rows[2])] == [
        ("graph", CacheState.CLEAN), ("cupti", CacheState.WARM),
    ]  # fmt: skip
    reasons = [row.reason for row in run.rows]
    assert reasons == ["", "wrong: 3 elements differ", "", "crashed", "no samples"]
