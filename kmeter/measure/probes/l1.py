"""L1 bandwidth: every SM reads a few KiB that its L1 holds; cache.cu."""

from kmeter.measure.probes import Lab, Measured, Probe
from kmeter.measure.probes._reuse import measure
from kmeter.model.ceiling import Measure

HELD_BYTES = 16 * 1024
"""Less than the smallest L1 of any card."""


def _run(lab: Lab) -> Measured:
    return measure(lab, "l1_read", HELD_BYTES, per_block=False)


PROBES = (
    Probe(
        name="l1-read",
        level="L1",
        measure=Measure.BYTES_PER_S,
        what="Reads a few KiB that each SM's L1 holds.",
        run=_run,
        limit="l1",
        counts="read",
        seconds=1.5,
    ),
)
