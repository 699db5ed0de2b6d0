"""Saved runs: they come back as they were, and nothing else is taken for one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import ADD, LATER, RUN
from hypothesis import given
from hypothesis import strategies as st

from kmeter.bench import saved
from kmeter.errors import UsageError
from kmeter.views.bench_json import bench_document


def text_of(**changes: Any) -> bytes:
    return json.dumps({**bench_document(RUN), **changes}).encode()


def test_a_run_comes_back_as_it_was() -> None:
    assert saved.decode_run(text_of(), "x") == RUN


def with_row(**changes: Any) -> bytes:
    document = bench_document(RUN)
    document["results"][0].update(changes)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "holds no benchmarks"),
        (b"[1, 2]", "holds no benchmarks"),
        (b'{"schema": 3}', "holds no benchmarks"),
        (text_of()[:-200], "holds no benchmarks"),
        (b"[" * 100_000, "holds no benchmarks"),
        (text_of(schema="kmeter.ceiling/1"), "but 'kmeter.ceiling/1'"),
        (text_of(schema="kmeter.bench/9"), "another version of kmeter"),
        (text_of(results=3), "it has no results"),
        (json.dumps([{"name": "a", "ms_median": 1.0}]).encode(), "kernelmeter's"),
        (with_row(samples_s=[1e-3, -1.0]), "impossible number"),
        (with_row(samples_s=[0.0]), "impossible number"),
        (with_row(samples_s="many"), "holds no benchmarks"),
        (with_row(status="splendid"), "holds no benchmarks"),
        (with_row(throttled=[10_000]), "marks samples that it has not"),
        (with_row(reason="\x1b[2J"), "not printable"),
        (with_row(name="tiny", parameters={}), "two results of one name"),
    ],
)
def test_what_is_no_run_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(UsageError, match="x") as caught:
        saved.decode_run(raw, "x.json")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_nothing_but_a_usage_error_is_raised(content: Any) -> None:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(UsageError):
        saved.decode_run(raw, "x.json")


# ---- history --------------------------------------------------------------------------------


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(saved, "history_folder", lambda: tmp_path)
    for run in (RUN, LATER, replace(RUN, environment=replace(RUN.environment, file="o.py"))):
        path = saved.tagged_file("main", run)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(bench_document(run)))
    return tmp_path


def test_a_tag_is_its_newest_run_of_the_same_file(history: Path) -> None:
    assert saved.baseline("main", "some/kernels.py").started_at == LATER.started_at
    assert list(saved.tags()) == ["main"]
    assert len(saved.tags()["main"]) == 3


def test_a_file_of_an_odd_name_is_found_again(history: Path) -> None:
    odd = replace(RUN, environment=replace(RUN.environment, file="we ird'é.py"))
    path = saved.tagged_file("odd", odd)
    path.parent.mkdir()
    path.write_text(json.dumps(bench_document(odd)))
    assert saved.baseline("odd", "we ird'é.py").environment.file == "we ird'é.py"


@pytest.mark.parametrize(
    ("name", "words"),
    [("main", "no run of other.py is tagged main"), ("none", "no file and no tag. Tags: main")],
)
def test_what_is_not_kept_is_named(history: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        saved.baseline(name, "other.py")


@pytest.mark.parametrize("file", ["my kernel.py", "fast-kernels.py"])
def test_a_tag_is_of_exactly_that_file(history: Path, file: str) -> None:
    run = replace(RUN, environment=replace(RUN.environment, file=file), tag="own")
    path = saved.tagged_file("own", run)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(bench_document(run)))
    assert saved.baseline("own", file).environment.file == file
    with pytest.raises(UsageError, match="is tagged own"):
        saved.baseline("own", "kernels.py")


@pytest.mark.parametrize("tag", ["", "../up", "a/b", "a b", ".hidden", "x" * 65])
def test_what_is_no_tag(tag: str) -> None:
    with pytest.raises(UsageError, match="is no tag"):
        saved.checked_tag(tag)


def test_a_file_goes_before_a_tag(history: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text_of())
    assert saved.baseline(str(path), "kernels.py").rows[0] == ADD
