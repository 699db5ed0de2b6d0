import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kmeter.kernels import demangle
from kmeter.kernels.demangle import demangled

pytestmark = pytest.mark.skipif(demangle._library() is None, reason="no C++ library here")


def doubled(times: int) -> str:
    """A function whose parameters are each a pair of the one before."""
    marks = ["S_", *(f"S{n:X}_" for n in range(10)), *(f"S{chr(65 + n)}_" for n in range(26))]
    parts = ["_Z1f1A", "1BIS_S_E"]
    return "".join([*parts, *(f"S0_I{marks[2 + i]}{marks[2 + i]}E" for i in range(times))])


def expanded(members: int, depth: int) -> str:
    """A function of a pack that is expanded within its own expansion, again and again."""
    inner = "DpT_"
    for _ in range(depth):
        inner = f"Dp1AIJT_{inner}EE"
    return f"_Z1fIJ{'i' * members}EEv{inner}"


def test_names_as_they_were_written() -> None:
    assert demangled(["_Z1kPfi", "_ZN5space4nameILi3EEEvv", "_Z1kPfi"]) == {
        "_Z1kPfi": "k(float*, int)",
        "_ZN5space4nameILi3EEEvv": "void space::name<3>()",
    }


@pytest.mark.parametrize(
    "name", ["_Z", "_Z1", "_ZZZZ", "_Z999999999999999999999k", "_Zé", "_Z1k" + "(" * 500]
)
def test_what_is_no_name_stays(name: str) -> None:
    assert demangled([name]).get(name, name) == name


@pytest.mark.parametrize("name", ["k", "", "_Z1fv\0more", "_Z1f\ud800v", "_Z1fv\n", " _Z1fv"])
def test_other_names_are_not_asked_for(name: str) -> None:
    assert demangled([name]) == {}


def test_a_name_that_repeats_itself_is_read_elsewhere() -> None:
    name = doubled(8)
    assert not demangle._is_plain(name)
    assert demangled([name])[name].startswith("f(A, B<A, A>, B<B<A, A>, B<A, A> >")


@pytest.mark.parametrize("name", [doubled(30), expanded(250, 2)])
def test_a_name_that_would_take_gigabytes_stays(name: str) -> None:
    begin = time.monotonic()
    found = demangled([name, "_Z1fv"])
    assert (found.get(name, name), found["_Z1fv"]) == (name, "f()")
    assert time.monotonic() - begin < 15


def test_all_names_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle, "_MOST_LETTERS", 30)
    names = [f"_Z{len(name)}{name}v" for name in ("first", "second_that_is_long_enough", "third")]
    assert list(demangled(names).values()) == ["first()", "second_that_is_long_enough()", names[2]]


def test_a_long_name_stays() -> None:
    name = f"_Z1f{'i' * 2**17}"
    assert demangled([name]) == {}


def test_nothing_of_the_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("json", "re", "ctypes", "kmeter", "sitecustomize", "resource"):
        (tmp_path / f"{module}.py").write_text("open('run', 'w').close()")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    name = doubled(8)
    assert demangled([name])[name].startswith("f(A")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("output", [b"", b"\xff\n", b'"one"\n"two', b"[1]\n" * 100])
def test_a_process_that_says_something_else(output: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        assert json.loads(options["input"]) == [doubled(8)]
        return subprocess.CompletedProcess(command, 1, output, b"")

    monkeypatch.setattr(subprocess, "run", run)
    assert set(demangled([doubled(8)])) <= {doubled(8)}
