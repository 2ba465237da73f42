"""The tables of predicates in docs/filters.md, made from the code.

``python scripts/filter_tables.py`` writes them anew; ``--check`` only says whether they are what the code says.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sessions.filters import STEP_FILTERS, Language
from vakra_tui.state.entry_filter import ENTRY_FILTERS
from vakra_tui.state.saved_filters import GIVEN

PAGE = Path(__file__).resolve().parent.parent / "docs" / "filters.md"


def predicate_table(language: Language[Any]) -> str:
    """One row a predicate: how it is written, what it asks, what may stand behind it."""
    rows = ["| predicate | matches where | behind it |", "|---|---|---|"]
    for name, predicate in sorted(language.predicates.items()):
        behind = {"none": "", "pattern": "a pattern", "number": "a number", "choice": "one of "}[predicate.argument]
        if predicate.argument == "choice" and not callable(predicate.choices):
            behind += ", ".join(f"`{choice}`" for choice in predicate.choices)
        rows.append(f"| `~{name}` | {predicate.meaning} | {behind} |")
    return "\n".join(rows)


def given_table() -> str:
    """One row a filter that is always there."""
    rows = ["| name | filter |", "|---|---|"]
    for each in GIVEN:
        written = each.text.replace("|", "\\|")
        rows.append(f"| {each.name} | `{written}` |")
    return "\n".join(rows)


def blocks() -> dict[str, str]:
    """What stands between the marks, by the name in them."""
    return {
        "instances": predicate_table(ENTRY_FILTERS),
        "steps": predicate_table(STEP_FILTERS),
        "given": given_table(),
    }


def filled(text: str) -> str:
    """The page with its tables as the code has them."""
    for name, table in blocks().items():
        between = re.compile(rf"(<!-- {name}: made from the code -->\n)(?:.*?\n)??(<!-- end -->)", re.DOTALL)
        text = between.sub(lambda found, table=table: found[1] + table + "\n" + found[2], text)  # type: ignore[misc]
    return text


def main() -> int:
    written = PAGE.read_text(encoding="utf-8")
    made = filled(written)
    if "--check" in sys.argv[1:]:
        return 0 if made == written else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
