"""Recorded environments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.data.conftest import DASHBOARDS, instance
from toolenv.environment import ToolSession
from toolenv.errors import DataError, EnvironmentFailure, NoEnvironment, NotRecorded
from toolenv.recorded import RecordedEnvironment
from toolenv.recorded.aliases import own_name

Write = Callable[[Mapping[str, Any]], Path]
TOOLS = [
    {
        "name": "get_count",
        "inputSchema": {"type": "object", "properties": {"height": {"type": "integer"}}, "required": ["height"]},
    },
    {
        "name": "get_name",
        "inputSchema": {"type": "object", "properties": {"of": {"type": "string"}, "at": {"type": "number"}}},
    },
    {"name": "closed", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False}},
]


def line(name: str, arguments: Mapping[str, Any], text: str, **more: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments, "response_text": text, "is_error": False, **more})


def recording(*lines: str, tools: Any = TOOLS) -> str:
    return "\n".join([json.dumps({"tools": tools}), *lines]) + "\n"


async def opened(write: Write, text: str | bytes) -> ToolSession:
    folder = write({f"rec/{DASHBOARDS}/hockey.jsonl": text})
    return await RecordedEnvironment(folder / "rec").open(instance())


async def test_answers_come_from_the_recording(write: Write) -> None:
    session = await opened(
        write,
        recording(
            line("get_count", {"height": 3}, '{"count": 7}'),
            line("get_name", {"of": "x", "at": 2}, '{"name": []}', retriever="bm25", coerced_arguments={}),
            json.dumps({"response_text": "caf\u00e9", "is_error": False, "arguments": {"of": "y"}, "name": "get_name"}),
        ),
    )
    assert [tool.name for tool in await session.list_tools()] == ["get_count", "get_name", "closed"]
    assert (await session.call("get_count", {"height": 3})).text == '{"count": 7}'
    assert (await session.call("get_count", {"height": 3.0})).text == '{"count": 7}'
    assert (await session.call("get_name", {"at": 2.0, "of": "x"})).text == '{"name": []}', "key order is free"
    assert (await session.call("get_name", {"of": "y"})).text == "caf\u00e9"
    assert await session.table("x") is None


async def test_what_the_recording_does_not_hold(write: Write) -> None:
    session = await opened(write, recording(line("get_count", {"height": 3}, "7")))
    with pytest.raises(NotRecorded, match=r'get_count\(\{"height": 4\}\)'):
        await session.call("get_count", {"height": 4})
    unknown = await session.call("nonsense", {})
    assert (unknown.failed, unknown.error_kind, unknown.is_error) == (True, "unknown_tool", True)
    assert "nonsense" in unknown.text
    for arguments in ({}, {"height": "3"}, {"height": None}, {"height": True}):
        refused = await session.call("get_count", arguments)
        assert (refused.failed, refused.error_kind, refused.is_error) == (True, "refused_arguments", True), arguments
    assert (await session.call("closed", {"x": 1})).error_kind == "refused_arguments"


async def test_arguments_that_a_tool_ignores(write: Write) -> None:
    session = await opened(
        write, recording(line("get_count", {"height": 3}, "7"), line("get_count", {"height": 3, "z": 1}, "8"))
    )
    assert (await session.call("get_count", {"height": 3, "unknown": 5})).text == "7"
    assert (await session.call("get_count", {"height": 3, "z": 1})).text == "8"


async def test_numbers_and_booleans_are_not_confused(write: Write) -> None:
    session = await opened(write, recording(line("get_name", {"x": 1}, "one"), line("get_name", {"x": True}, "yes")))
    assert (await session.call("get_name", {"x": True})).text == "yes"
    assert (await session.call("get_name", {"x": 1.0})).text == "one"


async def test_failures_are_told_from_flag_and_text(write: Write) -> None:
    session = await opened(
        write,
        recording(
            line("get_count", {"height": 1}, "Error calling API: Server error '500 Internal Server Error'"),
            line("get_count", {"height": 2}, '{"error": "no"}'),
            line("get_count", {}, "Input validation error: 'height' is a required property", is_error=True),
            line("gone", {}, "Tool gone not found", is_error=True),
        ),
    )
    assert (await session.call("get_count", {"height": 1})).error_kind == "tool_failed"
    assert (await session.call("get_count", {"height": 2})).failed
    assert "required property" in (await session.call("get_count", {})).text
    assert (await session.call("gone", {})).text == "Tool gone not found"


async def test_get_data_is_neutral_in_the_other_capabilities(write: Write) -> None:
    session = await opened(write, recording())
    result = await session.call("get_data", {"tool_universe_id": "x"})
    assert not result.failed
    assert json.loads(result.text) == {"domain": "hockey", "tools": 3}


async def test_other_names_of_a_tool(write: Write) -> None:
    session = await opened(write, recording(line("get_count", {"height": 3}, "7")))
    for name in ("task_2_hockey_get_count", "get_count_v1_hockey_count_by_height_get"):
        assert (await session.call(name, {"height": 3})).text == "7"
    assert (await session.call("task_2_movie_get_count", {"height": 3})).error_kind == "unknown_tool"
    assert (await session.call("task_2_hockey_get_count", {})).error_kind == "refused_arguments"


def test_aliases() -> None:
    names = ["get_count_v1_hockey_count_get", "get_name", "a_v1_hockey_x_get", "a_v1_hockey_y_get"]
    assert own_name("get_count", "hockey", names) == "get_count_v1_hockey_count_get"
    assert own_name("get_name_v1_hockey_name_post", "hockey", names) == "get_name"
    assert own_name("a", "hockey", names) == "a", "two tools could be meant"
    assert own_name("task_2_hockey_task_2_hockey_get_name", "hockey", names) == "task_2_hockey_task_2_hockey_get_name"
    assert own_name("", "hockey", []) == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("[]\n", "does not begin"),
        ("{broken\n", "does not begin"),
        ('{"tools": 5}\n', "does not begin"),
    ],
)
async def test_a_recording_that_cannot_be_used(write: Write, text: str, sentence: str) -> None:
    with pytest.raises(EnvironmentFailure, match=sentence):
        await opened(write, text)


async def test_a_damaged_line_costs_only_itself(write: Write) -> None:
    good = line("get_count", {"height": 3}, "7")
    bad = [
        "{",
        '{"name": "get_count"}',
        "5",
        '{"name": 5, "arguments": {}, "response_text": ""}',
        good[:-20],
        good.replace('"7"', "7")[:40],
    ]
    folder = write({f"rec/{DASHBOARDS}/hockey.jsonl": recording(*bad, "", good)})
    environment = RecordedEnvironment(folder / "rec")
    session = await environment.open(instance())
    assert (await session.call("get_count", {"height": 3})).text == "7"
    assert len(environment.problems) == len(bad)
    assert "line 2 " in environment.problems[0]


async def test_a_byte_order_mark_and_crlf(write: Write) -> None:
    text = recording(line("get_count", {"height": 3}, "7")).replace("\n", "\r\n").encode("utf-8-sig")
    session = await opened(write, text)
    assert (await session.call("get_count", {"height": 3})).text == "7"


async def test_a_recording_that_changes_is_noticed(write: Write) -> None:
    session = await opened(write, recording(line("get_count", {"height": 3}, "7")))
    write({f"rec/{DASHBOARDS}/hockey.jsonl": recording() + "x" * 500})
    with pytest.raises(EnvironmentFailure, match="has changed"):
        await session.call("get_count", {"height": 3})


async def test_what_it_serves(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not there"):
        RecordedEnvironment(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no recordings"):
        RecordedEnvironment(tmp_path)
    folder = write({f"rec/{DASHBOARDS}/hockey.jsonl": recording(), f"rec/{DASHBOARDS}/.hockey.jsonl.spool": "x"})
    environment = RecordedEnvironment(folder / "rec")
    assert environment.serves(2, "hockey")
    assert not environment.serves(3, "hockey")
    assert not environment.serves(2, "movie")
    with pytest.raises(NoEnvironment, match="movie"):
        await environment.open(instance(domain="movie"))
    before = environment.fingerprint()
    assert before == RecordedEnvironment(folder / "rec").fingerprint()
    write({f"rec/{DASHBOARDS}/hockey.jsonl": recording("")})
    assert RecordedEnvironment(folder / "rec").fingerprint() != before
