"""Every command of the screen: keys, help, palette, footers, ``docs/keys.md`` and the config file are made from it.

To add a command:

1. Write its action, ``action_NAME``, on the screen or in a group of verbs that the screen inherits from.
2. Add one row to the table of its context in this package (``debugger.py``, ``instances.py``, ``dialogs.py``, or a new
   file whose table is added to ``TABLES`` below)::

       Command("debugger.mark", "m", "mark_step", "mark the step under the cursor, or take the mark away", DOING)

A new screen or widget gets its keys by ``CONTEXT = "scores"; BINDINGS = bindings("scores")`` (``widgets/bound.py``) and
a table of rows whose ids begin with ``scores.``. Nothing else has to be changed: the row is bound, remappable as
``"scores.sort" = "s"``, in the palette, in the help and in the documents. Only rows with a ``footer`` word stand in the
footer; at most eight may in one context, those of ``app`` included. A key may occur once in a context.
"""

from __future__ import annotations

from vakra_tui.state.commands.asking import ASKING
from vakra_tui.state.commands.comparing import COMPARING
from vakra_tui.state.commands.debugger import DEBUGGER
from vakra_tui.state.commands.dialogs import DIALOGS
from vakra_tui.state.commands.everywhere import EVERYWHERE
from vakra_tui.state.commands.instances import INSTANCES
from vakra_tui.state.commands.model import Command, key_words
from vakra_tui.state.commands.sessions import SESSIONS
from vakra_tui.state.commands.step import STEP

__all__ = ["COMMANDS", "CONTEXTS", "FOOTER_AT_MOST", "Command", "commands_of", "key_words"]

TABLES: tuple[tuple[Command, ...], ...] = (DEBUGGER, STEP, ASKING, INSTANCES, SESSIONS, COMPARING, EVERYWHERE, DIALOGS)

COMMANDS: tuple[Command, ...] = tuple(command for table in TABLES for command in table)

FOOTER_AT_MOST = 8
"""Entries in one footer."""

CONTEXTS: dict[str, str] = {
    "debugger": "Debugger",
    "step": "In the step",
    "instances": "Instances",
    "compare": "Comparing two trajectories",
    "scores": "Scores",
    "sessions": "Stored sessions",
    "row": "A row of the instances",
    "sort": "Choosing a column to sort by",
    "filters": "Kept filters",
    "app": "Everywhere",
    "list": "In a list",
    "text": "In a text",
    "tools": "Choosing a tool",
    "call": "The form of a call",
    "field": "An argument in the form",
    "proposal": "A proposal of the agent",
    "again": "Asking the agent again",
    "folded": "In what can be folded",
    "verdict": "The verdict explained",
    "tables": "The domain's tables",
    "breakpoints": "Breakpoints",
    "expression": "Writing an expression",
    "choice": "A choice",
    "ask": "A question",
    "message": "A message",
    "jump": "Jump mode",
    "help": "Help",
}
"""Context -> what the help calls it, in the order of the documents."""


def commands_of(*contexts: str) -> tuple[Command, ...]:
    """The commands of some contexts, in the order of the tables."""
    return tuple(command for command in COMMANDS if command.context in contexts)
