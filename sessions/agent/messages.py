"""The conversation that a trajectory stands for, as chat messages.

It is made anew from the steps each time, so that it holds whatever happened: calls that a person edited, a branch that
left another one, a wheel that was handed over. What the harness remembers of its completions only says which calls came
in one message and under which ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sessions.agent import prompt
from sessions.agent.names import Names
from sessions.agent.settings import AgentSettings
from sessions.checks import unknown_tool
from sessions.trajectory import CallTool, Message, Step, Trajectory
from toolenv.model import Json, ToolCall, ToolResult, ToolSpec, Value

Sent = dict[str, Any]


class Turn(Value, frozen=True):
    """One completion: where in the trajectory it was asked for (steps behind it), its text and its calls.

    ``cut`` are the calls of a completion that was cut off at the token limit; none of them ran.
    """

    at: int
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    cut: tuple[ToolCall, ...] = ()


def messages_of(
    trajectory: Trajectory,
    turns: Sequence[Turn],
    names: Names,
    tools: Sequence[ToolSpec],
    settings: AgentSettings,
    limit: int,
) -> list[Sent]:
    """System message, dialogue and steps. ``limit`` bounds the characters of one result."""
    instance, steps = trajectory.instance, trajectory.steps
    system = prompt.system_text(instance, parallel=settings.parallel, more=settings.instructions)
    sent: list[Sent] = [{"role": "system", "content": system}]
    for turn in instance.turns[:-1]:
        sent.append({"role": "user", "content": turn.query})
        if turn.answer is not None:
            sent.append({"role": "assistant", "content": prompt.answer_shown(turn.answer)})
    opened = steps[0].result if steps and steps[0].opening else None
    sent.append({"role": "user", "content": prompt.question_text(instance, opened, limit)})
    for group, turn_of in grouped(steps, turns):
        sent.extend(_of_group(group, turn_of, names, tools, limit))
    return sent


def grouped(steps: Sequence[Step], turns: Sequence[Turn]) -> Iterator[tuple[Sequence[Step], Turn | None]]:
    """The steps after the opening, those of one completion together, with the completion where it is known."""
    at = 1 if steps and steps[0].opening else 0
    while at < len(steps):
        turn, length = _best(steps, at, turns)
        yield steps[at : at + length], turn
        at += length


def _best(steps: Sequence[Step], at: int, turns: Sequence[Turn]) -> tuple[Turn | None, int]:
    """The completion that the steps from ``at`` on come from, and how many of them do; the latest of several."""
    best: tuple[Turn | None, int] = (None, 1)
    for turn in turns:
        if turn.at != at:
            continue
        if turn.cut and isinstance(steps[at].decision, Message) and steps[at].actor == "agent":
            best = (turn, 1)
        same = 0
        for step, call in zip(steps[at:], turn.calls, strict=False):
            if not isinstance(step.decision, CallTool) or step.actor != "agent" or step.decision.call != call:
                break
            same += 1
        if same and (best[0] is None or same >= best[1]):
            best = (turn, same)
    return best


def _of_group(
    group: Sequence[Step], turn: Turn | None, names: Names, tools: Sequence[ToolSpec], limit: int
) -> Iterator[Sent]:
    decision = group[0].decision
    if isinstance(decision, Message):
        yield from _of_message(group[0], decision, turn, names)
        return
    made = [(step, step.decision.call) for step in group if isinstance(step.decision, CallTool)]
    if not made:
        return
    calls = [_sent_call(call, names) for _, call in made]
    yield {"role": "assistant", "content": turn.content if turn is not None else "", "tool_calls": calls}
    for (step, call), sent in zip(made, calls, strict=True):
        yield {"role": "tool", "tool_call_id": sent["id"], "content": result_text(call, step.result, tools, limit)}


def _of_message(step: Step, decision: Message, turn: Turn | None, names: Names) -> Iterator[Sent]:
    if decision.role != "assistant" or step.actor != "agent":
        yield {"role": "user" if decision.role != "assistant" else "assistant", "content": decision.text}
        return
    if turn is None or not turn.cut:
        yield {"role": "assistant", "content": turn.content if turn is not None else decision.text}
        yield {"role": "user", "content": prompt.CUT_TEXT}
        return
    calls = [_sent_call(call, names) for call in turn.cut]
    yield {"role": "assistant", "content": turn.content, "tool_calls": calls}
    for sent in calls:
        yield {"role": "tool", "tool_call_id": sent["id"], "content": prompt.CUT_CALL}


def _sent_call(call: ToolCall, names: Names) -> Sent:
    """A call as it goes over the wire: its name's alias, its arguments as the text of one JSON object."""
    if call.raw_arguments is None:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    else:
        arguments = prompt.wrapped(call.raw_arguments)
    function = {"name": names.sent(call.name), "arguments": arguments}
    return {"id": call.id or "", "type": "function", "function": function}


def result_text(call: ToolCall, result: ToolResult | None, tools: Sequence[ToolSpec], limit: int) -> str:
    """What a model sees of a result: all of it where it is short, else a marked excerpt."""
    if call.raw_arguments is not None:
        return prompt.unreadable(call.name, call.raw_arguments)
    if result is None:
        return ""
    if result.error_kind == "unknown_tool" and "lose match" not in result.text:
        return f"{result.text} {unknown_tool(call.name, tools)}"
    return prompt.excerpt(result.text, limit)


def offered(tools: Sequence[ToolSpec], names: Names) -> list[Sent]:
    """Tools as a strict endpoint takes them."""
    from sessions.agent.arguments import whole_characters
    from toolenv.schema import for_endpoint

    listed: list[Json] = [
        {
            "type": "function",
            "function": {
                "name": names.sent(tool.name),
                "description": tool.description,
                "parameters": for_endpoint(tool),
            },
        }
        for tool in tools
    ]
    return [whole_characters(each) for each in listed]
