"""Build the kernels of tests/data/kernels/src for every architecture, and write down what NVIDIA's tools say of them.

    python scripts/build_cubins.py [OUT] --nvcc NVCC --include DIR [--ptxas PTXAS]... [--cuobjdump CUOBJDUMP]

NVCC writes the PTX of each kernel, and the PTXAS of each toolkit makes images of it: the one beside NVCC
and any others. An older one gets the PTX with its own version of the language, and leaves out files
that need a newer one. FATBINARY stands beside NVCC, CUOBJDUMP too where nothing else is said. DIR
holds ``cuda_occupancy.h``, which a program in C asks for the blocks of an SM. ``--only 75,90a`` keeps
to some architectures in every toolkit but the first.

OUT (tests/data/kernels/built) gets ``ANSWERS.json.gz``, and a ``CUDA.tar.xz`` of every toolkit: a fat
binary of each file, what ptxas and cuobjdump wrote, and in the first of them the PTX.
"""

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

KERNELS = Path(__file__).parent.parent / "tests" / "data" / "kernels"
DEVICES = KERNELS.parent / "compute_capabilities.json"
# fmt: off
ARCHITECTURES = (
    "75", "80", "86", "87", "88", "89", "90", "90a",
    "100", "100a", "100f", "101", "103", "107", "110", "120", "120a", "121",
)
# fmt: on
AS_PTX = {"101": "100"}
"""What PTX is made for instead: newer compilers call 10.1 by another name."""
COMPRESSED = {"blocks": "size", "clusters": "speed"}
"""Files whose images fatbinary compresses: ZSTD, LZ4. All others together are smaller in the archive."""
BLOCKS = (96, 1024)
"""What kernels are launched with that leave it to the launch, beside their own."""
DYNAMIC_BYTES = (0, 1, 5000, 49152, 60000, 101376, 160000, 232448)
"""What kernels with dynamic shared memory are launched with."""
COLUMNS = (
    "cuda", "file", "architecture", "kernel",
    "registers", "barriers", "shared", "frame", "cumulative_stack", "spill_stores", "spill_loads",
    "usage_registers", "usage_stack", "usage_shared",
    "max_threads", "required_block", "min_blocks", "cluster", "max_cluster_rank",
    "launches",
)  # fmt: skip
Said = dict[str, Any]


class Toolkit(NamedTuple):
    """An assembler, and the language that it takes."""

    ptxas: Path
    version: str
    language: str
    """``8.8``: of PTX."""
    knows: frozenset[str]
    """Architectures: ``90a``."""


class Tools(NamedTuple):
    """What one toolkit does for all of them."""

    nvcc: Path
    fatbinary: Path
    cuobjdump: Path


class Text(NamedTuple):
    """A file compiled to PTX."""

    source: Path
    architecture: str
    ptx: str
    """Empty where the compiler does not know the architecture."""


class Built(NamedTuple):
    """An image, and what was written while it was made."""

    file: str
    architecture: str
    ptx: str
    image: Path
    log: str
    usage: str


# ---- tools ----------------------------------------------------------------------------------


def said(*command: str | Path) -> str:
    """What a tool writes to either stream; raises CalledProcessError where it fails."""
    done = subprocess.run(
        command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout


def toolkit(ptxas: Path) -> Toolkit:
    """The toolkit of an assembler."""
    version = re.search(r"release (\d+\.\d+)", said(ptxas, "--version"))
    assert version
    major, minor = version[1].split(".")
    language = f"{int(major) - 4}.{int(minor) if int(major) > 12 else int(minor) - 1}"
    knows = re.findall(r"'sm_(\d+[af]?)'", said(ptxas, "--help"))
    return Toolkit(ptxas, version[1], language, frozenset(knows))


def ptx_of(nvcc: Path, source: Path, architecture: str, folder: Path) -> str:
    """The PTX of a file; empty where the compiler does not know the architecture."""
    path = folder / f"{source.stem}.{architecture}.ptx"
    try:
        target = f"compute_{AS_PTX.get(architecture, architecture)}"
        said(nvcc, "-std=c++17", "-ptx", f"-arch={target}", source, "-o", path)
    except subprocess.CalledProcessError as error:
        if "Unsupported gpu architecture" in error.stdout:
            return ""
        raise
    return path.read_text("utf-8")


def built(kit: Toolkit, cuobjdump: Path, text: Text, folder: Path) -> Built | None:
    """The image of a file; None where it needs a newer language than the toolkit's."""
    stem = f"{text.source.stem}.{kit.version}.sm_{text.architecture}"
    path, image = folder / f"{stem}.ptx", folder / f"{stem}.cubin"
    ptx = re.sub(r"^\.version .*$", f".version {kit.language}", text.ptx, flags=re.MULTILINE)
    path.write_text(ptx, "utf-8")
    try:
        log = said(kit.ptxas, "-v", f"-arch=sm_{text.architecture}", path, "-o", image)
    except subprocess.CalledProcessError as error:
        if any(word in error.stdout for word in ("requires PTX ISA", "Parsing error near '.")):
            return None
        print(error.stdout, file=sys.stderr)
        raise
    log = re.sub(r"^.*Compile time.*\n", "", log, flags=re.MULTILINE)
    usage = said(cuobjdump, "--dump-resource-usage", image)
    return Built(text.source.stem, text.architecture, ptx, image, log, usage)


def fat_binary(fatbinary: Path, images: Sequence[Built], path: Path) -> None:
    """One file of several images."""
    mode = COMPRESSED.get(images[0].file)
    compression = ("--compress-all", f"--compress-mode={mode}") if mode else ("--compress=false",)
    said(
        fatbinary, "-64", f"--create={path}", *compression,
        *(f"--image3=kind=elf,sm={each.architecture},file={each.image}" for each in images),
    )  # fmt: skip


# ---- what they say --------------------------------------------------------------------------


def of_log(log: str) -> dict[str, Said]:
    """What ``ptxas -v`` says of each kernel."""
    found: dict[str, Said] = {}
    for part in re.split(r"Compiling entry function '", log)[1:]:
        name = part[: part.index("'")]
        own = part[part.index(f"Function properties for {name}\n") :]
        frame = re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", own
        )
        used = re.search(r"Used (\d+) registers.*", own)
        assert frame
        assert used
        found[name] = {
            "registers": int(used[1]),
            "barriers": _number(r"used (\d+) barriers", used[0]) or 0,
            "shared": _number(r"(\d+)(?:\+0)? bytes smem", used[0]) or 0,
            "frame": int(frame[1]),
            "cumulative_stack": _number(r"(\d+) bytes cumulative stack", used[0]),
            "spill_stores": int(frame[2]),
            "spill_loads": int(frame[3]),
        }
    return found


def of_usage(usage: str) -> dict[str, Said]:
    """What ``cuobjdump --dump-resource-usage`` says of each function."""
    return {
        name: {"usage_registers": int(registers), "usage_stack": stack, "usage_shared": int(shared)}
        for name, registers, stack, shared in (
            (name, registers, None if stack == "UNKNOWN" else int(stack), shared)
            for name, registers, stack, shared in re.findall(
                r"Function (\S+):\s+REG:(\d+) STACK:(\w+) SHARED:(\d+)", usage
            )
        )
    }


def of_ptx(ptx: str) -> dict[str, Said]:
    """The bounds of each kernel, which stand between its parameters and its braces."""
    return {
        name: {
            "max_threads": (threads := _dimensions("maxntid", head)) and prod(threads),
            "required_block": _dimensions("reqntid", head),
            "min_blocks": _number(r"\.minnctapersm (\d+)", head),
            "cluster": _dimensions("reqnctapercluster", head),
            "max_cluster_rank": _number(r"\.maxclusterrank (\d+)", head),
        }
        for name, head in re.findall(r"\.entry (\w+)\(([^{]*)", ptx)
    }


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None


def _dimensions(directive: str, head: str) -> list[int] | None:
    found = re.search(rf"\.{directive} (\d+)(?:, (\d+))?(?:, (\d+))?", head)
    return [int(extent or 1) for extent in found.groups()] if found else None


# ---- blocks of an SM ------------------------------------------------------------------------

ASKS = r"""
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cuda_occupancy.h"

/* Numbers of a device, a kernel and a launch a line; block 0 asks for the best one. */
int main(void)
{
    int major, minor, threads, threads_sm, regs, regs_sm, sms;
    int kernel_threads, kernel_regs, barriers, block;
    size_t shared, shared_sm, optin, reserved, kernel_shared, dynamic;
    while (scanf("%d %d %d %d %d %d %zu %zu %d %zu %zu %d %d %zu %d %d %zu",
                 &major, &minor, &threads, &threads_sm, &regs, &regs_sm, &shared, &shared_sm,
                 &sms, &optin, &reserved, &kernel_threads, &kernel_regs, &kernel_shared,
                 &barriers, &block, &dynamic) == 17) {
        cudaOccDeviceProp device;
        cudaOccFuncAttributes kernel;
        cudaOccDeviceState state;
        cudaOccResult result;
        int grid = 0;
        memset(&device, 0, sizeof device);
        memset(&kernel, 0, sizeof kernel);
        memset(&state, 0, sizeof state);
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = threads;
        device.maxThreadsPerMultiprocessor = threads_sm;
        device.regsPerBlock = regs;
        device.regsPerMultiprocessor = regs_sm;
        device.warpSize = 32;
        device.sharedMemPerBlock = shared;
        device.sharedMemPerMultiprocessor = shared_sm;
        device.numSms = sms;
        device.sharedMemPerBlockOptin = optin;
        device.reservedSharedMemPerBlock = reserved;
        kernel.maxThreadsPerBlock = kernel_threads ? kernel_threads : INT_MAX;
        kernel.numRegs = kernel_regs;
        kernel.sharedSizeBytes = kernel_shared;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.numBlockBarriers = barriers;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        if (!block && cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &device, &kernel,
                                                             &state, NULL, dynamic))
            return 1;
        result.activeBlocksPerMultiprocessor = 0;
        if (block && cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                              block, dynamic))
            return 2;
        printf("%d %d\n", block, result.activeBlocksPerMultiprocessor);
    }
    return 0;
}
"""
_OF_A_DEVICE = (
    "max_threads_per_block", "max_threads_per_sm", "regs_per_block", "regs_per_sm",
    "smem_per_block", "smem_per_sm", "num_sms", "smem_per_block_optin", "reserved_smem_per_block",
)  # fmt: skip
Header = Callable[[Sequence[Sequence[int]]], list[list[int]]]


def header(include: Path, folder: Path) -> Header:
    """What asks ``cuda_occupancy.h``: rows of numbers in, block and blocks out."""
    program, source = folder / "asks", folder / "asks.c"
    source.write_text(ASKS, "utf-8")
    said("cc", "-O1", "-I", include, source, "-o", program)

    def ask(rows: Sequence[Sequence[int]]) -> list[list[int]]:
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        done = subprocess.run([program], input=text, text=True, capture_output=True, check=True)
        return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]

    return ask


def devices() -> dict[str, list[int]]:
    """The numbers of each compute capability that the header wants."""
    table = json.loads(DEVICES.read_text("utf-8"))["devices"]
    return {
        "".join(each["cc"].split(".")): [
            *map(int, each["cc"].split(".")), *(each[name] for name in _OF_A_DEVICE)
        ]
        for each in table
    }  # fmt: skip


def launches(row: Said) -> list[tuple[int | None, int, int]]:
    """What the user says of the block, the block itself (0: the best one), and dynamic shared bytes."""
    own = prod(row["required_block"] or ()) if row["required_block"] else row["max_threads"] or 0
    most = row["max_threads"] or 1024
    wished = [] if row["required_block"] else [block for block in BLOCKS if block <= most]
    sizes = DYNAMIC_BYTES if "dynamic" in row["kernel"] else (0,)
    asked = [(None, own, size) for size in sizes]
    return [*asked, *((block, block, size) for block in wished for size in sizes)]


def with_blocks(rows: list[Said], ask: Header) -> None:
    """Adds to each kernel its launches: the user's block, the block that runs, dynamic bytes, blocks of an SM."""
    known = devices()
    for row in rows:
        asked = launches(row)
        kernel = [row["max_threads"] or 0, row["registers"], row["shared"], row["barriers"]]
        device = known[row["architecture"].removeprefix("sm_").rstrip("af")]
        found = ask([[*device, *kernel, block, dynamic] for _, block, dynamic in asked])
        row["launches"] = [
            [wished, block, dynamic, blocks]
            for (wished, _, dynamic), (block, blocks) in zip(asked, found, strict=True)
        ]


# ---- all of it ------------------------------------------------------------------------------


def rows_of(kit: Toolkit, image: Built) -> Iterator[Said]:
    """A row a kernel, in the order of the image."""
    usage, bounds = of_usage(image.usage), of_ptx(image.ptx)
    for name, numbers in of_log(image.log).items():
        place = (kit.version, image.file, f"sm_{image.architecture}", name)
        yield {**dict(zip(COLUMNS, place, strict=False)), **numbers, **usage[name], **bounds[name]}


def packed(
    kit: Toolkit, images: Sequence[Built], tools: Tools, out: Path, *, with_ptx: bool
) -> None:
    """The archive of a toolkit."""
    with (
        TemporaryDirectory() as folder,
        tarfile.open(out / f"{kit.version}.tar.xz", "w:xz", preset=9) as archive,
    ):
        for file in dict.fromkeys(image.file for image in images):
            own = [image for image in images if image.file == file]
            path = Path(folder) / file
            fat_binary(tools.fatbinary, own, path)
            _add(archive, f"{file}.fatbin", path.read_bytes())
            _add(archive, f"{file}.ptxas.txt", "".join(each.log for each in own).encode())
            usage = said(tools.cuobjdump, "--dump-resource-usage", path)
            _add(archive, f"{file}.usage.txt", usage.encode())
            for each in own if with_ptx else ():
                _add(archive, f"{file}.sm_{each.architecture}.ptx", each.ptx.encode())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def answers(rows: Iterable[Said], kits: Iterable[Toolkit]) -> str:
    """A row a line."""
    lines = (json.dumps([row[name] for name in COLUMNS], separators=(",", ":")) for row in rows)
    head = {"cuda": [kit.version for kit in kits], "columns": COLUMNS}
    return f'{json.dumps(head)[:-1]},\n"rows": [\n' + ",\n".join(lines) + "\n]}\n"


def images_of(kit: Toolkit, tools: Tools, texts: Iterable[Text], folder: Path) -> list[Built]:
    """Every image that a toolkit makes of PTX by file and architecture."""
    wanted = [text for text in texts if text.ptx and text.architecture in kit.knows]
    with ThreadPoolExecutor() as pool:
        made = pool.map(lambda at: built(kit, tools.cuobjdump, at, folder), wanted)
        return [image for image in made if image]


def texts_of(nvcc: Path, folder: Path) -> list[Text]:
    """The PTX of every file for every architecture."""
    sources = sorted((KERNELS / "src").glob("*.cu"))
    places = [(source, each) for source in sources for each in ARCHITECTURES]
    with ThreadPoolExecutor() as pool:
        texts = pool.map(lambda at: ptx_of(nvcc, at[0], at[1], folder), places)
        return [Text(*place, text) for place, text in zip(places, texts, strict=True)]


def main(arguments: argparse.Namespace) -> None:
    """Builds, asks and writes."""
    beside: Path = arguments.nvcc.parent
    cuobjdump = arguments.cuobjdump or beside / "cuobjdump"
    tools = Tools(arguments.nvcc, beside / "fatbinary", cuobjdump)
    kits = [toolkit(path) for path in (beside / "ptxas", *arguments.ptxas)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[Said] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        texts = texts_of(tools.nvcc, folder)
        for kit in kits:
            kept = [text for text in texts if kit is kits[0] or text.architecture in arguments.only]
            images = images_of(kit, tools, kept, folder)
            packed(kit, images, tools, arguments.out, with_ptx=kit is kits[0])
            rows += [row for image in images for row in rows_of(kit, image)]
        with_blocks(rows, header(arguments.include, folder))
    packed_answers = gzip.compress(answers(rows, kits).encode(), mtime=0)
    (arguments.out / "ANSWERS.json.gz").write_bytes(packed_answers)
    print(f"{len(rows)} kernels")


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=KERNELS / "built")
    parser.add_argument("--nvcc", type=Path, required=True)
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--ptxas", type=Path, action="append", default=[])
    parser.add_argument("--cuobjdump", type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=ARCHITECTURES)
    return parser.parse_args(words)


if __name__ == "__main__":
    main(parsed(sys.argv[1:]))
