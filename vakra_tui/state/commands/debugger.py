"""The commands of the debugger."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

TIME = "time"
DOING = "doing"
LOOKING = "looking"

DEBUGGER: tuple[Command, ...] = (
    Command(
        "debugger.step",
        "s",
        "step",
        "one step forth: through the past first, then the next call is run",
        TIME,
        footer="step",
        panes=("steps",),
    ),
    Command(
        "debugger.back",
        "b",
        "back",
        "one step back: the cursor moves, history does not change",
        TIME,
        footer="back",
        panes=("steps",),
    ),
    Command(
        "debugger.continue",
        "c",
        "run",
        "continue to the next breakpoint, else to the end",
        TIME,
        footer="continue",
        panes=("steps",),
    ),
    Command("debugger.go-to", "g", "go_to", "go to a step by its number", TIME, footer="go to", panes=("steps",)),
    Command(
        "debugger.breakpoints",
        "p",
        "breakpoints",
        "breakpoints: set, switch off and on, remove",
        TIME,
        panes=("steps",),
    ),
    Command(
        "debugger.restart",
        "0",
        "restart",
        "again from before the first step, on a branch; s and c go on",
        TIME,
        panes=("steps",),
    ),
    Command("debugger.branches", "B", "branches", "look at another branch of this session", LOOKING, panes=("steps",)),
    Command(
        "debugger.evaluate",
        "v",
        "evaluate",
        "evaluate this branch: policy, tool sequence, final response",
        TIME,
        footer="evaluate",
        panes=("waterfall",),
    ),
    Command(
        "debugger.repair-search",
        "r",
        "repair",
        "repair search: the one replacement that would have saved this trajectory",
        TIME,
        panes=("waterfall",),
    ),
    Command(
        "debugger.rule-a-gate",
        "J",
        "judge",
        "rule a gate of the verdict yourself: pass or fail, and why; it overrides and is marked human",
        TIME,
        panes=("waterfall",),
    ),
    Command(
        "debugger.wheel", "w", "wheel", "hand the wheel to the recording, the ground truth, an agent or yourself", DOING
    ),
    Command(
        "debugger.call-a-tool",
        "n",
        "new_call",
        "call a tool: search, form, raw line, or scratch without a trace",
        DOING,
        footer="call a tool",
    ),
    Command(
        "debugger.edit-call",
        "e",
        "edit",
        "edit the call under the cursor and run it on a new branch",
        DOING,
        panes=("steps", "step"),
    ),
    Command("debugger.answer", "a", "answer", "give the final answer", DOING),
    Command("debugger.decline", "x", "decline", "decline: answer that it cannot be answered", DOING),
    Command(
        "debugger.hint", "o", "hint", "oracle hint: one more hop of the reference path", DOING, panes=("ground truth",)
    ),
    Command(
        "debugger.reference",
        "O",
        "reference",
        "show or hide the whole reference path",
        DOING,
        panes=("ground truth",),
    ),
    Command(
        "debugger.flag", "f", "flag", "flag the ground truth as suspect, with a note", DOING, panes=("ground truth",)
    ),
    Command("debugger.tables", "d", "tables", "browse the domain's tables", DOING),
    Command("debugger.other-run", "R", "other_run", "another run's prediction of this instance", DOING),
    Command("debugger.export", "E", "export", "export this branch as a prediction or as a reference record", DOING),
    Command("debugger.pane-steps", "1", "pane('steps')", "go to the steps", LOOKING),
    Command("debugger.pane-step", "2", "pane('step')", "go to the step under the cursor", LOOKING),
    Command("debugger.pane-ground-truth", "3", "pane('ground truth')", "go to the ground truth", LOOKING),
    Command(
        "debugger.waterfall",
        "4",
        "waterfall",
        "all reasons of the waterfall, or a few",
        LOOKING,
        panes=("waterfall",),
    ),
    Command(
        "debugger.next-tab",
        "t",
        "next_tab",
        "next tab of the step: call, response, table, raw, messages, provenance",
        LOOKING,
        panes=("step",),
    ),
    Command("debugger.previous-tab", "T", "previous_tab", "previous tab of the step", LOOKING, panes=("step",)),
    Command("debugger.earlier-turns", "h", "context", "earlier turns of the dialogue", LOOKING),
    Command("debugger.leave", "escape", "leave", "back to the list of instances", LOOKING, footer="list"),
    Command(
        "debugger.compare",
        "C",
        "compare",
        "compare with another run or branch of this instance, call by call",
        LOOKING,
        panes=("steps",),
    ),
    Command("debugger.scores", "S", "scores", "the scores of all runs, and from each figure to its instances", LOOKING),
)
