"""Hold kmeter's readers against a folder of files with right answers.

    python tests/check_kernel_files.py DIR

DIR has the folders ptxas, resource_usage, cubin, cubin/containers, ptx, triton_cache and ncu, as far as
there are any, each with files and an ``expected.json``. Prints ``N of M right`` a kind and the first
differences; ends with 1 where there is one. What an answer leaves open (null) is not asked.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from kmeter.errors import UsageError
from kmeter.kernels.compiled_file import contents_of
from kmeter.kernels.ncu_csv import profiled_kernels
from kmeter.kernels.ptxas_log import kernels_of_log
from kmeter.kernels.resource_usage import kernels_of_usage
from kmeter.kernels.triton_cache import kernels_of_cache
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.profiled_kernel import ProfiledKernel

_SHOWN = 5
_FIELDS = {
    "regs": "registers_per_thread",
    "static_smem": "static_shared_bytes",
    "dynamic_smem": "dynamic_shared_bytes",
    "barriers": "barriers",
    "stack": "stack_bytes",
    "cumulative_stack": "cumulative_stack_bytes",
    "spill_stores": "spill_store_bytes",
    "spill_loads": "spill_load_bytes",
    "max_threads": "max_threads_per_block",
    "reqntid": "required_block",
    "cluster": "cluster",
    "max_cluster_rank": "max_cluster_rank",
    "minnctapersm": "min_blocks_per_sm",
}
_NOT_IN_IMAGES = {"spill_stores", "spill_loads"}
"""They come from the compile log: no image holds them."""
Answer = Mapping[str, Any]
Differences = Iterator[str]


def main(folder: Path) -> int:
    """0 where everything is right."""
    wrong = 0
    for kind, (place, check) in _KINDS.items():
        expected = folder / place / "expected.json"
        if expected.is_file():
            wrong += _checked(kind, folder / place, json.loads(expected.read_text("utf-8")), check)
    return 1 if wrong else 0


def _checked(kind: str, folder: Path, answers: Mapping[str, Any], check: "Check") -> int:
    found = {
        name: list(_differences(folder / name, answer, check)) for name, answer in answers.items()
    }
    wrong = [f"{name}: {text}" for name, texts in found.items() for text in texts]
    right = sum(not texts for texts in found.values())
    print(f"{kind}: {right} of {len(found)} right")
    for line in wrong[:_SHOWN]:
        print(f"    {line}")
    return len(wrong)


def _differences(path: Path, answer: Answer, check: "Check") -> Differences:
    try:
        yield from check(path, answer)
    except UsageError as error:
        if not answer.get("error"):
            yield f"refused: {error}"
    else:
        if answer.get("error"):
            yield f"taken, though it has no table: {answer['error']}"


# ---- compiled kernels -----------------------------------------------------------------------


def _log(path: Path, answer: Answer) -> Differences:
    kernels = kernels_of_log(path.read_bytes().decode("utf-8-sig", "replace"))
    yield from _compared(kernels, answer["kernels"], _FIELDS, asks_null=True)


def _usage(path: Path, answer: Answer) -> Differences:
    kernels = kernels_of_usage(path.read_bytes().decode("utf-8-sig", "replace"))
    wanted = [item for item in answer["functions"] if item["is_kernel"]]
    fields = {key: _FIELDS[key] for key in ("regs", "stack", "static_smem")}
    yield from _compared(kernels, wanted, fields, asks_null=True)


def _image(path: Path, answer: Answer) -> Differences:
    yield from _of_images(contents_of(path).kernels, answer["kernels"])


def _of_images(kernels: Iterable[CompiledKernel], wanted: Iterable[Answer]) -> Differences:
    fields = {key: name for key, name in _FIELDS.items() if key not in _NOT_IN_IMAGES}
    yield from _compared(_ordered(kernels), sorted(wanted, key=_place), fields, asks_null=False)


def _ordered(kernels: Iterable[CompiledKernel]) -> list[CompiledKernel]:
    return sorted(kernels, key=lambda kernel: (kernel.architecture or "", kernel.name))


def _place(item: Answer) -> tuple[str, str]:
    return item["arch"] or "", item["kernel"]


def _ptx(path: Path, answer: Answer) -> Differences:
    wanted: list[Answer] = [
        {**item, "arch": answer["target"], "max_threads": item["maxntid"] and prod(item["maxntid"])}
        for item in answer["kernels"]
    ]
    fields = {key: name for key, name in _FIELDS.items() if key != "dynamic_smem"}
    yield from _compared(contents_of(path).kernels, wanted, fields, asks_null=True)


def _triton(path: Path, answer: Answer) -> Differences:
    kernel = kernels_of_cache(path)[0]
    # Triton's own words name sm_90 where the image is for sm_90a.
    kernel = kernel._replace(architecture=(kernel.architecture or "").rstrip("a"))
    yield from _compared([kernel], [answer], _FIELDS, asks_null=False)
    if kernel.required_block is None or prod(kernel.required_block) != answer["block"]:
        yield f"block {kernel.required_block} where {answer['block']} is right"


def _compared(
    kernels: list[CompiledKernel],
    wanted: list[Answer],
    fields: Mapping[str, str],
    *,
    asks_null: bool,
) -> Differences:
    if [kernel.name for kernel in kernels] != [item["kernel"] for item in wanted]:
        yield f"{len(kernels)} kernels, or other ones, where there are {len(wanted)}"
        return
    for kernel, item in zip(kernels, wanted, strict=True):
        if kernel.architecture != item.get("arch"):
            yield f"{kernel.name}: {kernel.architecture} where {item.get('arch')} is right"
        for key, name in fields.items():
            if key not in item or (item[key] is None and not asks_null):
                continue
            own = getattr(kernel, name)
            own = list(own) if isinstance(own, tuple) else own
            if own != item[key]:
                yield f"{kernel.name}, {kernel.architecture}: {key} {own} where {item[key]} is right"


# ---- profiles -------------------------------------------------------------------------------

_MEANS = {
    "duration_s_mean": "seconds",
    "duration_s_min": "seconds_min",
    "duration_s_max": "seconds_max",
    "dram_bytes_mean": "dram_bytes",
    "dram_read_bytes": "dram_read_bytes",
    "dram_write_bytes": "dram_write_bytes",
    "l2_bytes_mean": "l2_bytes",
    "l1_bytes_mean": "l1_bytes",
    "registers": "registers_per_thread",
    "launches": "launches",
}
_TOLERANCE = 0.01


def _profile(path: Path, answer: Answer) -> Differences:
    found = {kernel.name: kernel for kernel in profiled_kernels(path.read_bytes(), str(path))}
    wanted = {item["kernel"]: item for item in answer["kernels"]}
    if found.keys() != wanted.keys():
        yield f"kernels {sorted(found)} where {sorted(wanted)} are right"
        return
    for name, item in wanted.items():
        yield from _profiled(found[name], item)


def _profiled(kernel: ProfiledKernel, item: Answer) -> Differences:
    for key, name in _MEANS.items():
        if item.get(key) is not None and not _is_near(getattr(kernel, name), item[key]):
            yield f"{kernel.name}: {key} {getattr(kernel, name)} where {item[key]} is right"
    for precision, count in item.get("flop", {}).items():
        is_tensor = precision == "tensor_instructions"
        own = kernel.tensor_instructions if is_tensor else kernel.flop.get(precision)
        if not _is_near(own, count):
            yield f"{kernel.name}: {precision} {own} where {count} is right"


def _is_near(own: float | None, right: float) -> bool:
    return own is not None and abs(own - right) <= _TOLERANCE * abs(right)


Check = Callable[[Path, Answer], Differences]
_KINDS: dict[str, tuple[str, Check]] = {
    "ptxas -v": ("ptxas", _log),
    "cuobjdump --dump-resource-usage": ("resource_usage", _usage),
    "cubin": ("cubin", _image),
    "containers": ("cubin/containers", _image),
    "PTX": ("ptx", _ptx),
    "Triton's cache": ("triton_cache", _triton),
    "profiles": ("ncu", _profile),
}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
