"""What a benchmark is doing, in words."""

from kmeter.bench.events import Note
from kmeter.units import percent, si


def sampling_text(note: Note) -> str:
    """``add: 320 samples, 11.2 µs ± 0.6 %``, or what else is being done."""
    if note.median_s is None:
        return f"{note.label}: {note.text}"
    precision = f" ± {percent(note.precision, 2)}" if note.precision is not None else ""
    return f"{note.label}: {note.samples} samples, {si(note.median_s, 's')}{precision}"
