"""Files with right answers, damaged at random: each gives kernels or is refused, in time and in little memory."""

import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kernels.answers import OWN
from kernels.test_compiled_file import little
from kernels.test_fatbin import LZ4, ZSTD, entry, fatbin, squeezed
from kernels.test_host_file import archive
from kmeter.errors import UsageError
from kmeter.kernels.compiled_file import contents_of_bytes

_SECONDS, _BYTES = 5, 2**28
_EXTREMES = [0, 1, 7, 8, 63, 64, 0xFF, 0xFFFF, 0x10000, 2**20, 2**31 - 1, 2**31, 2**32 - 1]
_QUICK = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
Damage = Callable[[bytes], bytes]


def _small(*patterns: str) -> list[bytes]:
    files = [path for pattern in patterns for path in sorted(OWN.glob(pattern))]
    return [path.read_bytes() for path in files if path.stat().st_size < 70_000]


IMAGES = _small("cubin/118/*.cubin", "cubin/135/*.cubin")
CONTAINERS = [
    *_small("cubin/containers/*.fatbin", "cubin/containers/*.o", "cubin/containers/linked"),
    archive(
        ("//", b"a_long_name_in_the_table.o/\n"), ("/0", _small("cubin/containers/three.o")[0])
    ),
    fatbin(squeezed(little(), LZ4), squeezed(little(), ZSTD), entry(little())),
]
TEXTS = _small("ptx/*.ptx")


def _bits(raw: bytes, at: float, bit: int) -> bytes:
    if not raw:
        return raw
    index = int(at * len(raw)) % len(raw)
    return raw[:index] + bytes([raw[index] ^ 1 << bit]) + raw[index + 1 :]


def _field(raw: bytes, at: float, value: int) -> bytes:
    index = int(at * len(raw)) // 4 * 4
    return raw[:index] + struct.pack("<I", value) + raw[index + 4 :]


def _spliced(raw: bytes, first: float, last: float, to: float) -> bytes:
    begin, end = sorted((int(first * len(raw)), int(last * len(raw))))
    at = int(to * len(raw))
    return raw[:at] + raw[begin:end] + raw[at:]


_SHARE = st.floats(0, 1) | st.floats(0, 0.02) | st.floats(0.9, 1)
DAMAGES: st.SearchStrategy[Damage] = st.one_of(
    st.builds(lambda at, bit: lambda raw: _bits(raw, at, bit), _SHARE, st.integers(0, 7)),
    st.builds(lambda at, value: lambda raw: _field(raw, at, value), _SHARE, st.sampled_from(_EXTREMES)),
    st.builds(lambda end: lambda raw: raw[: int(end * len(raw))], _SHARE),
    st.builds(lambda a, b, to: lambda raw: _spliced(raw, a, b, to), _SHARE, _SHARE, _SHARE),
)  # fmt: skip


def _read(raw: bytes) -> None:
    """Read it within bounds of time and memory; only a refusal may come out."""
    begin = time.process_time()
    tracemalloc.start()
    try:
        contents_of_bytes(raw)
    except UsageError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - begin < _SECONDS
    assert peak < _BYTES


def _damaged(raw: bytes, damages: list[Damage]) -> bytes:
    for damage in damages:
        raw = damage(raw)
    return raw


@_QUICK
@given(st.sampled_from(IMAGES), st.lists(DAMAGES, min_size=1, max_size=8))
def test_damaged_images(raw: bytes, damages: list[Damage]) -> None:
    _read(_damaged(raw, damages))


@_QUICK
@given(st.sampled_from(CONTAINERS), st.lists(DAMAGES, min_size=1, max_size=8))
def test_damaged_containers(raw: bytes, damages: list[Damage]) -> None:
    _read(_damaged(raw, damages))


@_QUICK
@given(st.sampled_from(TEXTS), st.lists(DAMAGES, min_size=1, max_size=8))
def test_damaged_ptx(raw: bytes, damages: list[Damage]) -> None:
    _read(_damaged(raw, damages))


@_QUICK
@given(
    st.sampled_from([b"\x7fELF\x02\x01", b"\x7fELF\x01\x01", b"!<arch>\n", fatbin()[:8], b""]),
    st.binary(),
)
@example(b"!<arch>\n", b"")
def test_a_beginning_and_anything_after_it(begin: bytes, rest: bytes) -> None:
    _read(begin + rest)


@pytest.mark.parametrize("value", _EXTREMES)
def test_every_number_of_a_header_set_to_an_extreme(value: int) -> None:
    for raw in (little(), fatbin(squeezed(little(), LZ4), entry(little()))):
        for at in range(0, min(len(raw), 400) - 4, 2):
            _read(raw[:at] + struct.pack("<I", value) + raw[at + 4 :])


@pytest.mark.parametrize(
    "path", sorted(OWN.glob("cubin/containers/*.fatbin")), ids=lambda p: p.name
)
def test_files_that_are_cut_off_anywhere(path: Path) -> None:
    raw = path.read_bytes()
    for end in range(0, len(raw), 997):
        _read(raw[:end])
