"""The predicates over steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sessions.checks import made_calls, tool_named
from sessions.divergence import first_divergence
from sessions.filters.grammar import Language
from sessions.filters.predicates import Predicate
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.model import ToolCall, ToolSpec, Value


class StepView(Value, frozen=True):
    """One step as a filter sees it: with the trajectory around it.

    ``index`` counts from 0. ``tools`` is what the session offers, where that is known; ``reference`` the steps of the
    executed ground truth.
    """

    trajectory: Trajectory
    index: int
    tools: tuple[ToolSpec, ...] = ()
    reference: tuple[Step, ...] = ()

    @property
    def step(self) -> Step:
        return self.trajectory.steps[self.index]

    @property
    def call(self) -> ToolCall | None:
        decision = self.step.decision
        return decision.call if isinstance(decision, CallTool) else None

    @property
    def words(self) -> str:
        """What was said, of a step that is no call."""
        decision = self.step.decision
        if isinstance(decision, Answer | Message):
            return decision.text
        return decision.reason if isinstance(decision, GiveUp) else ""

    @property
    def response(self) -> str:
        return self.step.result.text if self.step.result is not None else ""


def written(value: Any) -> str:
    """An argument value as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def views(trajectory: Trajectory, tools: Sequence[ToolSpec] = (), reference: Sequence[Step] = ()) -> list[StepView]:
    """All steps of a trajectory, ready to be filtered."""
    return [
        StepView(trajectory=trajectory, index=index, tools=tuple(tools), reference=tuple(reference))
        for index in range(len(trajectory.steps))
    ]


def _tool(view: StepView, matches: Callable[[str], bool]) -> bool:
    return view.call is not None and matches(view.call.name)


def _argument(view: StepView, matches: Callable[[str], bool]) -> bool:
    return view.call is not None and any(matches(name) for name in view.call.arguments)


def _value(view: StepView, matches: Callable[[str], bool]) -> bool:
    if view.call is None:
        return False
    if view.call.raw_arguments is not None:
        return matches(view.call.raw_arguments)
    return any(matches(written(value)) for value in view.call.arguments.values())


def _text(view: StepView, matches: Callable[[str], bool]) -> bool:
    return (
        _tool(view, matches)
        or _argument(view, matches)
        or _value(view, matches)
        or matches(view.words)
        or matches(view.response)
    )


def _kind(view: StepView, kind: str) -> bool:
    tags = {CallTool: "call", Answer: "answer", GiveUp: "give_up", Message: "message"}
    return tags[type(view.step.decision)] == kind


def _unknown(view: StepView, _: None) -> bool:
    result = view.step.result
    if result is not None and result.error_kind == "unknown_tool":
        return True
    domain = view.trajectory.instance.domain
    return view.call is not None and bool(view.tools) and tool_named(view.tools, view.call.name, domain) is None


def _check(name: str) -> Callable[[StepView, None], bool]:
    return lambda view, _: any(check.name == name and check.outcome == "violation" for check in view.step.checks)


def _diverged(view: StepView, _: None) -> bool:
    if not view.reference:
        return False
    return first_divergence(view.trajectory.steps, view.reference, view.trajectory.instance.domain) == view.index


def _failed(view: StepView, _: None) -> bool:
    return view.step.result is not None and view.step.result.failed


def _slow(view: StepView, matches: Callable[[float], bool]) -> bool:
    return view.step.result is not None and matches(view.step.result.duration_s)


def _size(view: StepView, matches: Callable[[float], bool]) -> bool:
    return view.step.result is not None and matches(len(view.step.result.text))


def _tool_names(subjects: Sequence[StepView]) -> list[str]:
    offered = {tool.name for view in subjects[-1:] for tool in view.tools}
    called = {call.name for view in subjects[-1:] for call in made_calls(view.trajectory)}
    return sorted(offered | called)


def _argument_names(subjects: Sequence[StepView]) -> list[str]:
    return sorted({name for view in subjects[-1:] for call in made_calls(view.trajectory) for name in call.arguments})


STEP_FILTERS: Language[StepView] = Language(
    [
        Predicate("text", "anything in the step matches", _text, "pattern", late=True),
        Predicate("tool", "calls a tool whose name matches", _tool, "pattern", _tool_names),
        Predicate("arg", "has an argument whose name matches", _argument, "pattern", _argument_names),
        Predicate("val", "has an argument whose value matches", _value, "pattern"),
        Predicate("resp", "the response matches", lambda view, matches: matches(view.response), "pattern", late=True),
        Predicate("words", "the answer or message matches", lambda view, matches: matches(view.words), "pattern"),
        Predicate(
            "who",
            "was decided by",
            lambda view, actor: bool(view.step.actor == actor),
            "choice",
            ("agent", "human", "recording", "ground_truth", "stepper"),
        ),
        Predicate("kind", "is a call, an answer ...", _kind, "choice", ("call", "answer", "give_up", "message")),
        Predicate("n", "has this number", lambda view, matches: bool(matches(view.index + 1)), "number"),
        Predicate("err", "the call failed", _failed, late=True),
        Predicate("unknown", "calls a tool that does not exist", _unknown),
        Predicate("policy", "violates the policy", _check("policy")),
        Predicate("schema", "has arguments that the schema refuses", _check("schema")),
        Predicate("ungrounded", "has an argument that was seen nowhere before", _check("provenance")),
        Predicate("diverged", "is the first that differs from the ground truth", _diverged),
        Predicate(
            "coerced", "was executed with coerced arguments", lambda view, _: view.step.executed_arguments is not None
        ),
        Predicate("opening", "opens the instance", lambda view, _: view.step.opening),
        Predicate(
            "handle",
            "made a table",
            lambda view, _: view.step.result is not None and view.step.result.handle is not None,
            late=True,
        ),
        Predicate("dur", "took this many seconds", _slow, "number", late=True),
        Predicate("size", "the response has this many characters", _size, "number", late=True),
    ],
    text_predicate="text",
)
"""The filter language over steps."""
