"""The calls of an executed trajectory that count: numbered as a person sees them, the opening set apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sessions.trajectory import CallTool, ExecutedTrajectory, Step
from toolenv.environment import TableView
from toolenv.model import Instance, Json, Source, ToolCall, ToolResult
from toolenv.policy import source_of

OPENING_TOOL = "get_data"


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One call of a trajectory.

    ``number`` counts the trajectory's calls from 1, the opening left out; ``index`` is the position among its steps.
    ``scored`` is false for a ``get_data`` of capabilities 2-4, which is neutral for every gate.
    """

    number: int
    index: int
    step: Step
    call: ToolCall
    table: TableView | None
    source: Source
    scored: bool

    @property
    def result(self) -> ToolResult | None:
        return self.step.result

    @property
    def failed(self) -> bool:
        """Whether the call gave no response to learn from."""
        result = self.step.result
        return result is None or result.failed or result.is_error

    @property
    def arguments(self) -> Mapping[str, Json]:
        """The arguments as executed: coerced where coercion lost nothing."""
        executed = self.step.executed_arguments
        return self.call.arguments if executed is None else executed

    @property
    def text(self) -> str:
        result = self.step.result
        return "" if result is None else result.text


@dataclass(frozen=True, slots=True)
class MadeCalls:
    """The opening (a capability-1 instance's ``get_data``, None elsewhere) and all other calls in order."""

    opening: MadeCall | None
    calls: tuple[MadeCall, ...]

    @property
    def scored(self) -> tuple[MadeCall, ...]:
        return tuple(made for made in self.calls if made.scored)


def is_opening(instance: Instance, step: Step, first: bool) -> bool:
    """Whether a call step is the opening of a capability-1 instance (contract, "Opening").

    ``first`` says that no call came before it. A later ``get_data`` is a call like any other.
    """
    if step.opening:
        return True
    if instance.capability != 1 or not first or not isinstance(step.decision, CallTool):
        return False
    call = step.decision.call
    universe = instance.universe_id or instance.uuid
    return call.name == OPENING_TOOL and call.arguments.get("tool_universe_id") == universe


def made_calls(executed: ExecutedTrajectory) -> MadeCalls:
    """The calls of a trajectory with their tables."""
    instance = executed.trajectory.instance
    opening: MadeCall | None = None
    calls: list[MadeCall] = []
    for index, step in enumerate(executed.trajectory.steps):
        if not isinstance(step.decision, CallTool):
            continue
        call = step.decision.call
        table = executed.tables[index] if index < len(executed.tables) else None
        opens = is_opening(instance, step, opening is None and not calls)
        made = MadeCall(
            number=0 if opens else len(calls) + 1,
            index=index,
            step=step,
            call=call,
            table=table,
            source=source_of(call.name),
            scored=not opens and (instance.capability == 1 or call.name != OPENING_TOOL),
        )
        if opens:
            opening = made
        else:
            calls.append(made)
    return MadeCalls(opening=opening, calls=tuple(calls))
