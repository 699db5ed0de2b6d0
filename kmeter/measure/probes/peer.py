"""Copies from another GPU of the machine, over NVLink or PCIe."""

from kmeter.measure.plan import MIB, GpuFacts
from kmeter.measure.probes import Lab, Measured, Probe, ProbeFailedError
from kmeter.measure.probes._data import SEED, Data
from kmeter.model.ceiling import Measure

BYTES = 512 * MIB
SAMPLES = 7


def _run(lab: Lab) -> Measured:
    import cupy
    from cupy.cuda import runtime

    here, there = cupy.cuda.Device().id, lab.facts.peers[0]
    data = Data(lab.gpu)
    source_words = data.words(BYTES, SEED + 1)
    with cupy.cuda.Device(there):
        source = cupy.cuda.memory.Memory(BYTES)
    runtime.memcpyPeer(source.ptr, there, source_words.data.ptr, here, BYTES)
    target = lab.gpu.empty(BYTES // 4, "u4")
    data.poison(target)

    def copy() -> None:
        runtime.memcpyPeerAsync(target.data.ptr, here, source.ptr, there, BYTES, lab.gpu.stream.ptr)

    copy()
    samples = tuple(BYTES / lab.gpu.seconds(copy) for _ in range(SAMPLES))
    if data.wrong_words(target, SEED + 1):
        raise ProbeFailedError("what arrived is not what was sent")
    return Measured(samples, f"cudaMemcpyPeerAsync from cuda:{there}", "", BYTES)


def _missing(facts: GpuFacts) -> str:
    return "" if facts.peers else "no other GPU that this one reaches directly"


PROBES = (
    Probe(
        name="peer", level="peer", measure=Measure.BYTES_PER_S,
        what="Copies from another GPU of this machine.", run=_run, counts="one way",
        seconds=1.0, in_quick=False, unsupported=_missing,
    ),
)  # fmt: skip
