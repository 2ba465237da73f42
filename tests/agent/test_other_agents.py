"""Agents of other people: a plug-in and a command, in the stepper, in the batch and in the debugger's timeline."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from agent_toy import ToyEnvironment, instance

import sessions.agent.plugin as plugin
from sessions.agent import AgentFailure, run_agent
from sessions.agent.command import CommandAgent
from sessions.agent.plugin import PluginAgent, plugin_agent
from sessions.store import Store
from sessions.timeline import Timeline
from sessions.trajectory import Answer, CallTool, Decision, GiveUp, Message, Trajectory
from toolenv.errors import DataError
from toolenv.model import Instance, Json, ToolCall, ToolSpec
from vakra_tui.cli import main

HERE = Path(__file__).parent
COMMAND = shlex.join([sys.executable, str(HERE / "echo_agent.py")])


class EasyAgent:
    """Calls the first tool that needs nothing, then answers with what it gave."""

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        done = [step for step in trajectory.steps if not step.opening]
        easy = [tool.name for tool in tools if not tool.input_schema.get("required")]
        if not done and easy:
            return CallTool(call=ToolCall(name=easy[0], arguments={}))
        return Answer(text=done[-1].result.text[:200] if done and done[-1].result else "I cannot answer.")


def make_easy(instance: Instance, options: Mapping[str, Json]) -> EasyAgent:
    assert options["model"] in (None, "m1")
    return EasyAgent()


def make_broken(instance: Instance, options: Mapping[str, Json]) -> Any:
    class Broken:
        async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
            raise ZeroDivisionError("inside the plug-in")

    return Broken()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plug-ins, as installed packages would declare them."""
    sys.modules["agents_of_the_tests"] = sys.modules[__name__]
    found = [
        EntryPoint(name=name, value=f"agents_of_the_tests:make_{name}", group=plugin.GROUP)
        for name in ("easy", "broken", "missing")
    ]
    monkeypatch.setattr(plugin, "entry_points", lambda group: found if group == plugin.GROUP else [])


def both(installed: None) -> list[Any]:
    return [plugin_agent("easy", model="m1"), CommandAgent(COMMAND)]


async def test_both_ways_run_in_the_stepper(installed: None) -> None:
    for agent in both(installed):
        environment = ToyEnvironment()
        done = await run_agent(instance(), agent, environment)
        assert done.status == "answered", done.detail
        assert environment.session.made == [("list_teams", {})] and environment.session.closed
        assert "list_teams" in done.prediction.answer
        await agent.aclose()


async def test_both_ways_run_in_the_debugger(installed: None) -> None:
    """The wheel is handed to them, they are asked again from the past, and a person goes on."""
    for agent in both(installed):
        task = instance()
        timeline = Timeline(task, ToyEnvironment(), agent.driver(task))
        first = await timeline.step()
        assert first is not None and first.actor == "agent"
        await timeline.run()
        assert timeline.finished
        timeline.go_to(0)
        again = await timeline.ask_again()
        assert again is not None and again.decision == first.decision and len(timeline.tree.branches) == 2
        await timeline.decide(Answer(text="by hand"))
        assert timeline.trajectory.answer == "by hand"
        await timeline.close()
        await agent.aclose()


@pytest.mark.parametrize("way", ["easy", f"command:{COMMAND}"])
def test_both_ways_run_in_the_batch(installed: None, tmp_path: Path, way: str) -> None:
    out, db, made = tmp_path / "r.json", f"sqlite:///{tmp_path / 's.sqlite'}", tmp_path / "made"
    arguments = ["--batch", "--agent", way, "--db", db, "--out", str(out), "--predictions-out", str(made), "--quiet"]
    limits = ["--capability", "2", "--limit", "5"]
    assert main([*arguments, *limits]) == 0
    report = json.loads(out.read_text())
    assert [line["status"] for line in report["instances"]] == ["scored"] * 5
    records = [record for file in made.rglob("*.json") for record in json.loads(file.read_text())]
    assert len(records) == 5 and all(record["status"] == "success" for record in records)
    with_store = Store.open(db)
    stored = with_store.sessions(kind="batch", limit=50).items
    assert len(stored) == 5 and all(session.run == report["run"]["name"] for session in stored)
    with_store.close()


async def test_a_broken_plug_in_ends_one_instance(installed: None) -> None:
    done = await run_agent(instance(), plugin_agent("broken"), ToyEnvironment())
    assert done.status == "agent" and done.failed and "inside the plug-in" in done.detail


async def test_a_decision_that_is_none(installed: None) -> None:
    class Odd:
        async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> str:
            return "hello"

    done = await run_agent(instance(), PluginAgent("odd", lambda task, options: Odd()), ToyEnvironment())
    assert done.status == "agent" and "hello" in done.detail


NO_DECISIONS = [
    Answer(text=None),  # type: ignore[arg-type]
    Answer(text=5),  # type: ignore[arg-type]
    GiveUp(reason=None),  # type: ignore[arg-type]
    CallTool(call=None),  # type: ignore[arg-type]
    CallTool(call=ToolCall(name=None, arguments={})),  # type: ignore[arg-type]
    CallTool(call=ToolCall(name="x", arguments=[1])),  # type: ignore[arg-type]
    CallTool(call=ToolCall(name="x", arguments={"a": object()})),
    CallTool(call=ToolCall(name="x", arguments={"a": float("nan")})),
    Message(role="bogus", text="x"),  # type: ignore[arg-type]
    None,
]


@pytest.mark.parametrize("number", range(len(NO_DECISIONS)))
async def test_decisions_of_wrong_parts_end_one_instance(number: int) -> None:
    class Odd:
        requests = 5

        async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Any:
            return NO_DECISIONS[number]

    done = await run_agent(instance(), PluginAgent("odd", lambda task, options: Odd()), ToyEnvironment())
    assert done.status == "agent" and "gave no decision" in done.detail and done.requests == ()


async def test_an_agent_that_breaks_when_it_is_closed_leaves_no_session_open() -> None:
    class Odd:
        async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Any:
            return Answer(text="nine")

        async def close(self) -> None:
            raise RuntimeError("cannot be closed")

    environment = ToyEnvironment()
    done = await run_agent(instance(), PluginAgent("odd", lambda task, options: Odd()), environment)
    assert done.status == "agent" and "cannot be closed" in done.detail
    assert environment.session.closed


HALF = "a\ud83d b"
HALVES = [
    Answer(text=HALF),
    GiveUp(reason=HALF),
    Message(role="assistant", text=HALF),
    CallTool(call=ToolCall(name=HALF, arguments={HALF: [HALF]}, raw_arguments=HALF)),
]


@pytest.mark.parametrize("number", range(len(HALVES)))
async def test_half_characters_of_other_agents_can_be_stored(number: int, tmp_path: Path) -> None:
    class Odd:
        async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Any:
            return HALVES[number] if len(trajectory.steps) < 2 else Answer(text=HALF)

    done = await run_agent(instance(), PluginAgent("odd", lambda task, options: Odd()), ToyEnvironment())
    assert not done.failed
    assert msgspec.json.encode(done.prediction) and msgspec.json.encode(done.executed.trajectory.steps)


def test_unknown_agents(installed: None) -> None:
    with pytest.raises(DataError, match="easy"):
        plugin_agent("nobody")
    with pytest.raises(DataError, match="cannot be loaded"):
        plugin_agent("missing")
    assert main(["--batch", "--agent", "nobody", "--db", "sqlite://", "--quiet"]) == 2
    assert main(["--batch", "--agent", "react", "--db", "sqlite://", "--quiet"]) == 2


@pytest.mark.parametrize(("mode", "word"), [("noise", "no decision"), ("dies", "ended"), ("silent", "did not decide")])
async def test_commands_that_misbehave(mode: str, word: str) -> None:
    agent = CommandAgent(f"{COMMAND} {mode}", reply_seconds=0.5 if mode == "silent" else 60)
    done = await run_agent(instance(), agent, ToyEnvironment())
    assert done.status == "agent" and word in done.detail
    await agent.aclose()


def documented(word: str) -> str:
    """The example of the page on agents that holds ``word``."""
    page = (HERE.parent.parent / "docs" / "agents.md").read_text(encoding="utf-8")
    (found,) = (part.split("```")[0] for part in page.split("```python\n")[1:] if word in part.split("```")[0])
    return found


async def test_the_plug_in_of_the_documentation() -> None:
    names: dict[str, Any] = {}
    exec(compile(documented("def make("), "documented", "exec"), names)
    environment = ToyEnvironment()
    done = await run_agent(instance(), PluginAgent("mine", names["make"]), environment)
    assert done.status == "gave up" and environment.session.made == [("list_teams", {})]


async def test_the_agent_of_the_documentation(tmp_path: Path) -> None:
    program = tmp_path / "documented.py"
    program.write_text(documented("sys.stdin"), encoding="utf-8")
    environment = ToyEnvironment()
    agent = CommandAgent(shlex.join([sys.executable, str(program)]))
    done = await run_agent(instance(), agent, environment)
    await agent.aclose()
    assert done.status == "gave up" and environment.session.made == [("list_teams", {})]


async def test_a_command_that_is_not_there() -> None:
    agent = CommandAgent("/no/such/program")
    with pytest.raises(AgentFailure, match="cannot be started"):
        await agent.driver(instance()).next(Trajectory(instance=instance()), ())


async def test_processes_are_used_again() -> None:
    agent = CommandAgent(COMMAND)
    for _ in range(3):
        assert (await run_agent(instance(), agent, ToyEnvironment())).status == "answered"
    assert len(agent._idle) == 1
    await agent.aclose()
