"""What a start of kmeter may not load: the price of ``--help`` is paid every day."""

from collections.abc import Callable

import pytest
from running import Run

from kmeter.cli.main import COMMANDS

HEAVY = {
    "cupy", "dask", "distributed", "elftools", "markdown_it", "msgspec", "numpy", "prometheus_client", "pydantic", "pynvml",
    "rich.markdown", "textual", "torch",
}  # fmt: skip

Loaded = Callable[[str], set[str]]


def command(*arguments: str) -> str:
    return f"from kmeter.cli.main import main; assert main({list(arguments)!r}) == 0"


@pytest.mark.parametrize(
    "statement",
    [
        command("occupancy", "--block", "256", "--regs", "64", "--cc", "8.6"),
        command("--help"),
        command("occupancy", "--help"),
        command("gpus"),
        command("roofline", "-d", "h100-sxm", "--ai", "0.33"),
        command("compare", "h100-sxm", "4090", "--ai", "0.33"),
        command("ceiling", "--help"),
        command("bench", "--help"),
        command("top", "--help"),
        command("tui", "--help"),
        command("fleet", "report", "--help"),
        command("fleet", "run", "--help"),
    ],
)
def test_a_command_loads_nothing_heavy(statement: str, loaded_by: Loaded) -> None:
    assert loaded_by(statement) & HEAVY == set()


def test_occupancy_of_a_compute_capability_reads_no_catalogue(loaded_by: Loaded) -> None:
    statement = command("occupancy", "--block", "256", "--regs", "64", "--cc", "8.6")
    assert loaded_by(statement) & {"tomllib", "kmeter.sources", "json"} == set()


def test_a_command_does_not_pay_for_the_others(loaded_by: Loaded) -> None:
    loaded = loaded_by(command("occupancy", "--block", "256", "--cc", "8.6"))
    others = {f"kmeter.cli.{name}" for name in COMMANDS if name != "occupancy"}
    assert "kmeter.cli.occupancy" in loaded
    assert loaded & others == set()


@pytest.mark.parametrize(
    ("line", "word", "offered"),
    [("kmeter occ", "1", "occupancy"), ("kmeter roofline --peak-t", "2", "--peak-tflops")],
)
def test_completion_knows_every_command(
    line: str, word: str, offered: str, run_process: Run
) -> None:
    asked = {"_KMETER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": word}
    assert run_process(**asked).out.split() == [offered]


def test_the_command_line_itself_draws_nothing(loaded_by: Loaded) -> None:
    assert loaded_by("import kmeter.cli.main") & (HEAVY | {"rich", "tomllib", "json"}) == set()


def test_importing_kmeter_loads_nothing_else(loaded_by: Loaded) -> None:
    assert {name for name in loaded_by("import kmeter") if name.startswith("kmeter.")} == set()


def test_public_names_are_there() -> None:
    import kmeter

    for name in kmeter.__all__:
        assert getattr(kmeter, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kmeter.nonsense
