"""The commands of the scores and of the comparison of two trajectories."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

COMPARING: tuple[Command, ...] = (
    Command(
        "scores.instances", "enter", "instances", "the instances behind the figure under the cursor", footer="open"
    ),
    Command("scores.failed", "f", "failed", "those of them that are not right", footer="failed ones"),
    Command(
        "scores.next-section",
        "full_stop,t",
        "section(1)",
        "the next group of figures",
        footer="next part",
    ),
    Command("scores.previous-section", "comma,T", "section(-1)", "the group of figures before"),
    Command("scores.open-report", "o", "open_report", "open a report that a batch wrote (--out)", footer="report"),
    Command("scores.close-report", "d", "close_report", "take the report under the cursor away again"),
    Command("scores.evaluate", "v", "evaluate", "score what is not scored yet", footer="evaluate"),
    Command(
        "scores.rows-shown",
        "l",
        "shown_rows",
        "figures of the rows that the list shows (by its search), or of all again",
    ),
    Command("scores.signs", "number_sign", "signs", "draw bars with plain characters, or with blocks"),
    Command("scores.leave", "escape,q,S", "leave", "back", footer="back"),
    Command("compare.next-difference", "full_stop", "difference(1)", "the next difference", footer="next difference"),
    Command("compare.previous-difference", "comma", "difference(-1)", "the difference before", footer="previous"),
    Command(
        "compare.open", "enter", "open", "the debugger at this step, on the left side where it has one", footer="open"
    ),
    Command("compare.open-left", "1", "open_side('left')", "the debugger at this step of the left side"),
    Command("compare.open-right", "2", "open_side('right')", "the debugger at this step of the right side"),
    Command("compare.other-pane", "tab", "app.focus_next", "the rows, or what differs in the row under the cursor"),
    Command(
        "compare.only-differences",
        "D",
        "only_differences",
        "only the rows that differ, or all again",
        footer="only differing",
    ),
    Command("compare.swap", "x", "swap", "exchange left and right"),
    Command("compare.leave", "escape,q", "leave", "back; stops what is still being executed", footer="back"),
)
