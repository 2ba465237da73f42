"""The commands of the screens that are laid over the debugger, and of the dialogs."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

DIALOGS: tuple[Command, ...] = (
    Command("tools.leave", "escape,q", "leave", "back without a call"),
    Command("tools.down", "down", "move(1)", "the next tool, while the search line keeps the keyboard", palette=False),
    Command("tools.up", "up", "move(-1)", "the tool before", palette=False),
    Command("tools.page-down", "pagedown", "move_page(1)", "a page of tools further", palette=False),
    Command("tools.page-up", "pageup", "move_page(-1)", "a page of tools back", palette=False),
    Command(
        "tools.complete",
        "tab",
        "complete",
        "take the suggestion; where there is none, go to the next part of the screen",
        footer="complete",
        priority=True,
        palette=False,
    ),
    Command("tools.open", "enter", "open", "open the form of the tool under the cursor", footer="form"),
    Command("tools.find", "slash", "find", "go to the search line", footer="find"),
    Command("call.leave", "escape,q", "leave", "back without a call", footer="back"),
    Command("call.scratch", "f2", "scratch", "make the call without a trace", footer="try traceless"),
    Command("call.run", "f3", "run", "make the call as a step", footer="run as step"),
    Command("field.next-choice", "down", "choice(1)", "the next choice, or the next argument", palette=False),
    Command("field.previous-choice", "up", "choice(-1)", "the choice before, or the argument before", palette=False),
    Command("verdict.leave", "escape,q,I", "leave", "back to the debugger", footer="back"),
    Command("verdict.evidence", "i", "evidence", "go to what the deciding gate points at", footer="evidence"),
    Command("tables.leave", "escape,q", "leave", "back to the debugger", footer="back"),
    Command("tables.next-pane", "tab", "app.focus_next", "the next pane", footer="next pane"),
    Command("breakpoints.add", "a", "add", "add a breakpoint"),
    Command("breakpoints.remove", "d,delete", "remove", "remove the breakpoint under the cursor"),
    Command("breakpoints.leave", "escape,q,p", "leave", "close"),
    Command("expression.leave", "escape", "leave", "leave it"),
    Command("expression.complete", "tab", "complete", "take the completion", priority=True, palette=False),
    Command("expression.up", "up", "choose(-1)", "the completion above", priority=True, palette=False),
    Command("expression.down", "down", "choose(1)", "the completion below", priority=True, palette=False),
    Command("choice.leave", "escape,q", "leave", "leave it without a choice"),
    Command("ask.leave", "escape", "leave", "leave it without an answer"),
    Command("message.leave", "enter,escape,q", "leave", "close"),
    Command("jump.leave", "escape", "leave", "stay where one is"),
    Command("help.leave", "escape,q,question_mark,f1,enter", "leave", "close"),
)
