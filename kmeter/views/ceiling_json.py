"""Ceilings as JSON: what ``--json`` prints and what is saved, in one form."""

from dataclasses import asdict
from typing import Any

from kmeter.model.ceiling import Ceiling, CeilingRun


def ceiling_document(run: CeilingRun) -> dict[str, Any]:
    """``kmeter.ceiling/1``; a value is in the base unit that its ``measure`` names."""
    return {
        "schema": "kmeter.ceiling/1",
        **{key: value for key, value in asdict(run).items() if key != "ceilings"},
        "ceilings": [_ceiling(ceiling) for ceiling in run.ceilings],
    }


def _ceiling(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **asdict(ceiling),
        "spread": ceiling.spread,
        "fraction_of_limit": ceiling.fraction_of_limit,
        "fraction_of_limit_at_clock": ceiling.fraction_at_clock,
    }
