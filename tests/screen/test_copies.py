"""What is copied: forms that read back, a line for the shell that really makes the call, and nothing executed."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from typing import Any

import msgspec
import pytest
import screen_toy as toy
from endpoint_server import Server
from screen_session import predicted, referred, scene_on

from sessions.store.records import RequestRecord
from toolenv.errors import DataError
from toolenv.model import ToolCall, ToolResult
from vakra_tui.options import Options
from vakra_tui.sample import sample_runs
from vakra_tui.state.copies import Copy, copies_of, curl_line, request_copies, serve_line, submission_of
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring

NASTY = '\'; touch /tmp/never; echo "$(id)" `id` \x1b]52;c;eA==\x07\u202e\ud800 \n end'


def named(found: tuple[Copy, ...]) -> dict[str, str]:
    return {copy.name: copy.text() for copy in found}


async def test_a_step_and_its_branch_are_copied_in_forms_that_read_back() -> None:
    scene = await scene_on()
    found = named(copies_of(scene, scene.rows[1]))
    assert found["response"] == toy.ANSWERS["query_beer_factory"]
    assert json.loads(found["call"]) == {"name": "query_beer_factory", "arguments": {"question": "Who brews Dixie?"}}
    assert json.loads(found["step"])["result"]["text"] == found["response"]
    assert json.loads(found["reference"])["name"] == "query_beer_factory"
    record = json.loads(found["record"])
    assert record == json.loads(json.dumps(submission_of(scene)))
    assert [call["name"] for call in record["output"][0]["sequence"]["tool_call"]] == [
        "get_top_brand",
        "query_beer_factory",
        "get_city",
    ]
    assert json.loads(found["verdict"])["failed_stage"] == "tool_sequence"
    answer = named(copies_of(scene, scene.rows[-1]))
    assert answer["answer"] == "It is Dixie Brewing."
    assert "call" not in answer and "curl" not in answer


async def test_what_cannot_be_written_down_is_refused_in_words() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    scene = await scene_on()
    row = StepRow(number=1, actor="human", tool="t", outcome="ok", call=ToolCall(name="t", arguments={"x": deep}))
    found = {copy.name: copy for copy in copies_of(scene, row)}
    for name in ("call", "curl"):
        with pytest.raises(DataError, match="nested too deeply"):
            found[name].text()
    odd = StepRow(
        number=1, actor="human", tool="t", outcome="refused", call=ToolCall(name="t", arguments={}, raw_arguments="{x")
    )
    assert json.loads(named(copies_of(scene, odd))["call"]) == {"name": "t", "arguments": "{x"}
    assert "curl" not in named(copies_of(scene, odd))


async def test_no_data_becomes_a_part_of_the_line_and_no_control_character_stands_in_it() -> None:
    scene = await scene_on(instances=referred(), runs=predicted(("get_locations", {"name": NASTY, NASTY: [NASTY]})))
    line = curl_line(scene, scene.rows[0])
    assert line.endswith("\n") and line[:-1].isprintable() and line.isascii()
    words = shlex.split(line)
    bodies = [word for word in words if word.startswith('{"jsonrpc"')]
    told = json.loads(bodies[-1])["params"]["arguments"]
    assert told == {"name": NASTY, NASTY: [NASTY]}


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
async def test_the_line_of_a_request_asks_the_same_again() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": NASTY.replace("\ud800", "")}]}
    asked = RequestRecord(kind="agent", model="m", request=request)
    server = Server()
    try:
        endpoint = server.endpoint()
        found = {copy.name: copy for copy in request_copies([asked], endpoint.base_url + "/")}
        line = found["curl request"].text()
        assert line[:-1].isprintable() and "k-secret" not in line
        environment = {**os.environ, "VAKRA_TUI_AGENT_API_KEY": "k-secret"}
        shell = await asyncio.create_subprocess_shell(line, env=environment, stdout=asyncio.subprocess.PIPE)
        out, _ = await asyncio.wait_for(shell.communicate(), 60)
    finally:
        server.close()
    assert endpoint.requests == [request] and endpoint.authorizations == ["Bearer k-secret"]
    assert json.loads(out)["choices"]
    assert json.loads(found["request"].text()) == request
    assert request_copies([], "x") == ()


def test_the_server_of_the_line_is_named_with_its_dataset() -> None:
    instance = toy.instance(domain="a b")
    assert serve_line(instance, "/x y") == (
        "vakra-tui serve '/x y' --capability 4 --domain 'a b' --http 127.0.0.1:8000"
    )
    assert serve_line(instance).startswith("vakra-tui serve --capability 4 ")


async def _oracle(uuid: str) -> Scene:
    """The scene of an instance of the sample's oracle run."""
    wiring = Wiring(Options(db="sqlite://", runs=(str(sample_runs()["oracle"]),)))
    world = World(wiring)
    world.open()
    session = world.session(next(entry for entry in world.listing.entries if entry.uuid == uuid))
    await session.open()
    assert session.scene is not None
    await session.close()
    await world.close()
    return session.scene


def _of_capability(number: int, calls: int) -> str:
    """An instance of a capability whose oracle makes so many calls or more."""
    for path in sorted((sample_runs()["oracle"]).rglob("*.json")):
        if f"capability_{number}_" not in str(path):
            continue
        for record in json.loads(path.read_text(encoding="utf-8")):
            if record["output"] and len(record["output"][0]["sequence"]["tool_call"]) >= calls:
                return str(record["uuid"])
    raise AssertionError(f"no prediction of {calls} calls in capability {number}")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("capability", "calls"), [(1, 4), (2, 1)])
async def test_the_line_makes_the_call_on_a_served_session(capability: int, calls: int) -> None:
    scene = await _oracle(_of_capability(capability, calls))
    row = [each for each in scene.rows if each.call is not None and each.outcome == "ok"][-1]
    command = shlex.split(serve_line(scene.instance).replace("127.0.0.1:8000", "127.0.0.1:0"))
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vakra_tui", *command[1:], stderr=asyncio.subprocess.PIPE
    )
    try:
        assert server.stderr is not None
        url = (await asyncio.wait_for(server.stderr.readline(), 60)).decode().strip()
        shell = await asyncio.create_subprocess_shell(
            curl_line(scene, row), env={**os.environ, "VAKRA_URL": url}, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(shell.communicate(), 60)
    finally:
        server.terminate()
        await server.wait()
    (data,) = [part for part in out.decode().splitlines() if part.startswith(("data: ", "{"))]
    answer = json.loads(data.removeprefix("data: "))
    assert row.step is not None and isinstance(row.step.result, ToolResult)
    assert answer["result"]["content"][0]["text"] == row.step.result.text
    assert msgspec.to_builtins(scene.instance)["capability"] == capability
