"""What a person reads of a proposed step before deciding about it."""

from __future__ import annotations

from sessions.trajectory import Answer, CallTool, GiveUp
from vakra_tui.state.folded import Folded, Section
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import HANG, Line, line
from vakra_tui.state.panes.messages import notes_of, reply_sections
from vakra_tui.state.proposing import Offer
from vakra_tui.text import count_words, one_line

LONGEST = 20_000
"""Characters of a text that are shown."""


def proposal_title(offer: Offer) -> Line:
    """``react proposes step 3: a call of get_team_wins``."""
    decision = offer.decision
    if isinstance(decision, CallTool):
        what = f"a call of {one_line(decision.call.name, 100) or '(no name)'}"
    elif isinstance(decision, Answer):
        what = "the final answer"
    elif isinstance(decision, GiveUp):
        what = "to end without an answer"
    else:
        what = "a message, no step"
    return line((one_line(offer.agent, 60), "accent"), f" proposes step {offer.number}: ", (what, "strong"))


def proposal_source(offer: Offer) -> Folded:
    """The decision, what the checks say of it, and what its model said, reasoning folded."""
    sections = [Section(head=head) for head in _decision(offer)]
    for check in offer.checks:
        if check.outcome != "ok":
            head = line((f"! {check.name.replace('_', ' ')}  ", "fail"), HANG, (check.reason, ""))
            sections.append(Section(head=head))
    of_list, of_call = notes_of(offer.request) if offer.request is not None else ([], [])
    sections += [Section(head=line(("note: ", "label"), HANG, (note, ""))) for note in of_call]
    if of_list:
        body = tuple(line((note, "dim")) for note in of_list)
        head = line(("tools offered  ", "label"), (count_words(len(of_list), "note"), "dim"))
        sections.append(Section(head=head, body=body, shut=True))
    return Folded([*sections, *_said(offer)])


def _decision(offer: Offer) -> list[Line]:
    decision = offer.decision
    if isinstance(decision, Answer):
        return [line((decision.text[:LONGEST], "strong"))]
    if isinstance(decision, GiveUp):
        return [line((decision.reason[:LONGEST] or "no reason given", "warn"))]
    if not isinstance(decision, CallTool):
        return [line((decision.text[:LONGEST], ""))]
    call = decision.call
    if call.raw_arguments is not None:
        return [line(("not one JSON object: ", "fail"), HANG, (call.raw_arguments[:LONGEST], "code"))]
    lines = [
        line((one_line(name, 100), "key"), (" = ", "punct"), HANG, scalar_line(value))
        for name, value in call.arguments.items()
    ]
    if not lines:
        lines.append(line(("no arguments", "dim")))
    if offer.executed is not None:
        changed = [name for name, value in offer.executed.items() if call.arguments.get(name) != value]
        words = ", ".join(one_line(name, 60) for name in changed)
        lines.append(line((f"~ converted to the schema's types before the call: {words}", "warn")))
    return lines


def _said(offer: Offer) -> list[Section]:
    from sessions.agent.conversation import conversation_of

    if offer.request is None:
        return []
    told = conversation_of(offer.request)
    if told.reply is None:
        return []
    shown = []
    for section in reply_sections(told.reply, told.finish):
        # The calls stand above; what the model said besides is read when it is wanted.
        shown.append(Section(head=section.head, body=section.body, shut=True))
    return shown
