"""Record what a measuring process tells of a whole run, as tests/data/ceiling/h200-events.jsonl is.

    python tests/gpu/record_ceilings.py EVENTS.jsonl REFERENCE.json

The card's UUID is replaced by one that means nothing. REFERENCE.json is the same run as kmeter's document.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from kmeter.measure.catalogue import names_of
from kmeter.measure.client import Client
from kmeter.measure.collect import Collector
from kmeter.measure.events import Finished, Planned, line_of
from kmeter.measure.plan import Options
from kmeter.views.ceiling_json import ceiling_document

UUID = "GPU-6b6d6574-6572-4832-8030-000000000001"


def main(events_file: str, reference_file: str) -> None:
    """Measure everything on the first card."""
    collector = Collector()
    with Path(events_file).open("wb") as out:
        for event in Client("0", Options()).events(names_of()):
            told = event
            if isinstance(event, Planned):
                told = Planned(replace(event.run, uuid=UUID), event.names, event.seconds)
            if isinstance(event, Finished):
                print(event.ceiling.name, event.ceiling.value, event.ceiling.reason, flush=True)
            collector.take(told)
            out.write(line_of(told))
    document = ceiling_document(collector.run)
    Path(reference_file).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
