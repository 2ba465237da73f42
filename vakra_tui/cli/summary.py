"""The rendered summary of a batch for the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from io import StringIO
from typing import Any

from eval.report import ReportInfo
from eval.scored import Scored
from eval.scores import Tally
from vakra_tui.cli.streams import is_terminal
from vakra_tui.text import sanitize

PIPE_WIDTH = 80
REPAIRED = 6
"""How many steps and tools a summary names that broke trajectories."""

LISTED = 10
"""How many unscored lines a summary names; the report has them all."""


def render(info: ReportInfo, tally: Tally, notes: Iterable[str], unscored: Iterable[Scored]) -> str:
    """The summary of one run; coloured on a terminal unless ``NO_COLOR`` is set, plain text elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = is_terminal(sys.stdout)
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")
    width = max(40, shutil.get_terminal_size((PIPE_WIDTH, 24)).columns) if terminal else PIPE_WIDTH
    buffer = StringIO()
    console = Console(file=buffer, width=width, force_terminal=colour, color_system="auto" if colour else None)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    leaderboard = tally.leaderboard()
    judge = " ".join(part for part in (info.judge.kind, info.judge.model, info.judge.prompt_version) if part)
    say(f"{sanitize(info.run_name)}   profile {info.profile}, judge {sanitize(judge)}", "bold")
    say(f"leaderboard {_score(leaderboard)}")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("cap", "n", "right", "score", "95%", "range", "tool", "args", "values", "answer", "undecided"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    sieve = tally.sieve()
    for capability, entry in tally.capabilities().items():
        classes = sieve[capability]
        table.add_row(
            capability,
            str(entry["n"]),
            str(entry["correct"]),
            _percent(entry["score"]),
            _span(entry["ci95"]),
            _span(entry["range"]),
            *(str(classes[name]) for name in ("tool_selection", "argument_names", "argument_values", "answer")),
            str(entry["undecided"]),
        )
    if table.row_count:
        console.print(table)
    counts = tally.counts(info.duplicates)
    say(", ".join(f"{count} {name}" for name, count in counts.items() if count or name in ("instances", "scored")))
    for text in _repairs(tally.repairs()):
        say(text)
    for note in notes:
        say(f"note: {sanitize(note)}")
    listed = list(_first(unscored, LISTED))
    for scored in listed:
        verdict = scored.verdict
        why = f"{verdict.reason}: {verdict.detail}" if verdict.detail else str(verdict.reason)
        say(sanitize(f"unscored: {verdict.uuid} (capability {verdict.capability}, {verdict.domain}) {why}"))
    if (more := tally.statuses["unscored"] - len(listed)) > 0:
        say(f"unscored: {more} more, see the report")
    return buffer.getvalue()


def _repairs(form: dict[str, Any]) -> Iterable[str]:
    """What broke the failed trajectories, in three lines."""
    if not form:
        return
    parts = ", ".join(f"{count} {name}" for name, count in form["outcomes"].items())
    yield f"repair of {form['searched']} failed: {parts}; {form['executions']} calls run"
    for title, key in (("step", "steps"), ("tool", "tools")):
        groups = sorted(form[key].items(), key=lambda group: -group[1]["n"])[:REPAIRED]
        if groups:
            yield f"broken at {title}: " + ", ".join(f"{sanitize(name)} {group['n']}" for name, group in groups)


def _first(lines: Iterable[Scored], limit: int) -> Iterable[Scored]:
    count = 0
    for scored in lines:
        if scored.verdict.status == "unscored":
            yield scored
            count += 1
            if count == limit:
                return


def _score(entry: dict[str, Any]) -> str:
    if entry["score"] is None:
        return "undefined: nothing was counted"
    return f"{_percent(entry['score'])}  (95% {_span(entry['ci95'])}, range {_span(entry['range'])})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _span(ends: list[float] | None) -> str:
    if ends is None:
        return "-"
    low, high = (_percent(end) for end in ends)
    return low if low == high else f"{low}-{high}"
