"""An agent at a person's side: proposals taken, edited and rejected; asking again; what its model was sent and said."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from agent_endpoint import Body, Endpoint, calls, failure, results_of, text, tools_of
from textual.pilot import Pilot

sys.path.insert(0, str(Path(__file__).parent.parent / "screen"))

from screen_reading import shown, squeezed, until, until_settled, until_shown

import sessions.agent.plugin as plugin
from sessions.agent import AgentFailure, Variation
from sessions.agent.command import LONGEST_NAME, CommandAgent
from sessions.agent.prompt import rejection
from sessions.trajectory import Answer, CallTool, Decision, Message, Trajectory
from toolenv.model import Instance, Json, ToolCall, ToolSpec
from vakra_tui.app import VakraApp
from vakra_tui.cli import main
from vakra_tui.options import Options
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.state.lines import plain
from vakra_tui.state.memory import Memory
from vakra_tui.state.panes.messages import messages_source
from vakra_tui.state.session import DebugSession
from vakra_tui.state.world import World
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.wiring import Wiring

THOUGHTS = "First [bold]this[/bold].\nThen \x1b[2Jthat."
WORD = "Rather the other one."
COMMAND = f"command:{shlex.join([sys.executable, str(Path(__file__).with_name('echo_agent.py'))])}"


def options(tmp_path: Path, endpoint: Endpoint, **more: Any) -> Options:
    given = {"capabilities": (3,), "agent": "react", "model": "m", "base_url": endpoint.base_url, **more}
    return Options(db=f"sqlite:///{tmp_path / 'store.sqlite'}", **given)


def model(body: Body) -> Body:
    """Calls the first tool with its required arguments as texts, then answers; what a person said is repeated."""
    if len(results_of(body)) < 1:
        function = body["tools"][0]["function"]
        names = function["parameters"].get("required", ())
        made = calls((function["name"], dict.fromkeys(names, "x")), content="I will look.")
    else:
        made = text(f"Done with seed {body.get('seed')} of {body['model']}.")
    said = [m["content"] for m in body["messages"] if m["role"] == "user"][1:]
    if said:
        made = text(f"You said: {said[-1]}")
    made["choices"][0]["message"]["reasoning_content"] = THOUGHTS
    return made


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("VAKRA_TUI_AGENT_SETTINGS", "VAKRA_TUI_AGENT_DIALECT", "VAKRA_TUI_AGENT_PRICES"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def session(tmp_path: Path, endpoint: Endpoint, **more: Any) -> AsyncIterator[DebugSession]:
    """A session on the first instance, put back to before its first step."""
    endpoint.default = model
    world = World(Wiring(options(tmp_path, endpoint, **more)), Memory(tmp_path / "memory.json"))
    world.open()
    opened = world.session(world.listing.entries[0])
    await opened.open()
    yield opened
    await opened.close()
    await world.close()


def decisions(opened: DebugSession) -> list[Any]:
    assert opened._timeline is not None
    return [step.decision for step in opened._timeline.steps]


async def test_nothing_runs_before_it_is_taken(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        offer = await opened.ask(0)
        assert isinstance(offer.decision, CallTool) and offer.number == 1 and decisions(opened) == []
        assert await opened.ask(0) == offer and len(endpoint.requests) == 1
        await opened.accept()
        assert decisions(opened) == [offer.decision]
        assert len(await opened.spoken(0)) == 1


async def test_an_edited_call_is_the_persons(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        offer = await opened.ask(0)
        assert isinstance(offer.decision, CallTool)
        call = ToolCall(name=offer.decision.call.name, arguments={"changed": "1"})
        await opened.decide_otherwise(CallTool(call=call))
        assert opened._timeline is not None and [step.actor for step in opened._timeline.steps] == ["human"]
        assert opened.wheel == "agent"
        await opened.ask(1)
        sent = endpoint.requests[-1]["messages"]
        assert [c["function"]["arguments"] for m in sent for c in m.get("tool_calls") or ()] == ['{"changed": "1"}']


async def test_a_rejected_proposal_leads_to_another(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        first = await opened.ask(0)
        second = await opened.reject(WORD)
        assert isinstance(first.decision, CallTool) and isinstance(second.decision, Answer)
        assert WORD in second.decision.text and first.decision.call.name in second.decision.text
        third = await opened.reject("Still not.")
        assert isinstance(third.decision, Answer) and "The answer" in third.decision.text
        assert [type(decision) for decision in decisions(opened)] == [Message, Message]
        assert opened.scene is not None and [row.number for row in opened.scene.rows if row.step] == [0, 0]
        assert third.number == 1


async def test_asking_again_varies_model_temperature_and_seed(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        await opened.ask(0)
        await opened.accept()
        await opened.ask(1)
        await opened.accept()
        assert opened.asked_here(1) == 1
        offer = await opened.ask_again(1, Variation(model="other", temperature=0.7, seed=5))
        body = endpoint.requests[-1]
        assert (body["model"], body["temperature"], body["seed"]) == ("other", 0.7, 5)
        assert offer.decision == Answer(text="Done with seed 5 of other.")
        assert opened.scene is not None and "other, temperature 0.7, seed 5" in opened.scene.branch
        await opened.accept()
        records = await opened.spoken(1)
        assert [record.model for record in records] == ["other"]
        tree = (await opened.branches())[-2:]
        await opened.look_at(tree[0][0])
        assert [record.model for record in await opened.spoken(1)] == ["m"]


async def test_what_was_said_is_there_in_a_reopened_session(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        await opened.ask(0)
        await opened.accept()
        await opened.ask(1)
        await opened.accept()
        before = [await opened.spoken(index) for index in (0, 1)]
    async with session(tmp_path, endpoint) as opened:
        after = [await opened.spoken(index) for index in (0, 1)]
    assert [[r.request for r in each] for each in after] == [[r.request for r in each] for each in before]
    assert [each[0].request for each in after] == endpoint.requests


async def test_parallel_calls_share_their_completion(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        endpoint.says(lambda body: calls((tools_of(body)[0], {}, "a"), (tools_of(body)[1], {}, "b")))
        await opened.take_wheel("agent", 0)
        await opened.run_to_end()
        spoken = [await opened.spoken(index) for index in range(3)]
        assert [record.position for each in spoken for record in each] == [0, 0, 2]


async def test_requests_of_a_run_to_a_breakpoint_are_kept(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        await opened.take_wheel("agent", 0)
        await opened.resume(0, stopped=True)
        keeper = opened._timeline.keeper if opened._timeline is not None else None
        assert keeper is not None and keeper.ref is not None
        kept = opened.world.wiring.store.requests(keeper.ref.id)
        assert [record.request for record in kept] == endpoint.requests


async def test_failed_requests_are_told_with_the_step(endpoint: Endpoint, tmp_path: Path) -> None:
    async with session(tmp_path, endpoint) as opened:
        endpoint.says(failure(400, "not [today]", type="invalid_request_error"))
        with pytest.raises(AgentFailure, match=r"not \[today\]"):
            await opened.ask(0)
        assert opened.scene is not None and opened.scene.working == ""
        await opened.ask(0)
        await opened.accept()
        told = await opened.spoken(0)
        assert [bool(record.error) for record in told] == [True, False]
        source = messages_source(told)
        lines = [plain(source.line(index)) for index in range(source.layout(100))]
        assert any("not [today]" in words for words in lines)
        assert not any("First" in words for words in lines)
        reasoning = next(index for index, words in enumerate(lines) if "reasoning" in words)
        assert source.toggle(reasoning)
        assert any("First [bold]this" in plain(source.line(index)) for index in range(source.layout(100)))


@pytest.mark.parametrize("way", ["easy", COMMAND])
async def test_other_peoples_agents_propose_and_are_asked_again(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A plug-in and a command: proposal, edit, rejection, asking again, and the wheel to the end."""
    sys.modules["asking_plugin_of_the_tests"] = sys.modules[__name__]
    entry = EntryPoint(name="easy", value="asking_plugin_of_the_tests:make_easy", group=plugin.GROUP)
    monkeypatch.setattr(plugin, "entry_points", lambda group: [entry] if group == plugin.GROUP else [])
    async with session(tmp_path, endpoint, agent=way, model="m1") as opened:
        offer = await opened.ask(0)
        assert isinstance(offer.decision, CallTool) and offer.request is None
        assert (await opened.reject("No.")).decision == offer.decision
        assert [type(decision) for decision in decisions(opened)] == [Message]
        await opened.accept()
        again = await opened.ask_again(1, Variation(model="m2", temperature=0.5, seed=3))
        assert again.decision == offer.decision
        await opened.accept()
        await opened.run_to_end()
        assert opened._timeline is not None and opened._timeline.finished
        assert await opened.spoken(1) == ()
    assert endpoint.requests == []


async def test_a_process_is_free_again_when_the_session_ends(endpoint: Endpoint, tmp_path: Path) -> None:
    world = World(Wiring(options(tmp_path, endpoint, agent=COMMAND)), Memory(tmp_path / "memory.json"))
    world.open()
    agent = world.agent
    assert isinstance(agent, CommandAgent)
    for entry in world.listing.entries[:2]:
        opened = world.session(entry)
        await opened.open()
        await opened.ask(0)
        await opened.ask_again(0, Variation(model="m2"))
        await opened.close()
        assert len(agent._idle) == 1
    await world.close()
    assert agent._idle == []


class EasyAgent:
    """Calls the first tool without needed arguments once, then answers."""

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        made = [step for step in trajectory.steps if step.actor == "agent"]
        easy = next((tool for tool in tools if not tool.input_schema.get("required")), tools[0])
        return Answer(text="done") if made else CallTool(call=ToolCall(name=easy.name, arguments={}))


def make_easy(instance: Instance, options: Mapping[str, Json]) -> EasyAgent:
    assert options["model"] in ("m1", "m2")
    return EasyAgent()


def test_what_a_model_is_told_of_a_rejection() -> None:
    assert rejection("The call f {} was not run", "Why?") == "The call f {} was not run; it was rejected. Why?"


# On screen -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def screen(
    tmp_path: Path, endpoint: Endpoint, size: tuple[int, int] = (120, 36), **more: Any
) -> AsyncIterator[tuple[VakraApp, Pilot[Any]]]:
    """The debugger on the first instance, at the place before its first step."""
    endpoint.default = model
    uuid = next(iter(Wiring(options(tmp_path, endpoint)).dataset.refs(capability=3))).uuid
    app = VakraApp(Wiring(options(tmp_path, endpoint, instances=(uuid,), **more)))
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen), "the debugger")
        await until(pilot, lambda: _settled(app), "its verdict")
        await pilot.press("0")
        await until(pilot, lambda: _at(app).on_branch == 1 and not _at(app).executed, "the branch")
        yield app, pilot


def _settled(app: VakraApp) -> bool:
    scene = app.screen.scene if isinstance(app.screen, DebuggerScreen) else None
    return scene is not None and scene.verdict is not None and not scene.working


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 45)])
async def test_a_person_reads_rejects_and_takes(endpoint: Endpoint, tmp_path: Path, size: tuple[int, int]) -> None:
    async with screen(tmp_path, endpoint, size) as (app, pilot):
        await pilot.press("N")
        await until_shown(pilot, "proposes step 1: a call of")
        assert "never sent back" in squeezed(app) and "First" not in squeezed(app)
        await pilot.press("end", "up", "space")
        await until_shown(pilot, "First [bold]this[/bold].")
        assert "\x1b" not in shown(app)
        await pilot.press("x")
        await until_shown(pilot, "Reject it")
        await pilot.press(*WORD.replace(" ", "_"), "enter")
        await until_shown(pilot, "proposes step 1: the final answer")
        assert "Rather_the_other_one." in squeezed(app)
        await pilot.press("enter")
        await until(pilot, lambda: _at(app).finished, "the answer")
        assert [row.actor for row in _at(app).rows] == ["human", "agent"]


async def test_asking_again_from_a_step(endpoint: Endpoint, tmp_path: Path) -> None:
    async with screen(tmp_path, endpoint) as (app, pilot):
        await pilot.press("N")
        await until_shown(pilot, "proposes step 1")
        await pilot.press("enter")
        await until(pilot, lambda: _at(app).executed == 1, "the step")
        await pilot.press("A")
        await until_shown(pilot, "Ask react for step 1 again")
        await pilot.press("backspace", *"big", "enter")
        await until_shown(pilot, "proposes step 1")
        assert endpoint.requests[-1]["model"] == "big" and endpoint.requests[-1]["seed"] == 1
        await pilot.press("enter")
        await until(pilot, lambda: _at(app).executed == 1 and "big" in _at(app).branch, "the branch")
        await pilot.press("2", *["t"] * 5)
        await until_shown(pilot, "request to big")


async def test_without_an_agent_the_key_says_so(endpoint: Endpoint, tmp_path: Path) -> None:
    async with screen(tmp_path, endpoint, agent=None) as (_, pilot):
        await pilot.press("N")
        await until_shown(pilot, "No agent is named")


def _at(app: VakraApp) -> Any:
    """The scene that the debugger shows."""
    debugger = next(each for each in app.screen_stack if isinstance(each, DebuggerScreen))
    return debugger.scene


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_hostile_proposal_stays_a_dialog(endpoint: Endpoint, tmp_path: Path, size: tuple[int, int]) -> None:
    """Huge, marked-up and escaped names and values: the keys stay in view, nothing reaches the terminal."""
    nasty = "[bold]x[/] \x1b[2J\x1b]0;t\x07 \u202e {0}"

    def hostile(body: Body) -> Body:
        made = calls((tools_of(body)[0], {nasty * 50: "y" * 300_000, "b": [nasty] * 40}), content=nasty * 2000)
        made["choices"][0]["message"]["reasoning_content"] = nasty * 20_000
        return made

    async with screen(tmp_path, endpoint, size) as (app, pilot):
        endpoint.default = hostile
        await pilot.press("N")
        await until_shown(pilot, "proposes step 1")
        await until_shown(pilot, "leaves it open")
        assert not any(sign in shown(app) for sign in ("\x1b", "\x07", "\u202e"))
        await pilot.press("enter")
        await until(pilot, lambda: _at(app).executed == 1, "the step")
        await pilot.press("2", *["t"] * 5)
        await until_shown(pilot, "request to m")
        await pilot.press("end")
        await pilot.pause()
        assert not any(sign in shown(app) for sign in ("\x1b", "\x07", "\u202e"))


@pytest.mark.parametrize("way", ["easy", COMMAND])
async def test_other_peoples_agents_on_screen(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Proposed by a key, taken by another, and then to the end with the agent at the wheel."""
    sys.modules["asking_plugin_of_the_tests"] = sys.modules[__name__]
    entry = EntryPoint(name="easy", value="asking_plugin_of_the_tests:make_easy", group=plugin.GROUP)
    monkeypatch.setattr(plugin, "entry_points", lambda group: [entry] if group == plugin.GROUP else [])
    async with screen(tmp_path, endpoint, agent=way, model="m1") as (app, pilot):
        await pilot.press("N")
        await until_shown(pilot, "proposes step 1: a call of")
        await pilot.press("enter")
        await until(pilot, lambda: _at(app).executed == 1, "the step")
        await pilot.press("c")
        await until(pilot, lambda: _at(app).finished and not _at(app).working, "the end")
        assert {row.actor for row in _at(app).rows} == {"agent"}
        await pilot.press("v")
        await until(pilot, lambda: _at(app).verdict is not None, "the verdict")


async def test_what_was_said_in_a_batch_is_read_in_the_debugger(endpoint: Endpoint, tmp_path: Path) -> None:
    """A session that a batch left is opened with everything that its model was sent and said."""
    endpoint.default = model
    given = options(tmp_path, endpoint)
    arguments = ["--batch", "--agent", "react", "--model", "m", "--base-url", endpoint.base_url, "--quiet"]
    assert main([*arguments, "--db", str(given.db), "--capability", "3", "--limit", "1"]) == 0
    world = World(Wiring(given), Memory(tmp_path / "memory.json"))
    world.open()
    (stored,) = world.wiring.store.sessions(kind="batch").items
    entry = next(each for each in world.listing.entries if each.uuid == stored.uuid)
    opened = world.session(entry, None, stored)
    await opened.open()
    assert opened.scene is not None and [row.actor for row in opened.scene.rows if row.step] == ["agent", "agent"]
    spoken = [await opened.spoken(index) for index in (0, 1)]
    assert [each[0].request for each in spoken] == endpoint.requests
    await opened.close()
    await world.close()


async def test_a_command_that_ends_is_named_with_its_script_and_options(endpoint: Endpoint, tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text("import sys\nsys.stdin.readline()\n", encoding="utf-8")
    command = f"command:{shlex.join([sys.executable, str(script)])} --flag"
    async with session(tmp_path, endpoint, agent=command) as opened:
        with pytest.raises(AgentFailure, match=r"ends\.py'? --flag['\"] ended before it decided"):
            await opened.ask(0)


@pytest.mark.parametrize("length", [1, 60, 99, 100, 101, 500])
def test_of_a_long_command_the_beginning_and_the_end_are_named(length: int) -> None:
    command = f"python3 /{'d' * length}/ends.py --flag"
    who = CommandAgent(command).who
    shown = who.removeprefix("The agent '").removesuffix("'")
    assert shown.startswith("python3 /d") and shown.endswith("/ends.py --flag") and len(shown) <= LONGEST_NAME
    assert ("\u2026" in shown) == (len(command) > LONGEST_NAME) == (shown != command)


async def test_asking_a_command_again_offers_a_seed_and_says_where_it_goes(endpoint: Endpoint, tmp_path: Path) -> None:
    app = VakraApp(Wiring(options(tmp_path, endpoint, agent=COMMAND, limit=1)))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        if not isinstance(app.screen, DebuggerScreen):
            await pilot.press("enter")
        screen = await until_settled(pilot)
        assert screen.scene is not None
        await pilot.press("A")
        await until_shown(pilot, "the agent finds them in its options")
        seed = app.screen.query_one("#seed", CleanInput)
        assert seed.value == "1"
        app.screen.query_one("#temperature", CleanInput).value = "."
        await pilot.press("enter")
        await until_shown(pilot, "temperature: . is no number")
        assert app.focused is app.screen.query_one("#temperature")
