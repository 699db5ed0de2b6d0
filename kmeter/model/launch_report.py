"""Everything kmeter has to say about one launch on one architecture."""

from typing import NamedTuple

from kmeter.model.architecture import Architecture
from kmeter.model.cliffs import Cliff, Headroom, cliffs, headroom, most_registers
from kmeter.model.clusters import (
    cluster_refusal,
    max_active_clusters,
    max_active_clusters_bound,
)
from kmeter.model.launch import Launch
from kmeter.model.occupancy import Occupancy, occupancy
from kmeter.model.potential import BestBlock, best_block
from kmeter.model.refusal import refusal
from kmeter.model.sweep import sweep_block_sizes
from kmeter.model.waves import Waves, waves


class LaunchQuestion(NamedTuple):
    """A launch, and what is known of the GPU and the grid beside it."""

    launch: Launch
    min_blocks: int | None = None
    """The second number of ``__launch_bounds__``: blocks per SM that the compiler shall allow."""
    grid: int | None = None
    """Blocks launched."""
    sm_count: int | None = None
    cluster_size: int | None = None
    sms_per_gpc: tuple[int, ...] = ()


class BoundsAnswer(NamedTuple):
    """What ``__launch_bounds__(max_threads, min_blocks)`` asks of the compiler."""

    max_threads: int
    min_blocks: int
    most_registers: int | None
    """Registers a thread may have; None where so many blocks never fit."""


class ClusterAnswer(NamedTuple):
    """How many clusters are resident at once: counted, or bounded from above."""

    cluster_size: int
    refused: str
    portable: bool
    active_clusters: int | None
    """None where the SM count is unknown."""
    exact: bool
    """Whether the GPC layout was known."""


class LaunchReport(NamedTuple):
    """The answer to a LaunchQuestion."""

    architecture: Architecture
    question: LaunchQuestion
    occupancy: Occupancy
    refused: str
    """Why the card would not run it; then the occupancy is 0."""
    best_block: BestBlock
    cliffs: tuple[Cliff, ...]
    headroom: Headroom
    sweep: dict[int, Occupancy]
    """Occupancy by block size, whole warps."""
    waves: Waves | None
    bounds: BoundsAnswer | None
    cluster: ClusterAnswer | None

    @property
    def launch(self) -> Launch:
        """The launch that was asked about."""
        return self.question.launch


PORTABLE_CLUSTER_SIZE = 8


def launch_report(sm: Architecture, question: LaunchQuestion) -> LaunchReport:
    """Occupancy with its causes, edges and neighbours; raises InvalidLaunchError."""
    launch = question.launch
    found = occupancy(sm, launch)
    cluster = _cluster(sm, question, found)
    refused = refusal(sm, launch) or (cluster.refused if cluster else "")
    if refused:
        found = _none_of(found)
    return LaunchReport(
        architecture=sm,
        question=question,
        occupancy=found,
        refused=refused,
        best_block=best_block(sm, launch),
        cliffs=() if refused else cliffs(sm, launch),
        headroom=Headroom(None, None) if refused else headroom(sm, launch),
        sweep=sweep_block_sizes(sm, launch),
        waves=_waves(question, found, cluster),
        bounds=_bounds(sm, question),
        cluster=cluster,
    )


def _none_of(found: Occupancy) -> Occupancy:
    refusing = tuple(name for name, count in found.blocks_allowed_by.items() if count == 0)
    return found._replace(blocks_per_sm=0, active_warps_per_sm=0, limiters=refusing)


def _waves(
    question: LaunchQuestion, found: Occupancy, cluster: ClusterAnswer | None
) -> Waves | None:
    if question.grid is None or question.sm_count is None or found.blocks_per_sm == 0:
        return None
    if cluster is None or cluster.cluster_size == 1:
        return waves(question.grid, found.blocks_per_sm * question.sm_count)
    if cluster.active_clusters is None or not cluster.exact:
        return None
    return waves(question.grid, cluster.active_clusters * cluster.cluster_size)


def why_no_waves(report: LaunchReport) -> str:
    """Why a grid's waves are unknown."""
    if report.refused or report.occupancy.blocks_per_sm == 0:
        return "the launch does not run"
    if report.question.sm_count is None:
        return "the SM count is unknown, --sms gives it"
    if report.cluster and report.cluster.active_clusters == 0:
        return "no GPC of this layout holds a cluster"
    return "clusters fill GPCs whose layout is unknown, --gpcs gives it"


def _bounds(sm: Architecture, question: LaunchQuestion) -> BoundsAnswer | None:
    if question.min_blocks is None:
        return None
    threads = question.launch.max_threads_per_block
    leanest = Launch(threads, registers_per_thread=1)
    fits = occupancy(sm, leanest).blocks_per_sm >= question.min_blocks
    registers = most_registers(sm, leanest, question.min_blocks) if fits else None
    return BoundsAnswer(threads, question.min_blocks, registers)


def _cluster(sm: Architecture, question: LaunchQuestion, found: Occupancy) -> ClusterAnswer | None:
    size = question.cluster_size
    if size is None:
        return None
    refused = cluster_refusal(sm, size)
    if not refused and question.grid is not None and question.grid % size:
        refused = f"a grid is whole clusters, and {question.grid} is no multiple of {size}"
    return ClusterAnswer(
        cluster_size=size,
        refused=refused,
        portable=size <= PORTABLE_CLUSTER_SIZE,
        active_clusters=None if refused else _active_clusters(question, found, size),
        exact=bool(question.sms_per_gpc),
    )


def _active_clusters(question: LaunchQuestion, found: Occupancy, size: int) -> int | None:
    if question.sms_per_gpc:
        return max_active_clusters(found.blocks_per_sm, size, question.sms_per_gpc)
    if question.sm_count is None:
        return None
    return max_active_clusters_bound(found.blocks_per_sm, question.sm_count, size)
