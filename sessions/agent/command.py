"""An agent that is a command of one's own: one JSON object a line, on its standard input and output.

Every request is whole, so a command needs no memory: the instance, the tools, and every step so far. It answers each
line with one line, a decision. A process is kept for the length of an instance and then for the next one.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from sessions.agent.arguments import read_arguments
from sessions.agent.child import Child
from sessions.agent.decisions import whole
from sessions.agent.failure import AgentFailure
from sessions.agent.variation import AS_SET, Variation
from sessions.driver import Driver
from sessions.trajectory import Actor, Answer, CallTool, Decision, GiveUp, Message, Step, Trajectory
from toolenv.errors import DataError
from toolenv.model import Instance, Json, ToolCall, ToolSpec

PROTOCOL = "vakra-tui/agent@1"
REPLY_SECONDS = 600.0
LONGEST_NAME = 120
"""Characters of a command that messages show."""
NAME_BEGINNING = 40
"""Of those, the ones kept of its beginning; the rest is its end, where the script and its options stand."""


def request_line(trajectory: Trajectory, tools: Sequence[ToolSpec], options: Mapping[str, Json]) -> dict[str, Json]:
    """What a command is told; ``docs/agents.md`` describes it."""
    instance = trajectory.instance
    return {
        "protocol": PROTOCOL,
        "instance": {
            "uuid": instance.uuid,
            "capability": instance.capability,
            "domain": instance.domain,
            "query": instance.query,
            "policy": instance.policy,
            "context": [{"query": turn.query, "answer": turn.answer} for turn in instance.turns[:-1]],
        },
        "options": dict(options),
        "tools": [
            {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.input_schema)}
            for tool in tools
        ],
        "steps": [_step(step) for step in trajectory.steps],
    }


def _step(step: Step) -> dict[str, Json]:
    decision = step.decision
    if isinstance(decision, CallTool):
        shown: dict[str, Json] = {"call": {"name": decision.call.name, "arguments": dict(decision.call.arguments)}}
        if decision.call.raw_arguments is not None:
            shown["call"]["raw_arguments"] = decision.call.raw_arguments
        if step.result is not None:
            result = step.result
            shown["result"] = {"text": result.text, "is_error": result.is_error, "failed": result.failed}
    elif isinstance(decision, GiveUp):
        shown = {"give_up": decision.reason}
    else:
        shown = {"answer" if isinstance(decision, Answer) else "message": decision.text}
    return {"by": step.actor, "opening": step.opening, **shown}


def decision_of(line: bytes, who: str) -> Decision:
    """The decision on a line: ``{"call": {"name", "arguments"}}``, ``{"answer"}``, ``{"give_up"}`` or ``{"message"}``.

    Raises ``AgentFailure`` for anything else.
    """
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    call = said.get("call") if isinstance(said, dict) else None
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        read = read_arguments(call.get("arguments"))
        return whole(CallTool(call=ToolCall(name=call["name"], arguments=read.arguments, raw_arguments=read.raw)))
    if isinstance(said, dict) and isinstance(said.get("answer"), str):
        return whole(Answer(text=said["answer"]))
    if isinstance(said, dict) and isinstance(said.get("give_up"), str):
        return whole(GiveUp(reason=said["give_up"]))
    if isinstance(said, dict) and isinstance(said.get("message"), str):
        return whole(Message(role="assistant", text=said["message"]))
    shown = line[:200].decode("utf-8", "replace").strip()
    raise AgentFailure(f"{who} said {shown!r}, which is no decision.", kind="agent")


class CommandAgent:
    """Starts the command as often as instances are under way at a time. Raises ``DataError`` for no command.

    ``logs`` is a folder for what the processes print on standard error, a file for each that runs at a time; without
    one standard error is left alone.
    """

    def __init__(
        self,
        command: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        reply_seconds: float = REPLY_SECONDS,
        logs: Path | None = None,
    ) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise DataError(f"--agent command: {command!r} cannot be read ({error})") from None
        if not self.words:
            raise DataError("--agent command: needs a program after the colon")
        self.name = "command"
        self.model = model
        self.options: dict[str, Json] = {"model": model, "base_url": base_url}
        self.reply_seconds = reply_seconds
        self._logs = logs
        self._idle: list[Child] = []
        self._kept_in: set[Path] = set()

    @property
    def who(self) -> str:
        """The agent as messages name it: its command, since the program alone may be an interpreter.

        Of a command longer than ``LONGEST_NAME`` the middle is left out.
        """
        line = " ".join(shlex.join(self.words).split())
        if len(line) > LONGEST_NAME:
            line = f"{line[:NAME_BEGINNING]}\u2026{line[NAME_BEGINNING + 1 - LONGEST_NAME :]}"
        return f"The agent {line!r}"

    def identity(self) -> Mapping[str, Json]:
        return {"agent": "command", "command": list(self.words), **self.options}

    @property
    def usual(self) -> Variation:
        return Variation(model=self.model)

    def driver(self, instance: Instance, *, varied: Variation = AS_SET, after: Driver | None = None) -> CommandDriver:
        return CommandDriver(self, {**self.options, **varied.options()})

    async def borrowed(self) -> Child:
        """A process of one's own. Raises ``AgentFailure`` where the command cannot be started."""
        while self._idle:
            child = self._idle.pop()
            if child.runs:
                return child
            await self.end(child)
        log = self._free_log()
        try:
            return await Child.start(self.words, log)
        except (OSError, ValueError) as error:
            self._forget_log(log)
            raise AgentFailure(f"{self.who} cannot be started: {error}.", kind="agent") from error

    def give_back(self, child: Child) -> None:
        self._idle.append(child)

    async def end(self, child: Child) -> None:
        """End a process that is not needed any more."""
        try:
            await child.end()
        finally:
            self._forget_log(child.log_path)

    async def aclose(self) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(self.end(child) for child in idle))

    def _free_log(self) -> Path | None:
        """A file that no running process writes to."""
        if self._logs is None:
            return None
        names = (self._logs / f"agent-{number}.log" for number in range(1, len(self._kept_in) + 2))
        free = next(path for path in names if path not in self._kept_in)
        self._kept_in.add(free)
        return free

    def _forget_log(self, path: Path | None) -> None:
        if path is not None:
            self._kept_in.discard(path)


class CommandDriver:
    """Asks one process of a command for the steps of an instance. One that failed is ended and not asked again."""

    actor: Actor = "agent"

    def __init__(self, agent: CommandAgent, options: Mapping[str, Json]) -> None:
        self._agent = agent
        self._options = options
        self._child: Child | None = None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        from sessions.agent.arguments import whole_characters

        agent = self._agent
        who = agent.who
        if self._child is None:
            self._child = await agent.borrowed()
        line = json.dumps(whole_characters(request_line(trajectory, tools, self._options))).encode() + b"\n"
        try:
            async with asyncio.timeout(agent.reply_seconds):
                return decision_of(await _exchanged(self._child, line, who), who)
        except TimeoutError:
            said = await self._give_up()
            words = f"{who} did not decide within {agent.reply_seconds:g} seconds.{said}"
            raise AgentFailure(words, kind="agent") from None
        except AgentFailure as error:
            said = await self._give_up()
            raise AgentFailure(f"{error}{said}", kind=error.kind) from error
        except BaseException:
            # Whoever was interrupted between question and answer would read the answer to another question.
            await self._give_up()
            raise

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._agent.give_back(child)

    async def _give_up(self) -> str:
        """End the process; what it said last."""
        child, self._child = self._child, None
        if child is None:
            return ""
        await self._agent.end(child)
        return child.last_words()


async def _exchanged(child: Child, line: bytes, who: str) -> bytes:
    try:
        reply = await child.answered(line)
    except (OSError, ValueError) as error:
        raise AgentFailure(f"{who} cannot be talked to ({error}).", kind="agent") from error
    if not reply.endswith(b"\n"):
        raise AgentFailure(f"{who} ended before it decided.", kind="agent")
    return reply
