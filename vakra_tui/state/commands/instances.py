"""The commands of the list of instances."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

INSTANCES: tuple[Command, ...] = (
    Command("instances.open", "enter", "open", "open the debugger", footer="open"),
    Command(
        "instances.find",
        "slash",
        "find",
        "find: every word must occur in query, domain, uuid or verdict;"
        " with ~ it is a filter: ~cap 4 ~policy applies ~fail tool_sequence !~err (tab completes)",
        footer="find",
    ),
    Command("instances.evaluate", "v", "evaluate", "evaluate this instance", footer="evaluate"),
    Command("instances.evaluate-all", "V", "evaluate_all", "evaluate all that are shown", footer="evaluate all"),
    Command("instances.differing", "D", "differing", "only those on which the runs differ, or all again"),
    Command(
        "instances.complete",
        "tab",
        "complete",
        "in the search line take the first completion, elsewhere go to the next part of the screen",
        priority=True,
        palette=False,
    ),
    Command("instances.clear", "escape", "clear", "take the search away"),
)
