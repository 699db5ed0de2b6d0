"""What CuPy, Triton and Numba tell of a kernel in this process, through objects shaped as theirs."""

from types import SimpleNamespace
from typing import Any

from kmeter.kernels.live_function import compiled_kernels


class RawKernel:
    """As ``cupy.RawKernel``."""

    name, num_regs, shared_size_bytes = "saxpy", 24, 4096
    local_size_bytes, max_threads_per_block = 0, 256


class Dispatcher:
    """As Numba's, after calls with two signatures."""

    __name__ = "stencil"

    def get_regs_per_thread(self) -> dict[str, int]:
        return {"f4": 32, "f8": 48}

    def get_shared_mem_per_block(self, signature: str) -> int:
        return {"f4": 1024, "f8": 2048}[signature]

    def get_local_mem_per_thread(self, signature: str) -> int:
        return 0

    def get_max_threads_per_block(self, signature: str) -> int:
        return 1024


def triton_function(**metadata: Any) -> Any:
    said = {"name": "matmul", "num_warps": 8, "shared": 32768, "target": SimpleNamespace(arch=90)}
    kernel = SimpleNamespace(metadata=SimpleNamespace(**(said | metadata)), n_regs=254)
    return SimpleNamespace(device_caches={0: ({"signature": kernel}, None)})


def test_a_raw_kernel_of_cupy() -> None:
    (kernel,) = compiled_kernels(RawKernel())
    assert (kernel.name, kernel.registers_per_thread, kernel.static_shared_bytes) == (
        "saxpy",
        24,
        4096,
    )
    assert (kernel.max_threads_per_block, kernel.said_by) == (256, "CuPy")


def test_a_function_of_triton() -> None:
    (kernel,) = compiled_kernels(triton_function())
    assert (kernel.architecture, kernel.registers_per_thread) == ("sm_90", 254)
    assert (kernel.dynamic_shared_bytes, kernel.required_block) == (32768, (256, 1, 1))


def test_a_dispatcher_of_numba() -> None:
    kernels = compiled_kernels(Dispatcher())
    assert [k.registers_per_thread for k in kernels] == [32, 48]
    assert [k.static_shared_bytes for k in kernels] == [1024, 2048]


def test_what_is_no_kernel_has_none_and_another_version_raises_nothing() -> None:
    assert compiled_kernels(lambda x: x) == []
    assert compiled_kernels(len) == []
    broken = triton_function()
    del broken.device_caches[0][0]["signature"].metadata.shared
    assert compiled_kernels(broken) == []
