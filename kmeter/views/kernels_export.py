"""Changes of compiled kernels for a pull request: Markdown, and SARIF that code hosts annotate with."""

import json
from collections.abc import Sequence
from urllib.parse import quote

from kmeter.model.kernel_change import KernelChange
from kmeter.units import UNKNOWN
from kmeter.views.kernels import Names, changed_text, is_changed, shown_name
from kmeter.views.markdown import markdown_table

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Failed = Sequence[tuple[KernelChange, str]]
"""Changes, each with the gate that it failed."""


def changes_markdown(changes: Sequence[KernelChange], names: Names, failed: Failed) -> str:
    """A table of what changed; what failed a gate is said first."""
    lines = [f"- **{gate}**: `{_plain(change, names)}`" for change, gate in failed]
    rows = [
        (shown_name(c.kernel, names), c.kernel.architecture or UNKNOWN, changed_text(c))
        for c in changes
        if is_changed(c)
    ]
    if rows:
        lines += ["", *markdown_table(("kernel", "arch", "change"), rows)]
    same = len(changes) - len(rows)
    return "\n".join([*lines, "", f"{same} of {len(changes)} kernels are the same", ""]).lstrip(
        "\n"
    )


def _plain(change: KernelChange, names: Names) -> str:
    return shown_name(change.kernel, names).replace("`", "'")


def changes_sarif(failed: Failed, names: Names, file: str, version: str) -> str:
    """SARIF 2.1.0: a result for each kernel and gate that it failed."""
    results = [
        {
            "ruleId": gate,
            "level": "error",
            "message": {"text": f"{shown_name(change.kernel, names)}: {changed_text(change)}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(file.replace("\\", "/"))}
                    },
                    "logicalLocations": [{"fullyQualifiedName": change.kernel.name}],
                }
            ],
        }
        for change, gate in failed
    ]
    rules = [{"id": gate} for gate in dict.fromkeys(gate for _, gate in failed)]
    driver = {"name": "kmeter", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"
