"""The commands of an agent at a person's side."""

from __future__ import annotations

from vakra_tui.state.commands.model import Command

_DOING = "doing"

ASKING: tuple[Command, ...] = (
    Command(
        "debugger.propose",
        "N",
        "propose",
        "have the agent propose the next call: run it, edit it, or reject it with a word to the model",
        _DOING,
        panes=("steps",),
    ),
    Command(
        "debugger.ask-again",
        "A",
        "ask_again",
        "ask the agent for this step again, on a branch: another sample, model or temperature",
        _DOING,
        panes=("steps", "step"),
    ),
    Command("proposal.edit", "e", "edit", "change it before it is run"),
    Command("proposal.reject", "x", "reject", "reject it with a word to the model, which then proposes anew"),
    Command("proposal.leave", "escape,q", "leave", "leave it open: it can be shown again, or run, later"),
    Command("again.leave", "escape", "leave", "leave it without asking"),
    Command("folded.fold", "space", "fold", "fold or unfold what is under the cursor", palette=False),
    Command("folded.shut", "left", "aside(-1)", "fold it", palette=False),
    Command("folded.open", "right", "aside(1)", "unfold it", palette=False),
)
