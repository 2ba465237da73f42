"""What a person reads of a proposed step before deciding about it."""

from __future__ import annotations

import json

from sessions.trajectory import Answer, CallTool, GiveUp
from toolenv.model import Json
from vakra_tui.state.folded import Folded, Section
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import HANG, Line, Role, Span, line
from vakra_tui.state.panes.messages import notes_of, reply_sections
from vakra_tui.state.proposing import Offer
from vakra_tui.text import count_words, one_line, size_words

LONGEST = 20_000
"""Characters of a text that are shown."""

SHORT = 400
"""Characters of an argument from which on it is folded."""


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
    sections = _decision(offer)
    for check in offer.checks:
        if check.outcome != "ok":
            head = line((f"! {check.name.replace('_', ' ')}  ", "fail"), HANG, (one_line(check.reason, 500), ""))
            sections.append(Section(head=head))
    of_list, of_call = notes_of(offer.request) if offer.request is not None else ([], [])
    sections += [Section(head=line(("note: ", "label"), HANG, (note, ""))) for note in of_call]
    if of_list:
        body = tuple(line((note, "dim")) for note in of_list)
        head = line(("tools offered  ", "label"), (count_words(len(of_list), "note"), "dim"))
        sections.append(Section(head=head, body=body, shut=True))
    return Folded([*sections, *_said(offer)])


def _decision(offer: Offer) -> list[Section]:
    decision = offer.decision
    if isinstance(decision, Answer):
        return [Section(head=line((decision.text[:LONGEST], "strong")))]
    if isinstance(decision, GiveUp):
        return [Section(head=line((decision.reason[:LONGEST] or "no reason given", "warn")))]
    if not isinstance(decision, CallTool):
        return [Section(head=line((decision.text[:LONGEST], "")))]
    call = decision.call
    if call.raw_arguments is not None:
        return [_value("not one JSON object", call.raw_arguments, "fail")]
    sections = [_argument(name, value) for name, value in call.arguments.items()]
    if not sections:
        sections.append(Section(head=line(("no arguments", "dim"))))
    if offer.executed is not None:
        changed = [name for name, value in offer.executed.items() if call.arguments.get(name) != value]
        words = ", ".join(one_line(name, 60) for name in changed)
        sections.append(Section(head=line((f"~ converted to the schema's types before the call: {words}", "warn"))))
    return sections


def _argument(name: str, value: Json) -> Section:
    written = json.dumps(value, ensure_ascii=False, default=str)
    if len(written) > SHORT:
        return _value(name, value if isinstance(value, str) else written, "key")
    return Section(head=line((one_line(name, 100), "key"), (" = ", "punct"), HANG, scalar_line(value)))


def _value(name: str, text: str, role: Role) -> Section:
    """A text that is folded where it is long."""
    head = line((one_line(name, 100), role), (": ", "punct"), HANG)
    if len(text) <= SHORT:
        return Section(head=(*head, Span(text, "code")))
    size = line((f"{size_words(len(text))}  ", "dim"), (one_line(text, 100), "code"))
    body = tuple(line((part, "code")) for part in text[:LONGEST].split("\n"))
    return Section(head=(*head, *size), body=body, shut=True)


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
