"""Profilers' texts: every one of the folder read right, everything else refused in one line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.profiles import OTHERS, OWN, Answer, agree, answers, said
from kmeter.errors import UsageError
from kmeter.kernels.ncu_csv import profiled_kernels
from kmeter.kernels.profiler_numbers import DecimalMark, has_no_value, number_in
from kmeter.kernels.profiler_units import Kind, scale_of
from kmeter.model.profiled_kernel import ProfiledKernel

COLUMNS = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC", "Section Name",
    "Metric Name", "Metric Unit", "Metric Value",
)  # fmt: skip


def row(*fields: object) -> str:
    return ",".join(f'"{field}"' for field in fields) + "\n"


def metric(name: str, unit: str, value: str, at: int = 0, kernel: str = "k") -> str:
    return row(
        at, 1, "p", "h", kernel, 1, 7, "(32, 1, 1)", "(2, 1, 1)", 0, "9.0", "S", name, unit, value
    )


def read(*rows: str) -> list[ProfiledKernel]:
    return profiled_kernels((row(*COLUMNS) + "".join(rows)).encode(), "k.csv")


def only(*rows: str) -> ProfiledKernel:
    (kernel,) = read(*rows)
    return kernel


def refusal(of: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        of()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- files with right answers ---------------------------------------------------------------


def check(path: Path, answer: Answer) -> None:
    if answer.get("error"):
        message = refusal(lambda: profiled_kernels(path.read_bytes(), path.name))
        assert path.name in message
        return
    kernels = profiled_kernels(path.read_bytes(), path.name)
    assert [kernel.name for kernel in kernels] == [right["kernel"] for right in answer["kernels"]]
    tolerance = 0.01 if "rounded rate" in answer.get("formula", "") else 1e-6
    for kernel, right in zip(kernels, answer["kernels"], strict=True):
        wrong = {
            key: said(kernel, key)
            for key in right
            if not agree(said(kernel, key), right[key], tolerance)
        }
        assert not wrong


@pytest.mark.parametrize(
    ("path", "answer"), answers(OWN), ids=lambda item: getattr(item, "name", "")
)
def test_a_file_of_our_own_gives_the_right_answers(path: Path, answer: Answer) -> None:
    check(path, answer)
    if answer.get("error"):
        message = refusal(lambda: profiled_kernels(path.read_bytes(), path.name))
        assert answer["error"].lower() in message.lower()


@pytest.mark.skipif(not answers(OTHERS), reason="the files of others are not here")
@pytest.mark.parametrize(
    ("path", "answer"), answers(OTHERS), ids=lambda item: getattr(item, "name", "")
)
def test_a_file_from_elsewhere_gives_the_right_answers(path: Path, answer: Answer) -> None:
    check(path, answer)


def test_every_file_of_our_own_has_an_answer() -> None:
    files = {path.name for path in OWN.iterdir()} - {"expected.json"}
    assert files == {path.name for path, _ in answers(OWN)}


# ---- numbers and units ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1,234.5", ".", 1234.5), ("1.234,5", ",", 1234.5), ("1\u00a0234,5", ",", 1234.5),
        ("1\u202f234\u202f567,8", ",", 1234567.8), ("1'234.5", ".", 1234.5),
        ("12,34,567.5", ".", 1234567.5), ("10,720", ".", 10720.0), ("10.720", ",", 10720.0),
        ("1.5e3", ".", 1500.0), ("12 (1; 11)", ".", 12.0), (".5", ".", 0.5), ("-3", ".", -3.0),
        ("1,2,3", ".", None), ("1.2.3", ".", None), ("0x10", ".", None), ("1 2345", ".", None),
        ("9" * 1000, ".", None), ("", ".", None),
    ],
)  # fmt: skip
def test_a_number_is_read_by_its_decimal_mark(
    text: str, decimal: str, number: float | None
) -> None:
    assert number_in(text, decimal) == number


@pytest.mark.parametrize("text", ["", " ", "n/a", "N/A", "nan", "-nan(ind)", "inf", "-", "(!) n/a"])
def test_what_is_no_value_is_known_as_such(text: str) -> None:
    assert has_no_value(text)


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["10,720", "22.77"], "."), (["10.720", "22,77"], ","), (["1.234.567"], ","),
        (["1,234,567"], "."), (["1,234"], "."), (["1\u00a0234,567"], ","), (["0.125"], "."),
        (["1234.567"], "."), ([], "."), (["8.0", "1,5", "2,5"], ","),
        (["13.0.88", "1,2,3", "0.125.250", "1.234,567.8"], "."), (["12.34.567,8"], ","),
    ],
)  # fmt: skip
def test_the_numbers_of_a_file_tell_its_decimal_mark(texts: list[str], mark: str) -> None:
    heard = DecimalMark()
    for text in texts:
        heard.hear(text)
    assert heard.mark == mark


@pytest.mark.parametrize(
    ("unit", "kind", "scale"),
    [
        ("nsecond", Kind.TIME, 1e-9), ("ns", Kind.TIME, 1e-9), ("usecond", Kind.TIME, 1e-6),
        ("us", Kind.TIME, 1e-6), ("µs", Kind.TIME, 1e-6), ("msecond", Kind.TIME, 1e-3),
        ("ms", Kind.TIME, 1e-3), ("second", Kind.TIME, 1), ("s", Kind.TIME, 1),
        ("byte", Kind.BYTES, 1), ("Kbyte", Kind.BYTES, 1e3), ("KB", Kind.BYTES, 1e3),
        ("Mbyte", Kind.BYTES, 1e6), ("Gbyte", Kind.BYTES, 1e9), ("Tbyte", Kind.BYTES, 1e12),
        ("Mibyte", Kind.BYTES, 2**20), ("byte/second", Kind.BYTES_PER_SECOND, 1),
        ("Gbyte/s", Kind.BYTES_PER_SECOND, 1e9), ("TB/s", Kind.BYTES_PER_SECOND, 1e12),
        ("cycle/nsecond", Kind.CYCLES_PER_SECOND, 1e9), ("Ghz", Kind.CYCLES_PER_SECOND, 1e9),
        ("MHz", Kind.CYCLES_PER_SECOND, 1e6), ("cycle/second", Kind.CYCLES_PER_SECOND, 1),
        ("inst", Kind.COUNT, 1), ("Kinst", Kind.COUNT, 1e3), ("", Kind.COUNT, 1),
        ("register/thread", Kind.COUNT, 1), ("inst/cycle", Kind.COUNT_PER_CYCLE, 1),
    ],
)  # fmt: skip
def test_a_unit_has_its_scale(unit: str, kind: Kind, scale: float) -> None:
    assert scale_of(unit, kind) == pytest.approx(scale)


@pytest.mark.parametrize("unit", ["foo/bar", "Xbyte", "byte/second/second", "é/", "x" * 10**6])
def test_no_unit_is_said_to_be_none(unit: str) -> None:
    with pytest.raises(ValueError, match="is no unit that is known"):
        scale_of(unit, Kind.BYTES)


@pytest.mark.parametrize("unit", ["%", "ns", "Gb", "byte/second", ""])
def test_a_unit_of_something_else_is_said_to_be_so(unit: str) -> None:
    with pytest.raises(ValueError, match="is no unit of bytes"):
        scale_of(unit, Kind.BYTES)


# ---- what is refused, and where it stands ---------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "value", "words"),
    [
        ("foo/bar", "1", "k.csv:3: column Metric Unit: 'foo/bar' is no unit that is known"),
        ("%", "1", "k.csv:3: column Metric Unit: '%' is no unit of time"),
        ("ns", "abc", "k.csv:3: column Metric Value: 'abc' is no number"),
        ("ns", "-1", "k.csv:3: column Metric Value: '-1' is below 0"),
        ("ns", "1e99", "k.csv:3: column Metric Value: '1e99' is impossible"),
        ("ns", "1e-99", "k.csv:3: column Metric Value: '1e-99' is impossible"),
    ],
)
def test_an_error_names_file_line_and_column(unit: str, value: str, words: str) -> None:
    rows = metric("lts__t_bytes.sum", "byte", "1"), metric("gpu__time_duration.sum", unit, value)
    assert refusal(lambda: read(*rows)) == words


def test_a_metric_that_is_not_needed_may_have_any_unit_and_value() -> None:
    kernel = only(
        metric("some__metric.sum", "foo/bar", "many"), metric("gpu__time_duration.sum", "us", "2")
    )
    assert kernel.seconds == pytest.approx(2e-6)


@pytest.mark.parametrize("invocations", ["", "0", "-3", "many", "9" * 40])
def test_a_summary_without_a_count_of_launches_is_refused(invocations: str) -> None:
    text = row("Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Average").encode()
    text = text.replace(b'"Kernel', b'"Process ID","Kernel')
    text += row(1, "k", invocations, "gpu__time_duration.sum", "ns", "5").encode()
    assert "column Invocations" in refusal(lambda: profiled_kernels(text, "k.csv"))


@pytest.mark.parametrize(
    "invocations", ["1000", "1,000", "1.000", "1\u202f000", "1,000.00", "1000.0"]
)
def test_the_launches_of_a_summary_are_counted_in_any_language(invocations: str) -> None:
    text = row("Process ID", "Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Average")
    text += row(1, "k", invocations, "gpu__time_duration.sum", "ns", "5")
    (kernel,) = profiled_kernels(text.encode(), "k.csv")
    assert kernel.launches == 1000


def test_a_summary_of_whole_gpus_has_no_kernels() -> None:
    text = row("Process ID", "Invocations", "Metric Name", "Metric Unit", "Average")
    assert "per-kernel" in refusal(lambda: profiled_kernels(text.encode(), "k.csv"))


def test_a_table_without_a_needed_column_is_refused_by_its_name() -> None:
    text = row("ID", "Kernel Name", "Metric Name", "Metric Value").encode()
    assert (
        refusal(lambda: profiled_kernels(text, "k.csv"))
        == "k.csv: the table has no column Metric Unit"
    )


def test_a_header_alone_has_no_kernels() -> None:
    assert "no kernels" in refusal(read)


def test_a_quote_that_never_closes_is_refused_where_it_opens() -> None:
    rows = metric("gpu__time_duration.sum", "us", "2"), '"1","1","p\n', "more\n" * 50_000
    assert refusal(lambda: read(*rows)).startswith("k.csv:3: the row does not end")


# ---- what is known --------------------------------------------------------------------------


def test_what_is_missing_is_named_with_the_line_that_counts_it() -> None:
    (note,) = only(metric("gpu__time_duration.sum", "us", "2")).notes
    assert note.startswith(
        "unknown: DRAM bytes, L2 bytes, L1 bytes, fp64 FLOP, fp32 FLOP, fp16 FLOP"
    )
    assert "ncu --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum," in note


def test_bytes_from_a_rate_say_so() -> None:
    kernel = only(metric("Duration", "us", "2"), metric("Memory Throughput", "Gbyte/s", "100"))
    assert kernel.dram_bytes == pytest.approx(200_000)
    assert "DRAM bytes from a rounded rate times the time" in kernel.notes


def test_counted_bytes_come_before_those_from_a_rate() -> None:
    kernel = only(
        metric("dram__bytes.sum", "Kbyte", "3"),
        metric("dram__bytes.sum.per_second", "Gbyte/s", "100"),
        metric("Duration", "us", "2"),
    )
    assert kernel.dram_bytes == 3000


def test_half_of_the_dram_bytes_are_not_all_of_them() -> None:
    kernel = only(metric("dram__bytes_read.sum", "byte", "64"))
    assert (kernel.dram_read_bytes, kernel.dram_bytes) == (64, None)


def test_flop_are_unknown_without_one_of_the_three_counts() -> None:
    of_sums = [
        metric(f"sm__sass_thread_inst_executed_op_f{op}_pred_on.sum", "inst", "5")
        for op in ("add", "mul")
    ]
    assert "fp32" not in only(*of_sums).flop


def test_tensor_instructions_of_some_kinds_say_which() -> None:
    kernel = only(metric("sm__inst_executed_pipe_tensor_op_hmma.sum", "inst", "5"))
    assert kernel.tensor_instructions == 5
    assert "tensor instructions are hmma alone" in kernel.notes


def test_the_first_of_a_metric_twice_is_taken_if_it_has_a_value() -> None:
    values = [metric("lts__t_bytes.sum", "byte", text) for text in ("n/a", "5", "7")]
    assert only(*values).l2_bytes == 5


def test_a_column_twice_counts_once() -> None:
    header = row("ID", "Kernel Name", "lts__t_bytes.sum", "lts__t_bytes.sum")
    text = header + row("", "", "byte", "byte") + row(0, "k", "n/a", "9")
    (kernel,) = profiled_kernels(text.encode(), "k.csv")
    assert kernel.l2_bytes == 9


def test_an_error_after_the_kernels_stands_in_their_notes() -> None:
    kernel = only(
        metric("gpu__time_duration.sum", "us", "2"), "==ERROR== The application crashed.\n"
    )
    assert kernel.notes[-1] == "the profiler said: The application crashed."


def test_a_name_moves_no_cursor() -> None:
    kernel = only(metric("gpu__time_duration.sum", "us", "2", kernel="a\x1b[2Jb"))
    assert kernel.name == "a [2Jb"


# ---- anything -------------------------------------------------------------------------------

SAMPLES = [path.read_bytes() for path, _ in answers(OWN)]


def survives(raw: bytes) -> None:
    try:
        kernels = profiled_kernels(raw, "k.csv")
    except UsageError as error:
        line = str(error)
    else:
        assert kernels
        line = "".join(kernel.name for kernel in kernels)
    assert line.isprintable()


@given(st.binary(max_size=300))
def test_any_bytes_give_kernels_or_a_line(raw: bytes) -> None:
    survives(raw)


@given(st.sampled_from(SAMPLES), st.integers(0, 20_000))
def test_a_cut_file_gives_kernels_or_a_line(raw: bytes, at: int) -> None:
    survives(raw[: at % (len(raw) + 1)])


@settings(max_examples=300)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 20_000), st.binary(max_size=4)), max_size=8),
)
def test_a_damaged_file_gives_kernels_or_a_line(
    raw: bytes, damages: list[tuple[int, bytes]]
) -> None:
    for position, put in damages:
        at = position % (len(raw) + 1)
        raw = raw[:at] + put + raw[at + len(put) :]
    survives(raw)


@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.sampled_from(["us", "byte", "%", "inst", "", "Ghz"])),
        max_size=6,
    )
)
def test_any_value_gives_kernels_or_a_line(values: list[tuple[str, str]]) -> None:
    names = [
        "gpu__time_duration.sum",
        "dram__bytes.sum",
        "smsp__cycles_elapsed.avg",
        "lts__t_bytes.sum",
    ]
    rows = [
        metric(names[at % 4], unit, text.replace('"', "")) for at, (text, unit) in enumerate(values)
    ]
    survives((row(*COLUMNS) + "".join(rows)).encode("utf-8", "replace"))
