"""One kernel launch: how many threads a block has and what a block needs of an SM."""

from dataclasses import dataclass
from enum import Enum

from kmeter.errors import InvalidLaunchError

WARP_SIZE = 32


class CachePreference(Enum):
    """``cudaFuncSetCacheConfig``: how L1 and shared memory share their storage."""

    NONE = "none"
    SHARED = "shared"
    L1 = "l1"
    EQUAL = "equal"


class GlobalCaching(Enum):
    """Whether L1 caches global loads where each half of an SM has its own L1 (5.2-6.2)."""

    OFF = "off"
    ON = "on"
    STRICT = "strict"
    """On, and a block that does not fit into half an SM does not run."""


@dataclass(frozen=True)
class Launch:
    """What ``cuda_occupancy.h`` wants to know of a kernel and its launch.

    Sizes are bytes per block. Raises InvalidLaunchError where no launch could be meant.
    """

    block_size: int
    """Threads per block."""
    registers_per_thread: int = 0
    """As the compiler reports them; 0 means that registers do not limit."""
    static_shared_bytes: int = 0
    """As declared in the kernel, without the share that the driver reserves."""
    dynamic_shared_bytes: int = 0
    shared_opt_in: bool = True
    """Whether the kernel raised its limit with cudaFuncAttributeMaxDynamicSharedMemorySize."""
    max_dynamic_shared_bytes: int | None = None
    """The limit it raised it to; None means: to what this launch asks for."""
    carveout_percent: int | None = None
    """Preferred share of shared memory in L1 + shared memory; None is the driver's default."""
    cache_preference: CachePreference = CachePreference.NONE
    global_caching: GlobalCaching = GlobalCaching.OFF
    barriers: int = 0
    """Named barriers a block uses; 0 means that they do not limit."""
    max_threads_per_block: int = 1024
    """The kernel's own limit: the first number of ``__launch_bounds__``."""

    def __post_init__(self) -> None:
        if self.block_size <= 0:
            raise InvalidLaunchError("a block has at least 1 thread", f"Got {self.block_size}")
        if self.max_threads_per_block <= 0:
            raise InvalidLaunchError("launch bounds start at 1 thread per block")
        sizes = (
            self.registers_per_thread,
            self.static_shared_bytes,
            self.dynamic_shared_bytes,
            self.max_dynamic_shared_bytes or 0,
            self.barriers,
        )
        if min(sizes) < 0:
            raise InvalidLaunchError(
                f"registers, shared memory and barriers are never negative: {min(sizes)}"
            )

    @property
    def warps_per_block(self) -> int:
        """Warps that a block occupies, the last one perhaps in part."""
        return -(-self.block_size // WARP_SIZE)

    @property
    def padded_block_size(self) -> int:
        """Threads of the block's warps, the last one filled up."""
        return self.warps_per_block * WARP_SIZE

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory together."""
        return self.static_shared_bytes + self.dynamic_shared_bytes

    @property
    def dynamic_shared_limit(self) -> int:
        """The dynamic shared memory that the kernel may be launched with, in bytes."""
        if self.max_dynamic_shared_bytes is None:
            return self.dynamic_shared_bytes
        return self.max_dynamic_shared_bytes
