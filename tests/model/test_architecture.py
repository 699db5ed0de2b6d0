"""The table of compute capabilities: its limits, its spellings, and what it does not know."""

import json
from pathlib import Path
from typing import Any

import pytest

from kmeter.errors import UnknownArchitectureError, UsageError
from kmeter.model.architecture import ARCHITECTURES, architecture, compute_capability
from kmeter.model.compute_units import UNITS

LIMITS = json.loads((Path(__file__).parents[1] / "data" / "compute_capabilities.json").read_text())[
    "devices"
]


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row["cc"])
def test_a_row_has_the_limits_of_its_sources(row: dict[str, Any]) -> None:
    sm = architecture(row["cc"])
    assert (
        sm.max_threads_per_block,
        sm.max_threads_per_sm,
        sm.max_warps_per_sm,
        sm.max_blocks_per_sm,
        sm.registers_per_sm,
        sm.registers_per_block,
        sm.max_registers_per_thread,
        sm.accepted_registers_per_thread,
        sm.register_allocation_unit,
        sm.sub_partitions,
        sm.shared_bytes_per_sm,
        sm.shared_bytes_per_block,
        sm.shared_bytes_per_block_opt_in,
        sm.reserved_shared_bytes_per_block,
        sm.shared_allocation_unit,
        [size // 1024 for size in sm.shared_carveouts],
        sm.partitioned_global_caching,
        sm.barriers_per_sm,
        sm.confidence,
    ) == (
        row["max_threads_per_block"],
        row["max_threads_per_sm"],
        row["max_warps_per_sm"],
        row["max_blocks_per_sm"],
        row["regs_per_sm"],
        row["regs_per_block"],
        row["max_regs_per_thread"],
        row["header_max_regs_per_thread"],
        row["reg_alloc_unit"],
        row["sub_partitions"],
        row["smem_per_sm"],
        row["smem_per_block"],
        row["smem_per_block_optin"],
        row["reserved_smem_per_block"],
        row["smem_alloc_granularity"],
        row["smem_carveouts_kib"],
        row["partitioned_gc"],
        row["barriers_per_sm"],
        row["confidence"],
    )


def test_there_is_a_row_for_each_of_the_26_and_no_other() -> None:
    assert list(ARCHITECTURES) == [row["cc"] for row in LIMITS]
    assert len(LIMITS) == 26


@pytest.mark.parametrize(
    ("text", "found"),
    [("8.6", "8.6"), ("86", "8.6"), ("sm_86", "8.6"), ("SM_86", "8.6"), ("sm_90a", "9.0"),
     ("compute_120f", "12.0"), ("12.1", "12.1"), (" 9.0 ", "9.0"), ("100", "10.0")],
)  # fmt: skip
def test_spellings(text: str, found: str) -> None:
    assert compute_capability(text) == found


@pytest.mark.parametrize("text", ["8", "", "8.", ".6", "abc", "8.6.1", "-8.6", "sm_", "8,6", "٨.٦"])
def test_what_is_no_compute_capability(text: str) -> None:
    with pytest.raises(UsageError, match="is not a compute capability"):
        compute_capability(text)


def test_an_unknown_one_lists_the_known_ones() -> None:
    with pytest.raises(UnknownArchitectureError, match=r"no compute capability 10\.2.*8\.6"):
        architecture("10.2")


def test_a_newer_one_names_the_way_to_go_on() -> None:
    with pytest.raises(UnknownArchitectureError, match=r"newer than the table.*--assume-cc 12\.1"):
        architecture("13.0")


@pytest.mark.parametrize("cc", sorted(ARCHITECTURES))
@pytest.mark.parametrize("unit", UNITS)
def test_a_rate_is_known_or_says_why_not(cc: str, unit: str) -> None:
    rate = architecture(cc).flop_per_clock_per_sm(unit)
    assert (rate.value is None) == bool(rate.reason)
    assert rate.value is None or rate.value > 0


def test_geforce_halves_what_accumulates_in_fp32() -> None:
    ada = architecture("8.9")
    assert ada.flop_per_clock_per_sm("fp16_tensor").value == 1024
    assert ada.flop_per_clock_per_sm("fp16_tensor", halved=True).value == 512
    assert ada.flop_per_clock_per_sm("fp16_tensor_fp16_accumulate", halved=True).value == 1024
    assert ada.flop_per_clock_per_sm("int8_tensor_sparse", halved=True).value == 4096


def test_blackwell_ultra_gains_a_third_from_sparse_fp4() -> None:
    ultra = architecture("10.3")
    assert ultra.flop_per_clock_per_sm("fp4_tensor").value == 49152
    assert ultra.flop_per_clock_per_sm("fp4_tensor_sparse").value == 65536
