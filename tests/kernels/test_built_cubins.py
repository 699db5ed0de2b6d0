"""The project's own kernels, built for every architecture, against what NVIDIA's tools say of each.

``scripts/build_cubins.py`` builds them and writes the answers down; KMETER_BUILT names another folder of its output.
"""

import gzip
import json
import os
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kmeter.kernels.compiled_file import contents_of_bytes
from kmeter.kernels.ptx import kernels_of_ptx
from kmeter.kernels.ptxas_log import kernels_of_log
from kmeter.kernels.resource_usage import kernels_of_usage
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.kernel_occupancy import (
    BEST,
    BOUNDS,
    GIVEN,
    REQUIRED,
    LaunchWish,
    kernel_occupancy,
)

OWN = Path(__file__).parents[1] / "data" / "kernels" / "built"
BUILT = Path(os.environ.get("KMETER_BUILT", OWN))
ANSWERS = json.loads(gzip.decompress((BUILT / "ANSWERS.json.gz").read_bytes()))
RESERVED_BYTES = 1024
"""What cuobjdump counts on 9.0 and later beside a kernel's own shared memory."""
Row = dict[str, Any]
Case = tuple[str, str, str]
"""CUDA, file, architecture: the kernels of one image."""
Reader = Callable[[bytes], list[CompiledKernel]]
Place = tuple[str, str]


def _rows() -> list[Row]:
    return [dict(zip(ANSWERS["columns"], row, strict=True)) for row in ANSWERS["rows"]]


ROWS = _rows()
FIRST = ANSWERS["cuda"][0]
CASES: dict[Case, list[Row]] = defaultdict(list)
for _row in ROWS:
    CASES[_row["cuda"], _row["file"], _row["architecture"]].append(_row)


def cases(wanted: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "rows", [pytest.param(CASES[at], id="-".join(at)) for at in wanted]
    )


every_image = cases(CASES)
every_ptx = cases(at for at in CASES if at[0] == FIRST)


# ---- what the readers make of the files -----------------------------------------------------


@cache
def members(cuda: str) -> dict[str, bytes]:
    with tarfile.open(BUILT / f"{cuda}.tar.xz") as archive:
        files = ((each.name, archive.extractfile(each)) for each in archive)
        return {name: file.read() for name, file in files if file}


@cache
def read(cuda: str, name: str, reader: Reader) -> dict[Place, CompiledKernel]:
    return by_place(reader(members(cuda)[name]))


def by_place(kernels: Iterable[CompiledKernel]) -> dict[Place, CompiledKernel]:
    found: dict[Place, CompiledKernel] = {}
    for kernel in kernels:
        place = (kernel.architecture or "", kernel.name)
        assert place not in found
        found[place] = kernel
    return found


def of_image(row: Row) -> CompiledKernel:
    return _of(row, f"{row['file']}.fatbin", images)


def of_log(row: Row) -> CompiledKernel:
    return _of(row, f"{row['file']}.ptxas.txt", log)


def of_usage(row: Row) -> CompiledKernel:
    return _of(row, f"{row['file']}.usage.txt", usage)


def of_ptx(row: Row) -> CompiledKernel:
    return _of(row, f"{row['file']}.{row['architecture']}.ptx", ptx)


def _of(row: Row, name: str, reader: Reader) -> CompiledKernel:
    return read(row["cuda"], name, reader)[row["architecture"], row["kernel"]]


def images(raw: bytes) -> list[CompiledKernel]:
    return contents_of_bytes(raw).kernels


def log(raw: bytes) -> list[CompiledKernel]:
    return kernels_of_log(raw.decode())


def usage(raw: bytes) -> list[CompiledKernel]:
    return kernels_of_usage(raw.decode())


def ptx(raw: bytes) -> list[CompiledKernel]:
    return kernels_of_ptx(raw.decode())


# ---- the answers ----------------------------------------------------------------------------


def own_shared_bytes(row: Row) -> int:
    """What cuobjdump says, less what is reserved."""
    said: int = row["usage_shared"]
    is_reserving = int(row["architecture"].removeprefix("sm_").rstrip("af")) >= 90
    return said - RESERVED_BYTES if said and is_reserving else said


def bounds(row: Row) -> Row:
    return {
        "max_threads_per_block": row["max_threads"],
        "required_block": _tuple(row["required_block"]),
        "cluster": _tuple(row["cluster"]),
        "max_cluster_rank": row["max_cluster_rank"],
    }


def resources(row: Row) -> Row:
    return {
        "registers_per_thread": row["registers"],
        "static_shared_bytes": row["shared"],
        "barriers": row["barriers"],
    }


def stack_and_spills(row: Row) -> Row:
    return {
        "stack_bytes": row["frame"],
        "cumulative_stack_bytes": row["cumulative_stack"],
        "spill_store_bytes": row["spill_stores"],
        "spill_load_bytes": row["spill_loads"],
    }


def known_stack(row: Row) -> Row:
    """What an image must say, too: cuobjdump reads it of nothing else."""
    said = {
        "stack_bytes": row["usage_stack"],
        "cumulative_stack_bytes": row["cumulative_stack"],
    }
    return {name: size for name, size in said.items() if size is not None}


def of_cuobjdump(row: Row) -> Row:
    return {
        "registers_per_thread": row["usage_registers"],
        "static_shared_bytes": own_shared_bytes(row),
        "stack_bytes": row["usage_stack"],
    }


def blocks_wanted(row: Row) -> Row:
    return {"min_blocks_per_sm": row["min_blocks"]}


def _tuple(extents: list[int] | None) -> tuple[int, ...] | None:
    return tuple(extents) if extents else None


def differences(
    rows: Iterable[Row], read: Callable[[Row], CompiledKernel], right: Callable[[Row], Row]
) -> list[str]:
    """What a reader says of each kernel where something else is right."""
    return [
        f"{row['kernel']}: {name} {found} where {wanted} is right"
        for row in rows
        for name, wanted in right(row).items()
        if (found := getattr(read(row), name)) != wanted
    ]


def test_there_are_kernels_for_every_generation_from_turing_on() -> None:
    numbers = {row["architecture"].removeprefix("sm_") for row in ROWS}
    assert {"75", "80", "86", "89", "90", "90a", "100", "103", "110", "120", "121"} <= numbers
    assert len({(row["file"], row["kernel"]) for row in ROWS}) == 55


def test_nvidias_tools_agree() -> None:
    wrong = [
        (row["cuda"], row["architecture"], row["kernel"])
        for row in ROWS
        if row["registers"] != row["usage_registers"] or row["shared"] != own_shared_bytes(row)
    ]
    assert wrong == []


@pytest.mark.parametrize("cuda", ANSWERS["cuda"])
@pytest.mark.parametrize(
    ("suffix", "reader"), [("fatbin", images), ("ptxas.txt", log), ("usage.txt", usage)]
)
def test_kernels_are_those_that_the_assembler_names(cuda: str, suffix: str, reader: Reader) -> None:
    for file in sorted({row["file"] for row in ROWS if row["cuda"] == cuda}):
        wanted = {
            (row["architecture"], row["kernel"])
            for row in ROWS
            if (row["cuda"], row["file"]) == (cuda, file)
        }
        assert set(read(cuda, f"{file}.{suffix}", reader)) == wanted


# ---- every kernel ---------------------------------------------------------------------------


@every_image
def test_an_image_says_what_the_assembler_says(rows: list[Row]) -> None:
    assert differences(rows, of_image, lambda row: resources(row) | bounds(row)) == []


@every_image
def test_an_images_stack_is_what_the_tools_say(rows: list[Row]) -> None:
    assert differences(rows, of_image, known_stack) == []


@every_image
def test_the_log_is_read_as_it_stands(rows: list[Row]) -> None:
    assert differences(rows, of_log, lambda row: resources(row) | stack_and_spills(row)) == []


@every_image
def test_resource_usage_is_read_as_it_stands(rows: list[Row]) -> None:
    assert differences(rows, of_usage, of_cuobjdump) == []


@every_ptx
def test_ptx_says_the_bounds(rows: list[Row]) -> None:
    assert differences(rows, of_ptx, lambda row: bounds(row) | blocks_wanted(row)) == []


# ---- occupancy ------------------------------------------------------------------------------


@every_image
def test_blocks_of_an_sm_equal_the_header(rows: list[Row]) -> None:
    wrong = []
    for row in rows:
        for wish, block, dynamic, blocks in row["launches"]:
            right = (_source(row, wish), block or 1, blocks)
            found = _launched(of_image(row), wish, dynamic)
            if found != right:
                wrong.append((row["kernel"], wish, dynamic, found, right))
    assert wrong == []


def _launched(
    kernel: CompiledKernel, block: int | None, dynamic: int
) -> tuple[str, int | None, int | None]:
    found = kernel_occupancy(kernel, LaunchWish(block, dynamic))
    blocks = found.report.occupancy.blocks_per_sm if found.report else None
    return found.block_source, found.block_size, blocks


def _source(row: Row, wish: int | None) -> str:
    if row["required_block"]:
        return REQUIRED
    if wish:
        return GIVEN
    return BOUNDS if row["max_threads"] else BEST


def test_a_block_that_the_bounds_forbid_does_not_run() -> None:
    bounded = [row for row in ROWS if (row["max_threads"] or 1024) < 1024]
    found = {_launched(of_image(row), row["max_threads"] + 1, 0)[2] for row in bounded}
    assert found == {0}


def test_a_required_block_is_the_one_that_runs() -> None:
    required = [row for row in ROWS if row["required_block"]]
    assert required
    for row in required:
        assert _launched(of_image(row), 32, 0)[1] == prod(row["required_block"])


def test_a_difference_is_found() -> None:
    row = ROWS[0] | {"barriers": 17}
    assert differences([row], of_image, resources) == [
        f"{row['kernel']}: barriers {ROWS[0]['barriers']} where 17 is right"
    ]
