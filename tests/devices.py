"""Devices with fixed parameters, so that no edit of the catalogue changes what tests see."""

from kmeter.model.architecture import architecture
from kmeter.model.device import Device, Quantity, Source

H100_SXM = Device(
    target="catalogue:h100-sxm",
    source=Source.CATALOGUE,
    name="NVIDIA H100 SXM5 80GB",
    compute_capability="9.0",
    architecture=architecture("9.0"),
    sm_count=132,
    sm_clock_hz=1980e6,
    tensor_clock_hz=1830e6,
    memory_bus_bits=5120,
    memory_bits_per_s_per_pin=5.238e9,
    tdp_w=700,
)

A100_SXM = Device(
    target="catalogue:a100-sxm-80gb",
    source=Source.CATALOGUE,
    name="NVIDIA A100 SXM4 80GB",
    compute_capability="8.0",
    architecture=architecture("8.0"),
    sm_count=108,
    sm_clock_hz=1410e6,
    memory_bus_bits=5120,
    memory_bits_per_s_per_pin=3.186e9,
    tdp_w=400,
)

UNKNOWN_MEMORY = Device(
    target="cuda:0",
    source=Source.DRIVER,
    name="NVIDIA GB10",
    compute_capability="12.1",
    architecture=architecture("12.1"),
    sm_count=48,
    sm_clock_hz=2418e6,
    dram=Quantity.unknown("the driver reports no memory clock"),
)
