"""What stands behind a row of the scores, and in which words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Line, line
from vakra_tui.state.score_texts import Row
from vakra_tui.state.scores import Source, counted_by, keys_behind
from vakra_tui.text import count_words

if TYPE_CHECKING:
    from vakra_tui.state.entry import EntryKey


def keys_of(row: Row | None, sources: Sequence[Source], *, failed: bool = False) -> frozenset[EntryKey] | None:
    """The instances behind a row; None where it counts none. ``failed``: those of them that are not right."""
    if row is None or row.source >= len(sources):
        return None
    if row.figure is not None:
        return keys_behind(sources[row.source], row.figure, failed=failed)
    return row.keys


def behind_line(row: Row | None, sources: Sequence[Source], known: Collection[EntryKey]) -> Line:
    """How many instances stand behind a row, and which of them the list cannot show; ``known`` are its rows."""
    keys = keys_of(row, sources)
    if keys is None or row is None:
        return line(
            (
                f" {key('scores.next-section')} and {key('scores.previous-section')} lead from group to group; "
                f"{key('scores.instances')} on a bar lists the instances behind it",
                "dim",
            )
        )
    failed = keys_of(row, sources, failed=True) or frozenset()
    words = f"  {key('scores.instances')} lists {count_words(len(keys), 'instance')}"
    if row.figure is not None and 0 < len(failed) < len(keys):
        words += f", {key('scores.failed')} the {len(failed):,} of them that are not right"
    absent = sum(key not in known for key in keys)
    missing = f"  {absent:,} of them are not in the dataset that is open" if absent else ""
    unknown = counted_by(sources[row.source], row.figure) - len(keys) if row.figure is not None else 0
    if unknown > 0:
        missing += f"  the report counts {unknown:,} more, whose group is not known here"
    return line((f" {row.words}", "strong"), (words, ""), (missing, "warn"))
