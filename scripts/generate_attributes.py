"""Write kmeter/sources/_attributes.py from the enumeration in NVIDIA's cuda-bindings.

    pip install cuda-bindings && python scripts/generate_attributes.py

Ids and names come from the enumeration, so a newer cuda-bindings brings its new attributes. What
an attribute means is told here; a name without an entry is spelled out in words.
"""

from pathlib import Path

from cuda.bindings import __version__
from cuda.bindings.driver import CUdevice_attribute

TARGET = Path(__file__).parents[1] / "kmeter" / "sources" / "_attributes.py"
PREFIX = "CU_DEVICE_ATTRIBUTE_"

MEANINGS = {
    "MAX_THREADS_PER_BLOCK": "threads that a block may have",
    "MAX_BLOCK_DIM_X": "largest block along x",
    "MAX_BLOCK_DIM_Y": "largest block along y",
    "MAX_BLOCK_DIM_Z": "largest block along z",
    "MAX_GRID_DIM_X": "largest grid along x",
    "MAX_GRID_DIM_Y": "largest grid along y",
    "MAX_GRID_DIM_Z": "largest grid along z",
    "MAX_SHARED_MEMORY_PER_BLOCK": "bytes of shared memory a block gets without opting in",
    "TOTAL_CONSTANT_MEMORY": "bytes of constant memory",
    "WARP_SIZE": "threads in a warp",
    "MAX_PITCH": "largest pitch of a memory copy, bytes",
    "MAX_REGISTERS_PER_BLOCK": "32-bit registers that a block may have",
    "CLOCK_RATE": "highest SM clock, kHz",
    "TEXTURE_ALIGNMENT": "alignment of textures, bytes",
    "GPU_OVERLAP": "copies overlap kernels (superseded by ASYNC_ENGINE_COUNT)",
    "MULTIPROCESSOR_COUNT": "SMs",
    "KERNEL_EXEC_TIMEOUT": "a watchdog ends long kernels",
    "INTEGRATED": "GPU and host share one memory",
    "CAN_MAP_HOST_MEMORY": "host memory can be mapped into the GPU's addresses",
    "COMPUTE_MODE": "who may use it: 0 everybody, 2 nobody, 3 one process",
    "CONCURRENT_KERNELS": "several kernels can run at once",
    "ECC_ENABLED": "error correction is on",
    "PCI_BUS_ID": "PCI bus number",
    "PCI_DEVICE_ID": "PCI device number",
    "TCC_DRIVER": "Windows: the compute driver model is in use",
    "MEMORY_CLOCK_RATE": "highest memory clock, kHz",
    "GLOBAL_MEMORY_BUS_WIDTH": "memory bus, bits",
    "L2_CACHE_SIZE": "L2 cache, bytes",
    "MAX_THREADS_PER_MULTIPROCESSOR": "threads that an SM holds at once",
    "ASYNC_ENGINE_COUNT": "copy engines",
    "UNIFIED_ADDRESSING": "one address space with the host",
    "CAN_TEX2D_GATHER": "2D texture gather works (deprecated)",
    "PCI_DOMAIN_ID": "PCI domain number",
    "SURFACE_ALIGNMENT": "alignment of surfaces, bytes",
    "TEXTURE_PITCH_ALIGNMENT": "alignment of a pitched texture, bytes",
    "COMPUTE_CAPABILITY_MAJOR": "compute capability, before the point",
    "COMPUTE_CAPABILITY_MINOR": "compute capability, behind the point",
    "STREAM_PRIORITIES_SUPPORTED": "streams can have priorities",
    "GLOBAL_L1_CACHE_SUPPORTED": "L1 caches global loads",
    "LOCAL_L1_CACHE_SUPPORTED": "L1 caches local memory",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": "bytes of shared memory on an SM",
    "MAX_REGISTERS_PER_MULTIPROCESSOR": "32-bit registers of an SM",
    "MANAGED_MEMORY": "managed memory can be allocated",
    "MULTI_GPU_BOARD": "several GPUs share the board",
    "MULTI_GPU_BOARD_GROUP_ID": "which board, where several GPUs share one",
    "HOST_NATIVE_ATOMIC_SUPPORTED": "atomics work across the link to the host",
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": "fp32 rate over fp64 rate",
    "PAGEABLE_MEMORY_ACCESS": "the GPU reads pageable host memory coherently",
    "CONCURRENT_MANAGED_ACCESS": "GPU and CPU may use managed memory at the same time",
    "COMPUTE_PREEMPTION_SUPPORTED": "kernels can be preempted",
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": "registered host memory keeps its address",
    "COOPERATIVE_LAUNCH": "cooperative kernels (grid-wide barriers) can be launched",
    "COOPERATIVE_MULTI_DEVICE_LAUNCH": "cooperative kernels over several GPUs (deprecated)",
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": "bytes of shared memory a block gets after opting in",
    "CAN_FLUSH_REMOTE_WRITES": "stream operations can flush writes from outside",
    "HOST_REGISTER_SUPPORTED": "host memory can be registered",
    "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES": "pageable access walks the host's page tables",
    "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST": "the host uses managed memory in place, unmigrated",
    "VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED": "virtual memory management API",
    "MAX_BLOCKS_PER_MULTIPROCESSOR": "blocks that an SM holds at once",
    "GENERIC_COMPRESSION_SUPPORTED": "memory can be compressed",
    "MAX_PERSISTING_L2_CACHE_SIZE": "bytes of L2 that can be set aside for persisting lines",
    "MAX_ACCESS_POLICY_WINDOW_SIZE": "largest access policy window, bytes",
    "RESERVED_SHARED_MEMORY_PER_BLOCK": "bytes of shared memory the driver takes from every block",
    "MEMORY_POOLS_SUPPORTED": "stream-ordered allocation works",
    "GPU_DIRECT_RDMA_SUPPORTED": "other devices can reach the memory (GPUDirect RDMA)",
    "GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS": "ways to flush GPUDirect RDMA writes, bit mask",
    "GPU_DIRECT_RDMA_WRITES_ORDERING": "who sees GPUDirect RDMA writes unflushed",
    "MEMPOOL_SUPPORTED_HANDLE_TYPES": "handles by which memory pools are shared, bit mask",
    "CLUSTER_LAUNCH": "thread block clusters can be launched",
    "MEM_SYNC_DOMAIN_COUNT": "memory synchronisation domains",
    "TENSOR_MAP_ACCESS_SUPPORTED": "tensor maps (TMA) can be used",
    "UNIFIED_FUNCTION_POINTERS": "function pointers are the same on every GPU",
    "NUMA_CONFIG": "whether the memory is a NUMA node of the host",
    "NUMA_ID": "NUMA node of the GPU's memory",
    "MULTICAST_SUPPORTED": "the switch can multicast and reduce",
    "MPS_ENABLED": "contexts are shared through MPS",
    "HOST_NUMA_ID": "nearest NUMA node of the host, -1 without NUMA",
    "MEM_DECOMPRESS_ALGORITHM_MASK": "decompression in hardware: algorithms, bit mask",
    "MEM_DECOMPRESS_MAXIMUM_LENGTH": "decompression in hardware: largest piece, bytes",
    "GPU_PCI_DEVICE_ID": "PCI device and vendor id",
    "GPU_PCI_SUBSYSTEM_ID": "PCI subsystem and subsystem vendor id",
    "ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED": "only some atomics work across the host link",
    "LOCALITY_DOMAIN_COUNT": "locality domains",
    "LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT": "SMs of a locality domain",
    "MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK": "bytes of oversized shared memory a block may have",
}

WORDS = {"TEXTURE1D": "1D texture", "TEXTURE2D": "2D texture", "TEXTURE3D": "3D texture",
         "TEXTURECUBEMAP": "cubemap texture", "SURFACE1D": "1D surface", "SURFACE2D": "2D surface",
         "SURFACE3D": "3D surface", "SURFACECUBEMAP": "cubemap surface", "MAXIMUM": "largest",
         "MAX": "largest", "MEM": "memory", "GPU": "GPU", "RDMA": "RDMA", "IPC": "IPC",
         "NUMA": "NUMA", "CIG": "CIG", "DMA": "DMA", "D3D12": "D3D12", "VULKAN": "Vulkan",
         "CUDA": "CUDA", "WIN32": "Win32", "POSIX": "POSIX", "V1": "(first API)"}  # fmt: skip


def meaning(name: str) -> str:
    if name in MEANINGS:
        return MEANINGS[name]
    return " ".join(WORDS.get(word, word.lower()) for word in name.split("_"))


def rows() -> list[str]:
    members = [member for member in CUdevice_attribute if not member.name.endswith("_MAX")]
    named = [(int(member), member.name.removeprefix(PREFIX)) for member in members]
    return [f'    {number}: ("{name}", "{meaning(name)}"),' for number, name in named]


def main() -> None:
    table = "\n".join(rows())
    TARGET.write_text(
        f'"""Device attributes of the CUDA driver API: id → name and meaning.\n\n'
        f"Generated by scripts/generate_attributes.py from cuda-bindings {__version__}; "
        f'do not edit.\n"""\n\n'
        f"# fmt: off\nATTRIBUTES: dict[int, tuple[str, str]] = {{\n{table}\n}}\n"
    )


if __name__ == "__main__":
    main()
