"""What went over the wire for a call: kept per call, in order, bounded, told apart between sessions, no secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from web_server import Application, reached

from sessions.drivers import HumanDriver
from sessions.timeline import Timeline
from sessions.trajectory import CallTool
from toolenv.errors import EnvironmentFailure
from toolenv.exchange import KEPT_CALLS, KEPT_MESSAGES, KEPT_TEXT, KeepsExchanges, WireExchange, kept_by
from toolenv.model import Instance, ToolCall
from toolenv.recorded.recorder import Recorder
from toolenv.remote.tap import Wire


def instance(capability: int = 2, universe: str | None = None) -> Instance:
    return Instance(uuid=universe or "i-1", capability=capability, domain="towns", turns=(), universe_id=universe)


def exchange(session: object, number: int) -> WireExchange:
    kept = kept_by(session)
    assert kept is not None
    found = kept.exchange(number)
    assert found is not None
    return found


async def test_the_lines_of_a_call_are_those_of_the_pipe(make: Any) -> None:
    session = await make("progress").open(instance())
    await session.call("ask", {"text": "caf\u00e9"})
    await session.call("ask", {"text": "again"})
    first = exchange(session, 1)
    sent, *progress, answer = first.messages
    assert sent.direction == "sent"
    request = json.loads(sent.text)
    assert request["method"] == "tools/call"
    assert request["params"]["arguments"] == {"text": "caf\u00e9"}
    assert [json.loads(each.text)["params"]["progress"] for each in progress] == list(range(9))
    assert json.loads(answer.text)["result"]["content"][0]["text"] == "ask: caf\u00e9"
    assert [each.at_s for each in first.messages] == sorted(each.at_s for each in first.messages)
    assert "again" in exchange(session, 2).messages[0].text
    assert session.exchange(3) is None


async def test_the_servers_stderr_stands_beside_its_messages(make: Any) -> None:
    session = await make("dies").open(instance())
    with pytest.raises(EnvironmentFailure):
        await session.call("ask", {"text": "x"})
    found = exchange(session, 1)
    assert [message.direction for message in found.messages] == ["sent"]
    assert found.stderr is not None
    assert found.stderr[-2:] == ("first cause", "last words")


async def test_a_long_answer_is_kept_by_its_beginning(make: Any) -> None:
    session = await make("large").open(instance())
    result = await session.call("ask", {})
    answer = exchange(session, 1).messages[-1]
    assert len(answer.text) == KEPT_TEXT
    assert answer.size > len(result.text)


async def test_sessions_that_share_a_server_keep_their_own_messages(make: Any) -> None:
    environment = make("plain", limit=1)
    sessions = [await environment.open(instance()) for _ in range(2)]
    for number in range(3):
        for index, session in enumerate(sessions):
            await session.call("ask", {"text": f"{index}-{number}"})
    for index, session in enumerate(sessions):
        told = [json.loads(exchange(session, number).messages[0].text) for number in (1, 2, 3)]
        assert [each["params"]["arguments"]["text"] for each in told] == [f"{index}-{number}" for number in range(3)]


async def test_the_opening_and_what_a_copy_repeats_are_kept_too(make: Any) -> None:
    session = await make("tables").open(instance(1, "u2"))
    opening = await session.call("get_data", {"tool_universe_id": "u2"})
    await session.call("count", {"data_label": opening.handle})
    assert json.loads(exchange(session, 1).messages[0].text)["params"]["name"] == "get_data"
    copy = await session.fork()
    assert json.loads(exchange(copy, 2).messages[0].text)["params"]["name"] == "count"
    assert copy.calls == session.calls


async def test_the_oldest_calls_give_way(make: Any) -> None:
    session = await make("plain").open(instance())
    for number in range(KEPT_CALLS + 2):
        await session.call("ask", {"text": str(number)})
    assert session.exchange(2) is None
    assert "101" in exchange(session, KEPT_CALLS + 2).messages[0].text


def test_of_many_messages_the_first_and_the_last_are_kept() -> None:
    wire = Wire()
    tap = wire.open(7, "server", "tool")
    for number in range(KEPT_MESSAGES + 10):
        progress = {"method": "notifications/progress", "params": {"progressToken": 7, "progress": number}}
        wire.received(progress, json.dumps(progress).encode())
    wire.received({"id": 7, "result": {}}, b"the answer")
    wire.received({"id": 8, "result": {}}, b"of another call")
    wire.close(7)
    wire.received({"id": 7, "result": {}}, b"too late")
    found = tap.exchange()
    assert len(found.messages) == KEPT_MESSAGES
    assert found.dropped == 11
    assert found.messages[-1].text == "the answer"
    assert found.stderr is None


@pytest.mark.parametrize("stream", [False, True])
async def test_http_bodies_are_kept_without_headers_and_credentials(stream: bool, tmp_path: Path) -> None:
    application = Application(stream=stream)
    async with reached(application, tmp_path, headers={"authorization": "Bearer secret-token"}) as environment:
        session = await environment.open(instance())
        await session.call("ask", {"text": "hi"})
        found = exchange(session, 1)
    sent, answer = found.messages
    assert sent.head.startswith("POST http://127.0.0.1:")
    assert json.loads(sent.text)["params"]["arguments"] == {"text": "hi"}
    assert answer.head.startswith("HTTP 200 text/event-stream" if stream else "HTTP 200 application/json")
    assert '"hello"' in answer.text
    assert found.stderr is None
    assert any("secret-token" in headers.get("authorization", "") for headers in application.headers)
    assert "secret-token" not in repr(found)


async def test_a_timeline_finds_the_messages_of_its_steps(make: Any, tmp_path: Path) -> None:
    timeline = Timeline(instance(), Recorder(make("plain"), tmp_path), HumanDriver())
    for text in ("one", "two"):
        await timeline.decide(CallTool(call=ToolCall(name="ask", arguments={"text": text})))
    await timeline.edit(2, ToolCall(name="ask", arguments={"text": "three"}))
    found = await timeline.exchange(2)
    assert found is not None
    assert "three" in found.messages[0].text
    first = await timeline.exchange(1)
    assert first is not None
    assert "one" in first.messages[0].text
    assert await timeline.exchange(9) is None
    await timeline.close()


async def test_an_environment_without_a_wire_says_so(make: Any) -> None:
    environment = make("plain")
    timeline = Timeline(instance(), environment, HumanDriver())
    session = await environment.open(instance())
    assert isinstance(session, KeepsExchanges)

    class Plain:
        kind = "native"
        name = "native"

        async def open(self, instance: Instance) -> Any:
            inner = await environment.open(instance)

            class Hidden:
                def __getattr__(self, name: str) -> Any:
                    if name in ("exchange", "calls", "behind"):
                        raise AttributeError(name)
                    return getattr(inner, name)

            return Hidden()

    plain = Timeline(instance(), Plain(), HumanDriver())  # type: ignore[arg-type]
    with pytest.raises(EnvironmentFailure, match="nothing goes over a wire"):
        await plain.exchange(1)
    await plain.close()
    await timeline.close()
