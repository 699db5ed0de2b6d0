"""Waves of a grid, with plain numbers."""

import pytest

from kmeter.model.architecture import architecture
from kmeter.model.clusters import cluster_refusal, max_active_clusters_bound
from kmeter.model.waves import waves


def test_one_block_too_many_costs_a_wave() -> None:
    found = waves(grid=133, places=1 * 132)
    assert found is not None
    assert found.waves == 2
    assert found.last_wave_fraction == pytest.approx(1 / 132)
    assert found.efficiency == pytest.approx(0.504, abs=5e-4)
    assert found.better_grids == (132, 264)


def test_a_full_wave_has_no_better_grid() -> None:
    found = waves(grid=264, places=2 * 132)
    assert found is not None
    assert (found.waves, found.last_wave_fraction, found.efficiency) == (1, 1, 1)
    assert found.better_grids == ()


def test_a_small_grid_is_part_of_one_wave() -> None:
    found = waves(grid=1, places=4 * 108)
    assert found is not None
    assert (found.waves, found.better_grids) == (1, (432,))


def test_a_launch_that_does_not_run_has_no_waves() -> None:
    assert waves(grid=10, places=0) is None


def test_clusters_are_bounded_without_the_gpc_layout() -> None:
    assert max_active_clusters_bound(blocks_per_sm=2, sm_count=132, cluster_size=16) == 16


def test_clusters_are_refused_before_hopper_and_above_sixteen() -> None:
    assert "from compute capability 9.0 on" in cluster_refusal(architecture("8.6"), 2)
    assert "at most 16 blocks" in cluster_refusal(architecture("9.0"), 17)
    assert cluster_refusal(architecture("9.0"), 16) == ""
