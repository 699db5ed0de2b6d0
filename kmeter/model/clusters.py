"""Thread block clusters: how many of them a GPU holds at once.

The blocks of a cluster share one GPC. How many SMs each GPC has differs from die to die and the
driver does not tell, so without the layout there is only an upper bound.
"""

from collections.abc import Sequence

from kmeter.model.architecture import Architecture

COUNTED_BLOCKS_PER_SM = 8
"""An H200's driver counts no more blocks of a cluster kernel on an SM, also where 16 would fit."""


def max_active_clusters_bound(blocks_per_sm: int, sm_count: int, cluster_size: int) -> int:
    """The most clusters of ``cluster_size`` blocks that fit, whatever the GPC layout is."""
    return blocks_per_sm * sm_count // cluster_size


def max_active_clusters(blocks_per_sm: int, cluster_size: int, sms_per_gpc: Sequence[int]) -> int:
    """Clusters that a GPU with this layout holds at once.

    As the 200 recorded answers of an H200's ``cudaOccupancyMaxActiveClusters`` have it: a GPC
    with fewer SMs than the cluster has blocks takes none.
    """
    blocks = min(blocks_per_sm, COUNTED_BLOCKS_PER_SM)
    return sum(blocks * sms // cluster_size for sms in sms_per_gpc if sms >= cluster_size)


def cluster_refusal(sm: Architecture, cluster_size: int) -> str:
    """Why no kernel of this architecture can be launched so; empty where one can."""
    if sm.max_cluster_size is None:
        return f"clusters exist from compute capability 9.0 on, this is {sm.compute_capability}"
    if cluster_size > sm.max_cluster_size:
        return f"a cluster has at most {sm.max_cluster_size} blocks, this one {cluster_size}"
    return ""
