"""The commands of the step's tabs: searching inside a pane, sources of arguments, tables, JSON trees."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

_LOOKING = "looking"

STEP: tuple[Command, ...] = (
    Command(
        "debugger.search",
        "slash",
        "search",
        "search inside the focused pane: all of a response, folded parts and rows of a table too",
        _LOOKING,
        panes=("steps", "step", "ground truth"),
    ),
    Command(
        "debugger.next-match", "full_stop", "next_match(1)", "the next match", _LOOKING, panes=("step", "ground truth")
    ),
    Command(
        "debugger.previous-match",
        "comma",
        "next_match(-1)",
        "the match before",
        _LOOKING,
        panes=("step", "ground truth"),
    ),
    Command(
        "debugger.source-of-argument",
        "u",
        "source",
        "jump to where the value of an argument comes from: the response, the table, the turn or the policy",
        _LOOKING,
        panes=("step",),
    ),
    Command("debugger.back-from-source", "U", "source_back", "back from that jump", _LOOKING, panes=("step",)),
    Command(
        "step.left",
        "left",
        "aside(-1)",
        "fold a JSON node or go to the one above; the column before, in a table",
        palette=False,
    ),
    Command("step.right", "right", "aside(1)", "unfold a JSON node; the next column, in a table", palette=False),
    Command(
        "step.choose",
        "enter",
        "choose",
        "sort by the column, fold or unfold the JSON node, jump to the argument's source",
        palette=False,
    ),
    Command("step.filter", "ampersand", "filter_rows", "show only some rows of the table: a word, column>5, column=x"),
    Command("step.read-again", "l", "read_again", "load again what could not be read"),
)
