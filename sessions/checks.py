"""What is found out about a proposed call before it runs: policy, schema, provenance of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, overload

from sessions.trajectory import CallTool, Check, Trajectory
from toolenv.model import Instance, ToolCall, ToolSpec

if TYPE_CHECKING:
    from toolenv.policy import Applicability

Checker = Callable[[Trajectory, ToolCall, Sequence[ToolSpec]], Check]
"""Looks at the past and one proposed call; pure, never blocks the call by itself."""


def tool_named(tools: Sequence[ToolSpec], name: str, domain: str) -> ToolSpec | None:
    """The tool that a name stands for among those offered, other spellings of ``domain``'s tools included, or None."""
    from toolenv.recorded.aliases import own_name

    exact = next((tool for tool in tools if tool.name == name), None)
    if exact is not None:
        return exact
    own = own_name(name, domain, [tool.name for tool in tools])
    return next((tool for tool in tools if tool.name == own), None)


class _MadeCalls(Sequence[ToolCall]):
    """Gone through as far as they are asked for.

    A check that is made before every call of a long session mostly wants the first few.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self._steps = trajectory.steps

    def __iter__(self) -> Iterator[ToolCall]:
        return (step.decision.call for step in self._steps if isinstance(step.decision, CallTool) and not step.opening)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> ToolCall: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ToolCall]: ...

    def __getitem__(self, index: int | slice) -> ToolCall | Sequence[ToolCall]:
        return tuple(self)[index]


def made_calls(trajectory: Trajectory) -> Sequence[ToolCall]:
    """The calls of a trajectory that somebody proposed, openings left out."""
    return _MadeCalls(trajectory)


def check_schema(trajectory: Trajectory, call: ToolCall, tools: Sequence[ToolSpec]) -> Check:
    """Whether the tool exists and its schema accepts the arguments, after lossless coercion of scalars."""
    from toolenv.schema import coerce, refusal

    if call.raw_arguments is not None:
        return Check(name="schema", outcome="violation", reason="The arguments are not a JSON object.")
    spec = tool_named(tools, call.name, trajectory.instance.domain)
    if spec is None:
        return Check(name="schema", outcome="violation", reason=unknown_tool(call.name, tools))
    arguments, _ = coerce(spec, call.arguments)
    refused = refusal(spec, arguments)
    return Check(name="schema", outcome="violation" if refused else "ok", reason=refused or "")


def unknown_tool(name: str, tools: Sequence[ToolSpec]) -> str:
    """A sentence that names the tools whose names come close."""
    close = get_close_matches(name, [tool.name for tool in tools], n=3)
    hint = f" Close matches: {', '.join(close)}." if close else ""
    return f"There is no tool named {name!r} here.{hint}"


def policy_checker(instance: Instance, applicability: Applicability | None = None) -> Checker:
    """A checker for the instance's policy.

    ``applicability`` hands down what a judge or a person ruled (``applies``, ``does_not_apply``); otherwise it follows
    from the instance's domain. A violation of a policy whose applicability is unknown is ``unknown``.
    """
    from toolenv import policy as policies

    policy = policies.policy_of(instance)
    applies = applicability or policies.applicability_of(instance)

    def check(trajectory: Trajectory, call: ToolCall, tools: Sequence[ToolSpec]) -> Check:
        reason = policies.violation(policy, applies, made_calls(trajectory), call)
        if reason is None:
            return Check(name="policy", outcome="ok")
        if applies == "unknown":
            doubt = "It is not known whether the policy applies; if it does, "
            return Check(name="policy", outcome="unknown", reason=doubt + reason)
        return Check(name="policy", outcome="violation", reason=reason)

    return check


def check_provenance(trajectory: Trajectory, call: ToolCall, tools: Sequence[ToolSpec]) -> Check:
    """Whether every argument value occurs in the dialogue or in an earlier response."""
    from sessions.dataflow import ungrounded

    loose = ungrounded(trajectory, call, tools)
    if not loose:
        return Check(name="provenance", outcome="ok")
    return Check(name="provenance", outcome="violation", reason=f"Seen nowhere before: {', '.join(loose)}.")


def standard_checks(instance: Instance, applicability: Applicability | None = None) -> tuple[Checker, ...]:
    """The three checks that a person sees before a call of ``instance`` runs."""
    return (policy_checker(instance, applicability), check_schema, check_provenance)
