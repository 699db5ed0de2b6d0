"""Launches of the same name become one kernel: means, spans, and what they do not agree on."""

from hypothesis import given
from hypothesis import strategies as st

from kmeter.model.profiled_kernel import ProfiledKernel, ProfiledLaunch, merged


def only(*launches: ProfiledLaunch) -> ProfiledKernel:
    (kernel,) = merged(launches)
    return kernel


def test_kernels_come_in_the_order_of_their_first_launch() -> None:
    launches = [ProfiledLaunch("b"), ProfiledLaunch("a"), ProfiledLaunch("b")]
    assert [(kernel.name, kernel.launches) for kernel in merged(launches)] == [("b", 2), ("a", 1)]


def test_values_are_means_over_the_launches() -> None:
    kernel = only(
        ProfiledLaunch("k", seconds=1.0, dram_bytes=10, l2_bytes=4, l1_bytes=6, flop={"fp32": 8}),
        ProfiledLaunch("k", seconds=3.0, dram_bytes=30, l2_bytes=8, l1_bytes=2, flop={"fp32": 0}),
    )
    assert (kernel.seconds, kernel.seconds_min, kernel.seconds_max) == (2, 1, 3)
    assert (kernel.dram_bytes, kernel.l2_bytes, kernel.l1_bytes) == (20, 6, 4)
    assert kernel.seconds_each == (1, 3)
    assert kernel.dram_bytes_each == (10, 30)
    assert (kernel.l2_bytes_each, kernel.l1_bytes_each) == ((4, 8), (6, 2))
    assert kernel.flop == {"fp32": 4}
    assert kernel.notes == ()


def test_averages_weigh_as_many_launches_as_they_stand_for() -> None:
    kernel = only(
        ProfiledLaunch("k", 30, seconds=2.0, seconds_min=1.0, seconds_max=4.0),
        ProfiledLaunch("k", 10, seconds=6.0, seconds_min=5.0, seconds_max=7.0),
    )
    assert (kernel.launches, kernel.seconds, kernel.seconds_each) == (40, 3, ())
    assert (kernel.seconds_min, kernel.seconds_max) == (1, 7)


def test_what_only_some_launches_tell_is_their_mean_and_a_note() -> None:
    kernel = only(ProfiledLaunch("k", dram_bytes=8), ProfiledLaunch("k"), ProfiledLaunch("k"))
    assert (kernel.dram_bytes, kernel.dram_bytes_each) == (8, (8, None, None))
    assert kernel.notes == ("DRAM bytes known of 1 of 3 launches",)


def test_what_no_launch_tells_is_unknown() -> None:
    kernel = only(ProfiledLaunch("k"))
    assert (kernel.seconds, kernel.seconds_each, kernel.seconds_min) == (None, (), None)
    assert kernel.flop == {}


def test_launches_that_differ_have_no_common_shape() -> None:
    kernel = only(
        ProfiledLaunch("k", registers_per_thread=24, block=(32, 1, 1), grid=(2, 3, 1), blocks=6),
        ProfiledLaunch("k", registers_per_thread=24, block=(32, 1, 1), grid=(3, 2, 1), blocks=6),
    )
    assert (kernel.registers_per_thread, kernel.block, kernel.blocks) == (24, (32, 1, 1), 6)
    assert kernel.grid is None
    assert kernel.notes == ("launched with 2 different grid shapes",)


def test_notes_of_launches_stand_once() -> None:
    kernel = only(ProfiledLaunch("k", notes=("a", "b")), ProfiledLaunch("k", notes=("b",)))
    assert kernel.notes == ("a", "b")


@given(st.lists(st.tuples(st.floats(0, 1e30), st.integers(1, 10**12)), min_size=1, max_size=20))
def test_a_mean_lies_between_the_least_and_the_most(pairs: list[tuple[float, int]]) -> None:
    kernel = only(*(ProfiledLaunch("k", count, seconds=value) for value, count in pairs))
    assert kernel.seconds is not None
    assert kernel.launches == sum(count for _, count in pairs)
    least, most = min(value for value, _ in pairs), max(value for value, _ in pairs)
    assert least * (1 - 1e-9) <= kernel.seconds <= most * (1 + 1e-9)
    assert (kernel.seconds_min, kernel.seconds_max) == (least, most)
