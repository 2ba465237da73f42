"""The commands of the list of instances."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

INSTANCES: tuple[Command, ...] = (
    Command("row.open", "enter", "choose", "open the debugger", footer="open", palette=False),
    Command(
        "instances.find",
        "slash",
        "find",
        "find: each word in query, domain, uuid or verdict, a few letters may be left out;"
        " with ~ it is a filter: ~cap 4 ~policy applies ~fail tool_sequence !~err (Tab completes)",
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
    Command("row.mark", "space", "mark", "mark the instance, or take its mark away (~marked finds it)"),
    Command("instances.mark-all", "asterisk", "mark_all", "mark all that are shown, or take their marks away"),
    Command("instances.sort", "s", "sort", "sort by a column; chosen again, the other way round", footer="sort"),
    Command("instances.filters", "F", "filters", "choose a kept filter", footer="filters"),
    Command("instances.keep-filter", "K", "keep_filter", "keep what is searched for under a name"),
    Command("instances.sessions", "L", "sessions", "stored sessions: look through, search, open again"),
    Command("instances.compare", "C", "compare", "two runs of this instance side by side"),
    Command("instances.scores", "S", "scores", "the scores of all runs"),
    Command("instances.look-again", "u,ctrl+r", "look_again", "read files that have changed, as they are now"),
    Command("instances.next-runs", "right", "turn_runs(1)", "the verdicts of further runs, where not all fit"),
    Command("instances.previous-runs", "left", "turn_runs(-1)", "the verdicts of the runs before"),
    Command("sort.again", "s", "again", "sort by this column; by the one in use, the other way round"),
    Command("filters.delete", "d,delete", "delete", "delete the kept filter under the cursor"),
    Command("filters.leave", "escape,q,F", "leave", "leave it without a choice"),
)
