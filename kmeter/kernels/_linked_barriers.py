"""Which of nvlink's numbers of barriers are a kernel's own.

nvlink 13.5 prints the most of all kernels so far, nvlink 13.0 each kernel's: built from the same files, one says
1 1 1 4 4 4 where the other says 1 0 1 4 0 1.
"""

from collections.abc import Collection

from kmeter.model.compiled_kernel import CompiledKernel

_NOTE = "nvlink's barriers may be those of a kernel before"


class LinkedBarriers:
    """What was said in the order in which it was said, an architecture at a time."""

    def __init__(self) -> None:
        self._most: dict[str | None, int] = {}
        self._falls: set[str | None] = set()
        """Architectures whose numbers fall somewhere: each is a kernel's own there."""
        self._doubtful: set[CompiledKernel] = set()

    def heard(self, kernel: CompiledKernel, compiled: Collection[int | None]) -> None:
        """A linked kernel, with what ptxas said of its barriers before: it has at least as many."""
        own, where = kernel.barriers, kernel.architecture
        if own is None:
            return
        most = self._most.get(where, 0)
        if own < most:
            self._falls.add(where)
        elif own and own == most and own not in compiled:
            self._doubtful.add(kernel)
        self._most[where] = max(own, most)

    def certain(self, kernel: CompiledKernel) -> CompiledKernel:
        """The kernel, without a number that may be another's."""
        if kernel not in self._doubtful or kernel.architecture in self._falls:
            return kernel
        return kernel._replace(barriers=None, note=kernel.note or _NOTE)
