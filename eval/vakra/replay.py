"""The released execution plan: one session a domain, every prediction in file order, then every ground truth.

The session keeps its tool universe, its handles and their numbers from one dialogue to the next; that is what makes
rows E2, E3 and E4 of the contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.vakra.coercion import released_arguments
from eval.vakra.records import TurnRecord
from toolenv.environment import TableView, ToolSession
from toolenv.errors import DataError, EnvironmentFailure, NotRecorded
from toolenv.model import Json, ToolCall, ToolResult, ToolSpec, Value
from toolenv.schema import refusal


class ReplayedCall(Value, frozen=True):
    """One call of a turn. ``result`` is None where it was not executed (it has no name, or it is left to the file)."""

    call: ToolCall
    arguments: Mapping[str, Json]
    result: ToolResult | None = None
    table: TableView | None = None

    @property
    def text(self) -> str:
        """What exact match compares: the response, or of an unknown tool its name alone.

        The release has one sentence for an unknown tool whatever the session's state; sentences of other environments
        may name that state.
        """
        if self.result is None:
            return ""
        return f"unknown tool: {self.call.name}" if self.result.error_kind == "unknown_tool" else self.result.text


class ReplayedTurn(Value, frozen=True):
    """A turn that has calls, executed."""

    calls: tuple[ReplayedCall, ...]

    @property
    def texts(self) -> list[str]:
        """The responses in order, without a place for calls that were not executed."""
        return [made.text for made in self.calls if made.result is not None]


class NotReplayed(Value, frozen=True):
    """A dialogue's side that could not be executed: the environment's reason."""

    reason: str
    recorded: bool
    """True where a recorded environment does not hold one of the calls."""


Replayed = tuple[ReplayedTurn, ...] | NotReplayed


class Replayer:
    """Replays the sides of dialogues in one session. ``capability`` decides what is left to the file."""

    def __init__(self, session: ToolSession, capability: int, listed: Sequence[ToolSpec]) -> None:
        self._session = session
        self._capability = capability
        self._specs = {spec.name: spec for spec in listed}
        self._offered: Mapping[str, ToolSpec] | None = self._specs
        session.on_tools_changed(self._forget_offered)

    async def side(self, turns: Sequence[TurnRecord], *, is_truth: bool) -> Replayed:
        """Execute the turns that have calls, in order. A failing environment ends this side only where it can."""
        done: list[ReplayedTurn] = []
        try:
            for turn in turns:
                if turn.calls is not None:
                    done.append(ReplayedTurn(calls=tuple([await self._call(call, is_truth) for call in turn.calls])))
        except NotRecorded as error:
            return NotReplayed(reason=str(error), recorded=True)
        except (EnvironmentFailure, DataError) as error:
            return NotReplayed(reason=str(error), recorded=False)
        return tuple(done)

    async def _call(self, call: ToolCall, is_truth: bool) -> ReplayedCall:
        if not call.name or (is_truth and self._capability == 4 and is_retriever(call.name)):
            return ReplayedCall(call=call, arguments=call.arguments)
        spec = self._specs.get(call.name)
        arguments = released_arguments(spec, call.arguments)
        if call.name == "get_data" and self._capability != 1 and spec is None:
            result = ToolResult(text="Unknown tool: get_data", is_error=True, failed=True, error_kind="unknown_tool")
            return ReplayedCall(call=call, arguments=arguments, result=result)
        result = await self._refused(call.name, arguments) or await self._session.call(call.name, arguments)
        table = await self._session.table(result.handle) if result.handle is not None else None
        return ReplayedCall(call=call, arguments=arguments, result=result, table=table)

    async def _refused(self, name: str, arguments: Mapping[str, Json]) -> ToolResult | None:
        """The refusal of arguments that the published schema forbids, whatever the session would accept (S13)."""
        if self._capability != 1:
            return None
        if self._offered is None:
            self._offered = {spec.name: spec for spec in await self._session.list_tools()}
        spec = self._offered.get(name)
        text = refusal(spec, arguments) if spec is not None else None
        if text is None:
            return None
        return ToolResult(text=text, is_error=True, failed=True, error_kind="refused_arguments")

    def _forget_offered(self) -> None:
        self._offered = None


def is_retriever(name: str) -> bool:
    """Whether the release takes a tool for a document retriever."""
    return "query_" in name
