"""Shared memory bandwidth: 16-byte loads without bank conflicts; cache.cu."""

from kmeter.measure.probes import Lab, Measured, Probe
from kmeter.measure.probes._reuse import measure
from kmeter.model.ceiling import Measure

STATIC_BYTES = 48 * 1024
"""What a block may have without asking."""


def _run(lab: Lab) -> Measured:
    return measure(lab, "shared_read", STATIC_BYTES, per_block=True)


PROBES = (
    Probe(
        name="shared-read",
        level="shared memory",
        measure=Measure.BYTES_PER_S,
        what="Reads shared memory, 16 bytes a thread, without bank conflicts.",
        run=_run,
        limit="shared",
        counts="read",
        seconds=1.5,
    ),
)
