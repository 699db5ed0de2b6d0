"""Which kernels of two builds are the same one."""

import pytest

from kmeter.model.compiled_kernel import CompiledKernel
from kmeter.model.kernel_change import kernel_changes, same_name
from kmeter.model.kernel_occupancy import KernelOccupancy, LaunchWish, occupancies


def judged(*kernels: CompiledKernel) -> list[KernelOccupancy]:
    return occupancies(kernels, LaunchWish())


def kernel(
    name: str = "k", registers: int = 32, arch: str = "sm_90", shared: int = 0
) -> CompiledKernel:
    return CompiledKernel(name, arch, registers, shared, barriers=0, stack_bytes=0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "_ZN39_GLOBAL__N__947e156d_8_plain_cu_saxpy_c6hiddenEPi",
            "_ZN37_GLOBAL__N__f0673c4a_4_a_cu_three_xyz6hiddenEPi",
        ),
        (
            "__nv_static_26__aaaaaaaa_4_a_cu_11111111_4stat",
            "__nv_static_26__bbbbbbbb_4_a_cu_11111111_4stat",
        ),
    ],
)
def test_a_name_of_one_file_alone_is_the_same_in_another_build(one: str, other: str) -> None:
    assert same_name(one) == same_name(other)
    assert same_name("_Z5scalePf") == "_Z5scalePf"


def test_kernels_of_one_name_that_are_alike_belong_together() -> None:
    before = judged(kernel(shared=256), kernel(shared=512))
    changes = kernel_changes(before, judged(kernel(shared=512)))
    assert [change.differences for change in changes] == [(), ()]
    assert [change.after is None for change in changes] == [False, True]
    assert changes[1].kernel.static_shared_bytes == 256


def test_an_architecture_with_a_letter_is_the_same() -> None:
    (change,) = kernel_changes(judged(kernel()), judged(kernel(arch="sm_90a")))
    assert change.before is not None
    assert change.after is not None


def test_occupancy_is_compared_at_the_newer_block() -> None:
    bounded = kernel()._replace(max_threads_per_block=96)
    (change,) = kernel_changes(judged(kernel()), judged(bounded))
    assert {d.quantity for d in change.differences} == {"most threads", "block size"}
    assert not change.fails("lower-occupancy")


def test_where_each_has_its_best_block_these_are_compared() -> None:
    before, after = (judged(kernel(registers=n, arch="sm_86")) for n in (64, 72))
    (change,) = kernel_changes(before, after)
    found = {d.quantity: (d.before, d.after) for d in change.differences}
    assert found["occupancy"] == (before[0].fraction, after[0].fraction)
    assert change.fails("lower-occupancy")
