"""nvprof's CSV: kernels alone, in the units of each column. Whole files are read in test_ncu_csv."""

import pytest

from kmeter.errors import UsageError
from kmeter.kernels.ncu_csv import profiled_kernels
from kmeter.model.profiled_kernel import ProfiledKernel

SUMMARY = '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n'
UNITS = ",%,ms,,ms,us,s,\n"
KERNEL = '"GPU activities",60.0,3.0,100,0.03,29.0,0.001,"smooth<int, 2>(float*)"\n'
TRACE = (
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z",'
    '"Registers Per Thread","Name"\nms,us,,,,,,,,\n'
)
METRICS = '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'


def read(text: str) -> list[ProfiledKernel]:
    return profiled_kernels(text.encode(), "n.csv")


def test_every_column_has_a_unit_of_its_own() -> None:
    (kernel,) = read(SUMMARY + UNITS + KERNEL)
    assert kernel.name == "smooth<int, 2>(float*)"
    assert kernel.launches == 100
    assert kernel.seconds == pytest.approx(30e-6)
    assert kernel.seconds_min == pytest.approx(29e-6)
    assert kernel.seconds_max == pytest.approx(1e-3)
    assert kernel.seconds_each == ()


def test_copies_and_calls_are_no_kernels() -> None:
    others = KERNEL.replace("smooth<int, 2>(float*)", "[CUDA memset]") + KERNEL.replace(
        "GPU activities", "API calls"
    )
    assert len(read(SUMMARY + UNITS + others + KERNEL)) == 1


def test_a_second_run_behind_the_calls_of_the_first_counts() -> None:
    run = "==1== Profiling result:\n" + SUMMARY + UNITS + KERNEL
    calls = "==1== API calls:\n" + SUMMARY + UNITS + KERNEL.replace("GPU activities", "")
    (kernel,) = read(run + calls + run)
    assert kernel.launches == 200


def test_lines_of_the_program_between_rows_are_passed_over() -> None:
    assert (
        len(
            read(
                SUMMARY + UNITS + "100 iterations\nres = 1, 2\n" + KERNEL + "==1== Warning: slow\n"
            )
        )
        == 1
    )


def test_a_launch_of_a_trace_has_its_shape_and_its_name_without_number() -> None:
    row = '1.0,8.0,64,2,1,16,16,1,24,"smooth(float*) [102]"\n'
    (kernel,) = read(TRACE + row + row.replace("102", "103"))
    assert kernel.name == "smooth(float*)"
    assert kernel.seconds_each == pytest.approx((8e-6, 8e-6))
    assert (kernel.block, kernel.grid) == ((16, 16, 1), (64, 2, 1))
    assert (kernel.threads_per_block, kernel.blocks) == (256, 128)
    assert kernel.registers_per_thread == 24


def test_metrics_count_sectors_of_32_bytes() -> None:
    rows = [
        f'"GPU (0)","k",2,"{name}","…",1,3,2\n'
        for name in ("dram_read_transactions", "dram_write_transactions", "flop_count_dp")
    ]
    (kernel,) = read(METRICS + "".join(rows))
    assert (kernel.launches, kernel.dram_bytes, kernel.seconds) == (2, 128, None)
    assert kernel.flop == {"fp64": 2}


def test_the_way_out_is_named_for_old_gpus_too() -> None:
    (kernel,) = read(SUMMARY + UNITS + KERNEL)
    assert any("ncu --metrics dram__bytes_read.sum," in note for note in kernel.notes)
    assert any("nvprof --csv --metrics dram_read_bytes," in note for note in kernel.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SUMMARY + KERNEL, "n.csv:2: there is no row of units below the header"),
        (SUMMARY + UNITS + KERNEL[:40], "n.csv:3: 7 of 8 columns: the file is cut or damaged"),
        (SUMMARY + UNITS + KERNEL[:-3], "n.csv:3: the row does not end"),
        (SUMMARY + UNITS.replace("ms,us", "Mb,us") + KERNEL, "n.csv:2: column Avg: 'Mb' is no unit of time"),
        (SUMMARY + UNITS.replace("ms,us", "xy,us") + KERNEL, "n.csv:2: column Avg: 'xy' is no unit that is known"),
        (SUMMARY + UNITS + KERNEL.replace("100", "-1"), "n.csv:3: column Calls: '-1' is below 0"),
        (SUMMARY + UNITS + KERNEL.replace("100", "0.5"), "n.csv:3: column Calls: no count of launches"),
        (SUMMARY + UNITS + KERNEL.replace("0.03", "x"), "n.csv:3: column Avg: 'x' is no number"),
        (SUMMARY + UNITS, "n.csv has no kernels"),
        ("==1== Error: out of memory\n", "the profiler said: 'out of memory'"),
        ("==1== No kernels were profiled.\n", "No kernels were profiled"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
