"""A question to a model judge: which material it gets, how that is delimited, and what had to be cut."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from eval.case import Case, analyses
from eval.judges.context import Cut, Section, fit
from eval.judges.texts import prompt
from eval.model import Gate
from sessions.trajectory import CallTool, ExecutedTrajectory, Step
from toolenv.model import Json, Value
from toolenv.openai_compat.replies import sendable

Message = Mapping[str, str]


class Question(Value, frozen=True):
    """What is sent to a judge. ``material`` is all foreign text in it; ``cuts`` is what the judge does not see.

    ``wants_json`` tells whether the reply is to be a JSON object.
    """

    gate: Gate
    messages: tuple[Message, ...]
    material: str
    cuts: tuple[Cut, ...]
    wants_json: bool = True


def question(gate: Gate, case: Case, characters: int) -> Question:
    """The question of one gate about one case, its material limited to ``characters``."""
    instructions = "{}\n\n{}".format(prompt(gate).template.strip(), prompt("frame").template.strip())
    return _assembled(gate, instructions, list(_sections(gate, case)), characters)


def released_question(gate: Gate, case: Case, characters: int) -> Question:
    """The same for the replies that the released evaluator reads; only ``consistent`` and ``grounded`` have one."""
    instructions = prompt(f"released_{gate}").template.strip()
    asked = _assembled(gate, instructions, list(_sections(gate, case)), characters)
    return msgspec.structs.replace(asked, wants_json=gate != "grounded")


def answer_text(answer: Json) -> str:
    """An answer as a judge reads it: text as it stands, anything else as JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def _assembled(gate: Gate, instructions: str, sections: Sequence[Section], characters: int) -> Question:
    cleaned = [Section(label=one.label, text=sendable(one.text), step=one.step) for one in sections]
    shown, cuts = fit(cleaned, characters)
    material = "\n".join(section.text for section in shown)
    boundary = hashlib.sha256(material.encode()).hexdigest()[:16]
    body = "\n".join(
        f"<<<BEGIN {section.label} {boundary}>>>\n{section.text}\n<<<END {section.label} {boundary}>>>"
        for section in shown
    )
    return Question(
        gate=gate,
        messages=(
            {"role": "system", "content": instructions.replace("$boundary", boundary)},
            {"role": "user", "content": body},
        ),
        material=material,
        cuts=cuts,
    )


def _sections(gate: Gate, case: Case) -> Iterator[Section]:
    instance = case.instance
    if gate == "policy":
        yield Section(label="rule", text=instance.policy)
    for turn in instance.turns[:-1]:
        said = "" if turn.answer is None else f"\nAssistant: {answer_text(turn.answer)}"
        yield Section(label=f"earlier turn {turn.turn_id}", text=f"User: {turn.query}{said}")
    yield Section(label="question", text=instance.query)
    if gate == "tool_sequence" and case.truth is not None:
        yield from _calls("reference", case.truth)
        yield from _needed(case)
    if gate in ("tool_sequence", "consistent") and instance.ground_truth is not None:
        yield Section(label="reference answer", text=answer_text(instance.ground_truth.evaluated.answer))
    if gate == "policy":
        yield Section(label="assistant calls", text=_names(case.prediction))
    if gate in ("tool_sequence", "grounded"):
        yield from _calls("assistant", case.prediction)
    if gate in ("consistent", "grounded"):
        yield Section(label="assistant answer", text=case.prediction.trajectory.answer or "")


def _needed(case: Case) -> Iterator[Section]:
    """The needed facts that a program found, as a list; none where it found none."""
    if case.instance.ground_truth is None:
        return
    truth, _ = analyses(case)
    lines = [f"call {need.hop}: {need.text}" for need in truth.needs]
    if lines:
        yield Section(label="needed information", text="\n".join(lines))


def _calls(side: str, executed: ExecutedTrajectory) -> Iterator[Section]:
    """One section a call; ``step`` counts the steps of the trajectory from 1, openings included."""
    found = False
    for number, step in enumerate(executed.trajectory.steps, start=1):
        if isinstance(step.decision, CallTool) and not step.opening:
            found = True
            yield Section(label=f"{side} call {number}", text=_call_and_response(step), step=number)
    if not found:
        yield Section(label=f"{side} calls", text="(no calls were made)")


def _call_and_response(step: Step) -> str:
    assert isinstance(step.decision, CallTool)
    call, result = step.decision.call, step.result
    arguments = step.executed_arguments if step.executed_arguments is not None else call.arguments
    written = json.dumps(arguments, ensure_ascii=False, default=str)
    if result is None:
        return f"{call.name} {written}\nno response"
    return f"{call.name} {written}\n{'failed' if result.failed else 'response'}: {result.text}"


def _names(executed: ExecutedTrajectory) -> str:
    decisions = (step.decision for step in executed.trajectory.steps if not step.opening)
    return "\n".join(decision.call.name for decision in decisions if isinstance(decision, CallTool))
