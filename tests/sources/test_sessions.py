"""Recorded sessions of ``kmeter top``: what was written is read again, and nothing else is believed."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmeter.errors import UsageError
from kmeter.model.card import Fact, Identity
from kmeter.model.device import Source
from kmeter.model.live import LiveGpu, Moment, Process, seconds_between
from kmeter.sources._session import SessionWriter, read_session

ONE = Identity(0, 1, "0000:41:00.0", "GPU-1", "NVIDIA H200", mig=False)
OTHER = Identity(None, 0, None, None, None, None, lost="GPU lost")


def gpu(identity: Identity, *processes: Process, **facts: float | str) -> LiveGpu:
    """Facts by value, or by their reason."""
    return LiveGpu(
        identity,
        {
            name: Fact(reason=value) if isinstance(value, str) else Fact(value, Source.RECORDING)
            for name, value in facts.items()
        },
        processes,
    )


def moments() -> tuple[Moment, ...]:
    worker = Process(4711, 2**30, "python")
    return (
        Moment("2026-12-02T22:00:00.000+00:00", (gpu(ONE, power_w=90.0), gpu(OTHER, power_w="no"))),
        Moment(
            "2026-12-02T22:00:01.250+00:00",
            (gpu(ONE, worker, power_w=690.5, utilisation=1.0), gpu(OTHER, power_w="no")),
        ),
        Moment(
            "2026-12-02T22:00:02.000+00:00",
            (gpu(ONE, worker, power_w="GPU lost", utilisation=1.0), gpu(OTHER, power_w="no")),
        ),
    )


def written(folder: Path, *more: Moment) -> Path:
    file = folder / "session.jsonl"
    writer = SessionWriter(file)
    for moment in more or moments():
        writer.write(moment)
    writer.close()
    return file


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    assert read_session(written(tmp_path)) == moments()


def test_only_changes_are_written(tmp_path: Path) -> None:
    same = [Moment(f"2026-12-02T22:00:0{n}.000+00:00", moments()[1].gpus) for n in range(9)]
    lines = written(tmp_path, *same).read_bytes().splitlines()
    assert len(lines) == 10
    assert all(len(line) < 60 for line in lines[2:])


def test_gpus_may_come_in_any_order(tmp_path: Path) -> None:
    first, second, _ = moments()
    file = written(tmp_path, first, second._replace(gpus=second.gpus[::-1]))
    assert read_session(file) == (first, second)


def test_a_session_that_was_cut_off_is_whole_up_to_there(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:-20])
    assert read_session(file) == moments()[:2]


def test_the_time_between(tmp_path: Path) -> None:
    first, second, _ = moments()
    assert seconds_between(first, second) == 1.25


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"kmeter.session/1", b"kmeter.session/9", "a newer kmeter's"),
        (b"690.5", b"NaN", "line 3: not a session"),
        (b"690.5", b"1e999", "line 3: "),
        (b"690.5", b"-1", "line 3: a value that no GPU has"),
        (b"690.5", b"1e300", "line 3: a value that no GPU has"),
        (b"690.5", b"9e18", "line 3: a value that no GPU has"),
        (b"690.5", b"true", "line 3: not a session"),
        (b"1073741824", b"-5", "line 3: a value that no GPU has"),
        (b'"python"', rb'"\u001b[2J"', "line 3: a text that is none"),
        (b'"NVIDIA H200"', rb'"\u001b[2J"', "line 1: a name that no GPU has"),
        (b"2026-12-02T22:00:01.250+00:00", b"yesterday", "line 3: no moment"),
        (b"2026-12-02T22:00:02.000", b"2025-12-02T22:00:02.000", "line 4: no moment"),
        (b"22:00:02.000+00:00", b"23:00:02.000+05:00", "line 4: no moment"),
        (b'"values"', b'"values":7,"x"', "line 2: not a session"),
        (b'"gpus":[{', b'"gpus":[{},{', "line 2: no moment"),
    ],
)
def test_what_is_no_session_is_refused_with_its_line(
    tmp_path: Path, old: bytes, new: bytes, says: str
) -> None:
    file = written(tmp_path)
    raw = file.read_bytes()
    assert old in raw
    head, tail = raw.split(b"\n", 1)
    file.write_bytes(raw.replace(old, new, 1) if old in head and old not in tail else
                     head + b"\n" + tail.replace(old, new, 1))  # fmt: skip
    with pytest.raises(UsageError, match=says):
        read_session(file)


def test_the_order_of_moments_is_that_of_their_times_whatever_their_zones(tmp_path: Path) -> None:
    file = written(tmp_path)
    raw = file.read_bytes()
    assert b"22:00:02.000+00:00" in raw
    file.write_bytes(raw.replace(b"22:00:02.000+00:00", b"17:00:02.000-05:00"))
    assert len(read_session(file)) == 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_session(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot write"):
        SessionWriter(tmp_path / "none" / "x")


def test_a_session_without_a_moment(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(UsageError, match="holds no moment"):
        read_session(file)


@given(st.binary(max_size=400), st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_session_or_refused(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int
) -> None:
    file = written(tmp_path_factory.mktemp("noise"))
    raw = file.read_bytes()
    file.write_bytes(raw[:at] + noise + raw[at + len(noise) :])
    with suppress(UsageError):
        assert read_session(file)
