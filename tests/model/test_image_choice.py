"""Which image of a kernel is taken, by its architecture's name."""

import pytest

from kmeter.errors import UsageError
from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.image_choice import architecture_name, images_called, images_for


def images(*names: str | None) -> list[CompiledKernel]:
    return [CompiledKernel("k", name) for name in names]


@pytest.mark.parametrize(
    ("there", "capability", "taken"),
    [
        (("sm_80", "sm_86"), "8.9", ["sm_86"]),
        (("sm_80", "sm_86"), "8.0", ["sm_80"]),
        (("sm_90", "sm_90a"), "9.0", ["sm_90a"]),
        (("sm_100", "sm_100a"), "10.3", ["sm_100"]),
        (("sm_100a",), "10.3", []),
        (("sm_100", "sm_100f"), "10.3", ["sm_100f"]),
        (("sm_86",), "8.0", []),
        (("sm_80",), "9.0", []),
        ((None,), "9.0", [None]),
    ],
)
def test_what_a_driver_loads(
    there: tuple[str | None, ...], capability: str, taken: list[str | None]
) -> None:
    assert [kernel.architecture for kernel in images_for(images(*there), capability)] == taken


def test_each_kernel_has_its_own_best_image() -> None:
    old = CompiledKernel("old", "sm_80")
    assert images_for([*images("sm_80", "sm_86"), old], "8.6") == [*images("sm_86"), old]


def test_a_letter_that_was_not_asked_for_is_taken_where_there_is_nothing_else() -> None:
    assert images_called(images("sm_90", "sm_90a"), "sm_90") == images("sm_90")
    assert images_called(images("sm_90a"), "sm_90") == images("sm_90a")
    assert images_called(images("sm_90"), "sm_90a") == []


@pytest.mark.parametrize("text", ["sm_90a", "90a", "SM_90A", "compute_90a", "9.0a"])
def test_every_spelling_of_a_name(text: str) -> None:
    assert architecture_name(text) == "sm_90a"


def test_what_is_no_name() -> None:
    with pytest.raises(UsageError):
        architecture_name("hopper")
