"""The ReAct harness: asks a model for the next step, and makes a decision of whatever comes back.

Behaviour follows VAKRA's fixed baseline (contract, section 4, "Runner", with the faults listed there put right); what
real endpoints do beyond the protocol ends in a decision or in a classified end, never in a lost instance.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sessions.agent import prompt
from sessions.agent.arguments import read_arguments, whole_characters
from sessions.agent.failure import AgentFailure
from sessions.agent.messages import Turn, grouped, messages_of, offered
from sessions.agent.names import Names
from sessions.agent.settings import AgentSettings
from sessions.agent.shortlist import shortlisted
from sessions.agent.status import ended
from sessions.agent.texts import call_in_text, calls_in_text, said
from sessions.store.records import RequestRecord
from sessions.trajectory import Actor, Answer, CallTool, Decision, GiveUp, Message, Trajectory
from toolenv.model import Json, ToolCall, ToolSpec, Value

if TYPE_CHECKING:
    from sessions.agent.vectors import Nearness
    from toolenv.openai_compat import ChatReply, Client, EndpointError
    from toolenv.openai_compat.replies import RawToolCall
    from toolenv.openai_compat.streams import DeltaListener

SENT_AGAIN = 2
"""How often a completion is asked for anew whose stream broke off."""

SHRUNK = 2
"""How often a conversation that is too long is sent again with shorter excerpts of results."""

_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "refusal"})
_TOO_MANY_TOOLS = re.compile(
    r"tools\b(?!\W?\d).{0,60}(too long|too many|at most|maximum|exceed)|too many (tools|functions)", re.I
)
_BROKE_OFF = frozenset({"timeout", "unreachable", "malformed", "server"})


class _Offer(Value, frozen=True):
    """The tools of one request: the names of all, and those that are sent."""

    names: Names
    listed: tuple[ToolSpec, ...]
    sent: tuple[ToolSpec, ...]
    note: str = ""


class ReactDriver:
    """Decides the steps of one instance by asking a model.

    ``requests`` keeps, for every completion, request and response as they were, the tools offered, and what was odd.
    ``on_delta`` hears fragments as they arrive where completions are streamed. ``turns`` are the completions of a
    driver that this one follows. Raises ``AgentFailure`` when no completion can be had; the next call then asks anew.
    """

    actor: Actor = "agent"

    def __init__(
        self,
        client: Client,
        settings: AgentSettings,
        *,
        on_delta: DeltaListener | None = None,
        nearness: Nearness | None = None,
        turns: Sequence[Turn] = (),
    ) -> None:
        self.client = client
        self.settings = settings
        self.on_delta = on_delta
        self.requests: list[RequestRecord] = []
        self._nearness = nearness
        self._turns: list[Turn] = list(turns)
        self._given: dict[int, int] = {}
        self._asked_at: dict[int, int] = {}
        self._offers: list[tuple[Sequence[ToolSpec], _Offer]] = []
        self._before: tuple[str, ...] | None = None
        self._notes: list[str] = []
        self._notes_on_tools = 0
        self._started: float | None = None
        self._tokens = 0
        self._cost = 0.0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The completions so far that made calls or were cut off."""
        return tuple(self._turns)

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        """The next decision: another call of the last completion, or what a new completion says."""
        pending = self._pending(trajectory)
        if pending is not None:
            return CallTool(call=pending)
        limit = self._over_limit(trajectory)
        if limit is not None:
            return limit
        return await self._asked(trajectory, tools)

    # --- what is left of the last completion -------------------------------------------------------------------------

    def _pending(self, trajectory: Trajectory) -> ToolCall | None:
        """A call of a completion whose earlier calls are the last steps; each call is given once."""
        at = len(trajectory.steps)
        for index in range(len(self._turns) - 1, -1, -1):
            turn = self._turns[index]
            done = at - turn.at
            if not 0 < done < len(turn.calls) or self._given.get(index) != done:
                continue
            steps = trajectory.steps[turn.at :]
            if all(
                isinstance(step.decision, CallTool) and step.actor == "agent" and step.decision.call == call
                for step, call in zip(steps, turn.calls, strict=False)
            ):
                self._given[index] = done + 1
                return turn.calls[done]
        return None

    def _over_limit(self, trajectory: Trajectory) -> GiveUp | None:
        settings = self.settings
        taken = sum(group[0].actor == "agent" for group, _ in grouped(trajectory.steps, self._turns))
        if taken >= settings.max_turns:
            return ended("turn limit", f"no answer after {settings.max_turns} completions")
        now = time.monotonic()
        self._started = now if self._started is None else self._started
        if settings.max_seconds is not None and now - self._started >= settings.max_seconds:
            return ended("time limit", f"no answer after {settings.max_seconds:g} seconds")
        if settings.max_tokens_spent is not None and self._tokens >= settings.max_tokens_spent:
            return ended("token limit", f"{self._tokens} of {settings.max_tokens_spent} tokens are spent")
        if settings.max_cost_spent is not None and self._cost >= settings.max_cost_spent:
            return ended("cost limit", f"{self._cost:.4g} of {settings.max_cost_spent:g} in cost is spent")
        return None

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _asked(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        from toolenv.openai_compat import EndpointError

        self._notes = []
        offer = await self._offer(trajectory, tools)
        limit, broken, shrunk = self.settings.max_result_characters, 0, 0
        while True:
            messages = messages_of(trajectory, self._turns, offer.names, offer.listed, self.settings, limit)
            try:
                reply = await self._reply(trajectory, messages, offer)
            except EndpointError as error:
                self._keep_failure(trajectory, offer, error)
                if error.kind == "timeout" and (over := self._over_limit(trajectory)) is not None:
                    return over
                if error.kind == "too_long":
                    if shrunk >= SHRUNK:
                        return ended("context exceeded", str(error))
                    shrunk, limit = shrunk + 1, max(500, limit // 4)
                    self._notes.append(f"the conversation was too long; results were cut to {limit} characters")
                    continue
                if self.settings.stream and error.kind in _BROKE_OFF and "had begun" in str(error):
                    broken += 1
                    if broken <= SENT_AGAIN:
                        continue
                raise _failure(error, len(offer.sent)) from error
            decision = self._understood(trajectory, reply, offer)
            self._keep(trajectory, offer, reply, decision)
            if decision is not None:
                return decision
            broken += 1
            if broken > SENT_AGAIN:
                raise AgentFailure(
                    f"The endpoint's stream broke off {broken} times before it said how the completion ends.",
                    kind="endpoint",
                )

    async def _reply(self, trajectory: Trajectory, messages: Sequence[Json], offer: _Offer) -> ChatReply:
        settings = self.settings
        at = len(trajectory.steps)
        again = self._asked_at.get(at, 0)
        self._asked_at[at] = again + 1
        parameters: dict[str, Any] = {
            "temperature": settings.temperature,
            "seed": None if settings.seed is None else settings.seed + again,
            "max_tokens": settings.max_tokens,
        }
        if offer.sent and not settings.parallel:
            parameters["parallel_tool_calls"] = False
        listener = (self.on_delta or _unheard) if settings.stream else None
        left = None
        if settings.max_seconds is not None and self._started is not None:
            left = max(0.05, settings.max_seconds - (time.monotonic() - self._started))
        return await self.client.chat(
            messages,
            parameters=parameters,
            tools=offered(offer.sent, offer.names),
            deadline_s=left,
            on_delta=listener,
            probe=False,
        )

    async def _offer(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> _Offer:
        """What is offered now; worked out once for every list that the environment gives."""
        offer = next((offer for listed, offer in self._offers if listed is tools or listed == tools), None)
        if offer is None:
            limit = self.settings.max_tools or self.client.settings.dialect.max_tools
            vectors = await self._similarities(trajectory, tools) if len(tools) > limit else None
            sent = tuple(shortlisted(trajectory.instance, tools, limit, vectors))
            note = "" if len(tools) <= limit else prompt.missing_tools(len(tools), limit)
            offer = _Offer(names=Names(tool.name for tool in tools), listed=tuple(tools), sent=sent, note=note)
            self._offers.append((tools, offer))
        if offer.note:
            self._notes.append(offer.note)
        self._notes += [f"{own!r} is sent as {made!r}" for own, made in list(offer.names.changed.items())[:20]]
        now = tuple(tool.name for tool in offer.listed)
        if self._before is not None and now != self._before:
            change = prompt.listed_change(self._before, now)
            self._notes += [change] if change else []
        self._before = now
        self._notes_on_tools = len(self._notes)
        return offer

    async def _similarities(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> list[float] | None:
        """How near each tool is to the question; None where no vectors are wanted or to be had."""
        from toolenv.openai_compat import EndpointError

        if self._nearness is None:
            return None
        try:
            return await self._nearness.of(trajectory.instance, tools)
        except EndpointError as error:
            self._notes.append(f"no vectors for the shortlist, words alone decide ({error})")
            return None

    # --- understanding -----------------------------------------------------------------------------------------------

    def _understood(self, trajectory: Trajectory, reply: ChatReply, offer: _Offer) -> Decision | None:
        """What a completion decides; None where its stream broke off and it is worth asking again."""
        completion = reply.completion
        self._tokens += reply.usage.tokens
        self._cost += reply.usage.cost or 0.0
        finish = (completion.finish_reason or "").lower()
        if finish == "cut":
            self._notes.append("the stream broke off before it said how the completion ends")
            return None
        content = said(completion.content)
        calls = [self._call(raw, offer) for raw in completion.tool_calls]
        if finish in _LENGTH:
            return self._cut_off(trajectory, content.text, calls, bool(completion.reasoning or content.reasoning))
        if not calls:
            found = call_in_text(completion.content, {tool.name for tool in offer.listed})
            if found is not None:
                if not self.settings.run_text_calls:
                    return ended("tool call written as text", found)
                calls = [self._written_call(call.name, call.arguments, offer) for call in calls_in_text(content.text)]
                if not calls:
                    return ended("tool call written as text", found)
                self._notes.append("the calls were written as text and carried out, as the settings say")
        if not calls:
            if content.text.strip():
                return Answer(text=content.text.strip())
            if finish in _FILTERED:
                return ended("filtered", f"the endpoint ended the completion with {finish!r}")
            what = "only reasoning" if completion.reasoning or content.reasoning else "nothing"
            return ended("empty reply", f"the completion holds {what} (finish reason {finish or 'none'})")
        most = self.settings.max_calls if self.settings.parallel else 1
        if len(calls) > most:
            self._notes.append(f"{len(calls) - most} further calls of the completion were left out")
            calls = calls[:most]
        turn = Turn(at=len(trajectory.steps), content=content.text, calls=tuple(calls))
        self._given[len(self._turns)] = 1
        self._turns.append(turn)
        return CallTool(call=calls[0])

    def _cut_off(self, trajectory: Trajectory, text: str, calls: list[ToolCall], reasoned: bool) -> Decision:
        """Nothing of a completion that was cut off at the token limit counts."""
        if not calls and not text.strip():
            if reasoned:
                return ended("no answer (budget spent on reasoning)", "raise max_tokens to leave room for an answer")
            return ended("empty reply", "the completion was cut off before it said anything")
        before = 0
        for step in reversed(trajectory.steps):
            if step.actor != "agent" or not isinstance(step.decision, Message):
                break
            before += 1
        if before + 1 >= self.settings.max_truncations:
            return ended("truncated", f"{before + 1} completions in a row were cut off at the token limit")
        self._turns.append(Turn(at=len(trajectory.steps), content=text, cut=tuple(calls)))
        names = ", ".join(call.name for call in calls)
        what = f"; not run: {names}" if names else ""
        return Message(role="assistant", text=f"{text}\n[cut off at the token limit{what}]".strip())

    def _call(self, raw: RawToolCall, offer: _Offer) -> ToolCall:
        return self._written_call(raw.name, raw.arguments, offer, raw.id)

    def _written_call(self, written: str, arguments: Json, offer: _Offer, identity: str = "") -> ToolCall:
        name = offer.names.read(whole_characters(written))
        read = read_arguments(arguments)
        self._notes += [note for note in (name.note, read.note) if note]
        if read.raw is not None:
            self._notes.append(f"invalid arguments of {name.name}: not one JSON object")
        return ToolCall(name=name.name, arguments=read.arguments, raw_arguments=read.raw, id=identity or None)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def _keep(self, trajectory: Trajectory, offer: _Offer, reply: ChatReply, decision: Decision | None) -> None:
        usage: dict[str, Json] = {
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "estimated": reply.usage.estimated,
            "cost": reply.usage.cost,
            "finish_reason": reply.finish_reason,
        }
        error = decision.reason if isinstance(decision, GiveUp) else ""
        if decision is None:
            error = "the stream broke off"
        self._append(trajectory, offer, reply.exchange, usage, error)

    def _keep_failure(self, trajectory: Trajectory, offer: _Offer, error: EndpointError) -> None:
        if error.exchange is not None:
            self._append(trajectory, offer, error.exchange, {}, str(error))

    def _append(self, trajectory: Trajectory, offer: _Offer, exchange: Any, usage: dict[str, Json], error: str) -> None:
        details: dict[str, Json] = {
            **usage,
            "attempts": exchange.attempts,
            "waited_s": exchange.waited_s,
            "failures": list(exchange.failures),
            "tools_listed": len(offer.listed),
            "tools_sent": [tool.name for tool in offer.sent],
            "notes": list(self._notes),
            "notes_on_tools": self._notes_on_tools,
        }
        self.requests.append(
            RequestRecord(
                kind="agent",
                model=self.client.settings.model,
                request=exchange.request,
                response=exchange.response,
                usage=details,
                duration_s=exchange.duration_s,
                branch=0,
                position=len(trajectory.steps),
                error=error,
                created_at=time.time(),
            )
        )


def _failure(error: EndpointError, tools: int) -> AgentFailure:
    text = str(error)
    if error.kind == "refused" and "content" in text and ("null" in text.lower() or "empty" in text.lower()):
        text += ' If it wants "" or null beside tool calls, set empty_content in VAKRA_TUI_AGENT_DIALECT.'
    if error.kind == "refused" and _TOO_MANY_TOOLS.search(text):
        text += f" {tools} tools were sent; set max_tools in VAKRA_TUI_AGENT_SETTINGS to what it takes."
    return AgentFailure(text, kind="budget" if error.kind == "budget" else "endpoint")


def _unheard(kind: str, text: str) -> None:
    """A stream that nobody watches is put together all the same."""
