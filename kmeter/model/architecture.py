"""One row per compute capability: every limit and rate that a generation of GPUs fixes.

Nothing else in kmeter keys on a compute capability. Sources: cuda_occupancy.h of CUDA 13.5; CUDA
Programming Guide 13, appendix "Compute Capabilities" (feature and throughput tables); NVIDIA's
architecture white papers. ``tests/data/compute_capabilities.json`` holds the limits again, with
their sources, and a test compares the two.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kmeter.errors import UnknownArchitectureError, UsageError
from kmeter.model.compute_units import SPARSE, dense, label
from kmeter.model.launch import WARP_SIZE, CachePreference
from kmeter.units import quoted

KIB = 1024

_NOTHING_KNOWN: Any = MappingProxyType({})


class Rate(NamedTuple):
    """FLOP (integer units: OP) per SM and clock; None with the reason."""

    value: float | None
    reason: str = ""


class Architecture(NamedTuple):
    """Limits of one SM and of one block, in threads, warps, registers and bytes."""

    compute_capability: str
    generation: str
    max_warps_per_sm: int
    max_blocks_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_per_block_opt_in: int
    """The most a block may have once its kernel opted in, without the reserved share."""
    max_threads_per_block: int = 1024
    shared_bytes_per_block: int = 48 * KIB
    reserved_shared_bytes_per_block: int = 0
    """Taken by the driver from every block, also from one that uses no shared memory."""
    shared_allocation_unit: int = 256
    shared_carveouts: tuple[int, ...] = ()
    """The shared-memory sizes that an SM can be set to; empty where a carve-out has no say."""
    shared_bytes_by_preference: Mapping[CachePreference, int] = _NOTHING_KNOWN
    """Kepler: the split of L1 and shared memory by cache preference."""
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    max_registers_per_thread: int = 255
    """What a compiler gives a thread."""
    accepted_registers_per_thread: int = 256
    """What cuda_occupancy.h takes without a word: 255 up to 6.x, then 256."""
    register_allocation_unit: int = 256
    """Registers of a warp come in multiples of this."""
    sub_partitions: int = 4
    portable_sub_partitions: int | None = None
    """A block must fit with this many sub-partitions too (6.0, for the sake of 6.1)."""
    partitioned_global_caching: bool = False
    barriers_per_sm: int | None = None
    """Named barriers; None where the header does not count them (before 9.0)."""
    max_cluster_size: int | None = None
    """Blocks per cluster, the non-portable sizes included; None where there are no clusters."""
    rates: Mapping[str, int] = _NOTHING_KNOWN
    """FLOP per SM and clock by dense unit; 0: the chip has no such unit; missing: unknown."""
    sparse_factors: Mapping[str, float] = _NOTHING_KNOWN
    """Where 2:4 sparsity does not double the dense rate."""
    has_sparsity: bool = False
    most_sms_without_tensor_cores: int = 0
    """Chips of this generation with so few SMs have no tensor cores, the others all do."""
    halved_units: frozenset[str] = frozenset()
    """Units that GeForce cards of this generation run at half rate."""
    confidence: str = "high"
    note: str = ""

    @property
    def max_threads_per_sm(self) -> int:
        """Threads that an SM holds at once."""
        return self.max_warps_per_sm * WARP_SIZE

    def flop_per_clock_per_sm(self, unit: str, *, halved: bool = False) -> Rate:
        """The rate of a unit, dense or sparse; ``halved`` for cards sold as GeForce."""
        base = dense(unit)
        rate = self.rates.get(base)
        if rate is None:
            return Rate(None, f"no published rate of {label(base)} on {self.compute_capability}")
        if rate == 0:
            return Rate(None, f"{self.compute_capability} has no {label(base)} unit")
        factor = 0.5 if halved and base in self.halved_units else 1.0
        if unit.endswith(SPARSE):
            if not self.has_sparsity:
                return Rate(None, f"{self.compute_capability} has no structured sparsity")
            factor *= self.sparse_factors.get(base, 2.0)
        return Rate(float(rate * factor))


# ---- the rows -------------------------------------------------------------------------------
#
# Rates rest on printed figures of the cards in the catalogue; vector fp16, bf16 and int32 on the
# throughput tables of the CUDA Programming and Best Practices Guides, 8.6, 8.7 and 8.9 also on
# published measurements, bf16, int32 and dp4a of 9.0 on our own on an H200 (2026-12-01). What no
# document settles is left out, and shown as unknown: dp4a of 7.2 to 8.7 and from 10.0 on, int32
# of 12.0 and 12.1, which is said to be doubled without a figure that we could read.


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(size * KIB for size in sizes)


def _kepler_split(none: int, equal: int, l1: int) -> dict[CachePreference, int]:
    return {
        CachePreference.NONE: none * KIB,
        CachePreference.SHARED: none * KIB,
        CachePreference.EQUAL: equal * KIB,
        CachePreference.L1: l1 * KIB,
    }


_NO_TENSOR = dict(
    fp64_tensor=0, tf32_tensor=0, fp16_tensor=0, fp16_tensor_fp16_accumulate=0, bf16_tensor=0,
    fp8_tensor=0, fp8_tensor_fp32_accumulate=0, fp6_tensor=0, fp4_tensor=0, int8_tensor=0,
    int4_tensor=0,
)  # fmt: skip

_HALVED_ON_AMPERE = frozenset({"fp16_tensor", "bf16_tensor", "tf32_tensor"})
_HALVED_ON_ADA = _HALVED_ON_AMPERE | {"fp8_tensor_fp32_accumulate"}

_3_0 = Architecture(
    "3.0", "Kepler",
    max_warps_per_sm=64, max_blocks_per_sm=16,
    shared_bytes_per_sm=48 * KIB, shared_bytes_per_block_opt_in=48 * KIB,
    shared_bytes_by_preference=_kepler_split(48, 32, 16),
    max_registers_per_thread=63, accepted_registers_per_thread=255,
    rates=_NO_TENSOR | dict(fp64=16, fp32=384, fp16=0, bf16=0, int32=64, int8_dot=0),
)  # fmt: skip
_3_2 = _3_0._replace(
    compute_capability="3.2", registers_per_block=32768, max_registers_per_thread=255,
    confidence="medium",
    note="registers per block are from a Jetson TK1; the guide says 63 registers a thread",
)  # fmt: skip
_3_5 = _3_0._replace(
    compute_capability="3.5", max_registers_per_thread=255, rates=dict(_3_0.rates, fp64=128),
)  # fmt: skip
_3_7 = _3_5._replace(
    compute_capability="3.7", registers_per_sm=131072, shared_bytes_per_sm=112 * KIB,
    shared_bytes_by_preference=_kepler_split(112, 96, 80),
)  # fmt: skip

_5_0 = Architecture(
    "5.0", "Maxwell",
    max_warps_per_sm=64, max_blocks_per_sm=32,
    shared_bytes_per_sm=64 * KIB, shared_bytes_per_block_opt_in=48 * KIB,
    accepted_registers_per_thread=255,
    rates=_NO_TENSOR | dict(fp64=8, fp32=256, fp16=0, bf16=0, int8_dot=0),
)  # fmt: skip
_5_2 = _5_0._replace(
    compute_capability="5.2", shared_bytes_per_sm=96 * KIB, partitioned_global_caching=True
)
_5_3 = _5_0._replace(
    compute_capability="5.3", registers_per_block=32768, partitioned_global_caching=True,
    rates={**_5_0.rates, "fp16": 512},
)  # fmt: skip

_6_0 = Architecture(
    "6.0", "Pascal",
    max_warps_per_sm=64, max_blocks_per_sm=32,
    shared_bytes_per_sm=64 * KIB, shared_bytes_per_block_opt_in=48 * KIB,
    accepted_registers_per_thread=255, sub_partitions=2, portable_sub_partitions=4,
    rates=_NO_TENSOR | dict(fp64=64, fp32=128, fp16=256, bf16=0, int8_dot=0),
)  # fmt: skip
_6_1 = _6_0._replace(
    compute_capability="6.1", shared_bytes_per_sm=96 * KIB, sub_partitions=4,
    portable_sub_partitions=None, partitioned_global_caching=True,
    rates=_NO_TENSOR | dict(fp64=8, fp32=256, fp16=4, bf16=0, int8_dot=1024),
)  # fmt: skip
_6_2 = _6_1._replace(
    compute_capability="6.2", shared_bytes_per_sm=64 * KIB, registers_per_block=32768,
    rates=_NO_TENSOR | dict(fp64=8, fp32=256, fp16=512, bf16=0),
)  # fmt: skip

_7_0 = Architecture(
    "7.0", "Volta",
    max_warps_per_sm=64, max_blocks_per_sm=32,
    shared_bytes_per_sm=96 * KIB, shared_bytes_per_block_opt_in=96 * KIB,
    shared_carveouts=_kib(0, 8, 16, 32, 64, 96),
    rates=_NO_TENSOR | dict(
        fp64=64, fp32=128, fp16=256, bf16=0, int32=128, int8_dot=512,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024,
    ),
)  # fmt: skip
_7_2 = _7_0._replace(
    compute_capability="7.2", confidence="medium",
    rates=_NO_TENSOR | dict(
        fp32=128, fp16=256, bf16=0, int32=128,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024, int8_tensor=2048,
    ),
    note="limits as on 7.0, which is how the header treats it",
)  # fmt: skip
_7_5 = _7_0._replace(
    compute_capability="7.5", generation="Turing", max_warps_per_sm=32, max_blocks_per_sm=16,
    shared_bytes_per_sm=64 * KIB, shared_bytes_per_block_opt_in=64 * KIB,
    shared_carveouts=_kib(32, 64),
    rates=_NO_TENSOR | dict(
        fp64=4, fp32=128, fp16=256, bf16=0, int32=128,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024, int8_tensor=2048, int4_tensor=4096,
    ),
    halved_units=frozenset({"fp16_tensor"}),
    # TU116 and TU117 (GTX 16, T1000) have 24 SMs at most, every other Turing has 30 or more.
    most_sms_without_tensor_cores=24,
)  # fmt: skip

_8_0 = Architecture(
    "8.0", "Ampere",
    max_warps_per_sm=64, max_blocks_per_sm=32,
    shared_bytes_per_sm=164 * KIB, shared_bytes_per_block_opt_in=163 * KIB,
    reserved_shared_bytes_per_block=KIB, shared_allocation_unit=128,
    shared_carveouts=_kib(0, 8, 16, 32, 64, 100, 132, 164),
    has_sparsity=True,
    rates=dict(
        fp64=64, fp32=128, fp16=512, bf16=256, int32=128,
        fp64_tensor=128, tf32_tensor=1024,
        fp16_tensor=2048, fp16_tensor_fp16_accumulate=2048, bf16_tensor=2048,
        fp8_tensor=0, fp8_tensor_fp32_accumulate=0, fp6_tensor=0, fp4_tensor=0,
        int8_tensor=4096, int4_tensor=8192,
    ),
)  # fmt: skip
_8_6 = _8_0._replace(
    compute_capability="8.6", max_warps_per_sm=48, max_blocks_per_sm=16,
    shared_bytes_per_sm=100 * KIB, shared_bytes_per_block_opt_in=99 * KIB,
    shared_carveouts=_kib(0, 8, 16, 32, 64, 100),
    rates=dict(
        fp64=4, fp32=256, fp16=256, int32=128, tf32_tensor=512,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024, bf16_tensor=1024,
        fp8_tensor=0, fp8_tensor_fp32_accumulate=0, fp6_tensor=0, fp4_tensor=0,
        int8_tensor=2048, int4_tensor=4096,
    ),
    halved_units=_HALVED_ON_AMPERE,
)  # fmt: skip
_8_7 = _8_6._replace(
    compute_capability="8.7",
    shared_bytes_per_sm=164 * KIB, shared_bytes_per_block_opt_in=163 * KIB,
    shared_carveouts=_8_0.shared_carveouts,
    rates=dict(
        fp64=4, fp32=256, fp16=512, int32=128, tf32_tensor=1024,
        fp16_tensor=2048, fp16_tensor_fp16_accumulate=2048, bf16_tensor=2048, int8_tensor=4096,
        fp8_tensor=0, fp8_tensor_fp32_accumulate=0, fp6_tensor=0, fp4_tensor=0,
    ),
    halved_units=frozenset(),
)  # fmt: skip
_8_8 = _8_6._replace(
    compute_capability="8.8", confidence="medium", rates={},
    halved_units=frozenset(), note="limits as on 8.6, which is how the header treats it",
)  # fmt: skip
_8_9 = _8_6._replace(
    compute_capability="8.9", generation="Ada", max_blocks_per_sm=24,
    rates=dict(
        fp64=4, fp32=256, fp16=256, int32=128, int8_dot=512, tf32_tensor=512,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024, bf16_tensor=1024,
        fp8_tensor=2048, fp8_tensor_fp32_accumulate=2048, fp6_tensor=0, fp4_tensor=0,
        int8_tensor=2048, int4_tensor=4096,
    ),
    halved_units=_HALVED_ON_ADA,
)  # fmt: skip

_9_0 = _8_0._replace(
    compute_capability="9.0", generation="Hopper",
    shared_bytes_per_sm=228 * KIB, shared_bytes_per_block_opt_in=227 * KIB,
    shared_carveouts=_kib(0, 8, 16, 32, 64, 100, 132, 164, 196, 228),
    barriers_per_sm=64, max_cluster_size=16,
    rates=dict(
        fp64=128, fp32=256, fp16=512, bf16=512, int32=128, int8_dot=512,
        fp64_tensor=256, tf32_tensor=2048,
        fp16_tensor=4096, fp16_tensor_fp16_accumulate=4096, bf16_tensor=4096,
        fp8_tensor=8192, fp8_tensor_fp32_accumulate=8192, fp6_tensor=0, fp4_tensor=0,
        int8_tensor=8192, int4_tensor=0,
    ),
)  # fmt: skip

_10_0 = _9_0._replace(
    compute_capability="10.0", generation="Blackwell",
    rates=dict(
        fp64=128, fp32=256, fp16=256, int32=128, fp64_tensor=128, tf32_tensor=4096,
        fp16_tensor=8192, fp16_tensor_fp16_accumulate=8192, bf16_tensor=8192,
        fp8_tensor=16384, fp8_tensor_fp32_accumulate=16384, fp6_tensor=16384, fp4_tensor=32768,
        int8_tensor=16384, int4_tensor=0,
    ),
)  # fmt: skip
_10_1 = _10_0._replace(
    compute_capability="10.1", max_warps_per_sm=48, max_blocks_per_sm=24,
    barriers_per_sm=24, rates={}, confidence="medium",
    note="CUDA 12's name of 11.0; thread and shared-memory limits are taken from there",
)  # fmt: skip
_10_3 = _10_0._replace(
    compute_capability="10.3", generation="Blackwell Ultra", barriers_per_sm=32,
    rates=dict(
        fp64=4, fp32=256, fp64_tensor=4, tf32_tensor=4096,
        fp16_tensor=8192, fp16_tensor_fp16_accumulate=8192, bf16_tensor=8192,
        fp8_tensor=16384, fp8_tensor_fp32_accumulate=16384, fp6_tensor=16384, fp4_tensor=49152,
        int8_tensor=512, int4_tensor=0,
    ),
    sparse_factors={"fp4_tensor": 4 / 3},
)  # fmt: skip
_10_7 = _10_0._replace(
    compute_capability="10.7", generation="Rubin", max_warps_per_sm=32,
    max_blocks_per_sm=16, barriers_per_sm=16,
    shared_bytes_per_sm=328 * KIB, shared_bytes_per_block_opt_in=327 * KIB,
    shared_carveouts=(*_9_0.shared_carveouts, 328 * KIB),
    rates={}, confidence="low",
    note="sources disagree on shared memory: 328 KiB in the header, 228 KiB in CCCL 13.3",
)  # fmt: skip
_11_0 = _10_1._replace(
    compute_capability="11.0", confidence="high", note="",
    rates=dict(
        fp64=4, fp32=256, fp16_tensor=8192, fp16_tensor_fp16_accumulate=8192,
        fp8_tensor=16384, fp8_tensor_fp32_accumulate=16384, fp4_tensor=32768, int8_tensor=16384,
        int4_tensor=0,
    ),
)  # fmt: skip
_12_0 = _8_9._replace(
    compute_capability="12.0", generation="Blackwell",
    barriers_per_sm=24, max_cluster_size=16,
    rates=dict(
        fp64=4, fp32=256, fp16=256, bf16=256, fp64_tensor=0, tf32_tensor=512,
        fp16_tensor=1024, fp16_tensor_fp16_accumulate=1024, bf16_tensor=1024,
        fp8_tensor=2048, fp8_tensor_fp32_accumulate=2048, fp4_tensor=4096,
        int8_tensor=2048, int4_tensor=0,
    ),
)  # fmt: skip
_12_1 = _12_0._replace(
    compute_capability="12.1",
    rates=dict(fp64=4, fp32=256, fp16=256, fp64_tensor=0, fp4_tensor=4096, int4_tensor=0),
    halved_units=frozenset(),
)  # fmt: skip

ARCHITECTURES: Mapping[str, Architecture] = {
    row.compute_capability: row
    for row in (
        _3_0, _3_2, _3_5, _3_7, _5_0, _5_2, _5_3, _6_0, _6_1, _6_2, _7_0, _7_2, _7_5,
        _8_0, _8_6, _8_7, _8_8, _8_9, _9_0, _10_0, _10_1, _10_3, _10_7, _11_0, _12_0, _12_1,
    )
}  # fmt: skip


# ---- finding a row --------------------------------------------------------------------------

_SPELLINGS = re.compile(r"(?:sm_|compute_)?([0-9]{1,3})(?:\.([0-9])|([0-9]))[af]?", re.IGNORECASE)


def compute_capability(text: str) -> str:
    """``8.6``, ``86``, ``sm_86``, ``sm_90a`` or ``compute_120f`` → ``8.6``, ``9.0``, ``12.0``.

    Raises UsageError for anything else; whether there is such a GPU is another question.
    """
    match = _SPELLINGS.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{quoted(text)} is not a compute capability", "Write it as 8.6, 86, sm_86 or sm_90a"
        )
    return f"{int(match[1])}.{match[2] or match[3]}"


def architecture(text: str) -> Architecture:
    """The row of a compute capability, in any spelling.

    Raises UnknownArchitectureError without a row: never a neighbour's limits.
    """
    wanted = compute_capability(text)
    if wanted not in ARCHITECTURES:
        raise UnknownArchitectureError(_unknown(wanted), f"Known: {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[wanted]


def known_architecture(text: str) -> Architecture | None:
    """The row of a compute capability, or None."""
    return ARCHITECTURES.get(compute_capability(text))


def _unknown(wanted: str) -> str:
    newest = list(ARCHITECTURES)[-1]
    if _order(wanted) > _order(newest):
        return (
            f"compute capability {wanted} is newer than the table, which ends at {newest}; "
            f"--assume-cc {newest} computes with the limits of {newest} instead"
        )
    return f"there is no compute capability {wanted}"


def _order(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
