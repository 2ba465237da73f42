"""Recorded environments and the recorder."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.conftest import BI, DASHBOARDS
from toolenv.dataset import Dataset
from toolenv.environment import ToolSession
from toolenv.errors import DataError, EnvironmentFailure, NoEnvironment, NotRecorded
from toolenv.failures import failure_of, result_of
from toolenv.model import Instance, ToolResult, ToolSpec, Turn
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment, Recorder
from toolenv.recorded.aliases import own_name
from toolenv.recorded.chains import Chain, call_key, inner_chains, read

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


def instance(uuid: str = "u", capability: int = 2, domain: str = "hockey") -> Instance:
    universe = uuid if capability == 1 else None
    turns = (Turn(turn_id=0, query="q"),)
    return Instance(uuid=uuid, capability=capability, domain=domain, turns=turns, universe_id=universe)


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


# --- recording -------------------------------------------------------------------------------------------------------

SCRIPTS: list[list[tuple[str, dict[str, Any]]]] = [
    [
        ("get_data", {"tool_universe_id": "u-1"}),
        (
            "filter_data",
            {"data_label": "retrieved_team_1", "key_name": "player_goals", "value": 1, "condition": "greater_than"},
        ),
        ("sort_data", {"data_label": "filtered_team_1", "key_name": "player_goals", "ascending": True}),
        ("retrieve_data", {"data_label": "sorted_team_1", "key_name": "player_nick"}),
        ("aggregate_data", {"data_label": "filtered_team_1", "aggregation_operation": "count"}),
    ],
    [
        ("get_data", {}),
        (
            "filter_data",
            {"data_label": "retrieved_team_1", "key_name": "player_nick", "value": "Al", "condition": "equal_to"},
        ),
        (
            "filter_data",
            {"data_label": "retrieved_team_1", "key_name": "player_goals", "value": 1, "condition": "greater_than"},
        ),
        ("concatenate_data", {"data_label_1": "filtered_team_1", "data_label_2": "filtered_team_2"}),
        ("sort_data", {"data_label": "filtered_team_2", "key_name": "player_goals", "ascending": True}),
        ("aggregate_data", {"data_label": "concatenated_team_1", "aggregation_operation": "count"}),
    ],
    [
        ("filter_data", {"data_label": "nope", "key_name": "x", "value": 1, "condition": "equal_to"}),
        ("filter_data", {"key_name": "x"}),
        ("get_data", {"tool_universe_id": 5}),
        ("get_data", {"tool_universe_id": "nobody"}),
        ("get_names", {"data_label": "retrieved_data_1"}),
        ("get_data", {"tool_universe_id": "u-2"}),
        ("get_names", {"data_label": "retrieved_data_1"}),
        ("get_data", {"tool_universe_id": "u-2"}),
        ("get_names", {"data_label": "retrieved_data_2"}),
        ("select_data_equal_to", {"data_label": "retrieved_data_2", "key_name": "name", "value": "Reds"}),
    ],
]


async def played(environment: Any, script: list[tuple[str, dict[str, Any]]], uuid: str = "u-1") -> list[Any]:
    session = await environment.open(instance(uuid, 1))
    found: list[Any] = [[tool.name for tool in await session.list_tools()]]
    for name, arguments in script:
        result = await session.call(name, arguments)
        found.append((result.text, result.is_error, result.failed, result.error_kind, result.handle))
    found.append([tool.name for tool in await session.list_tools()])
    await session.close()
    return found


async def test_what_was_recorded_is_answered_again(hockey: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rec")
    native = NativeEnvironment(Dataset.open(hockey))
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    expected = [await played(native, script) for script in SCRIPTS]
    assert [await played(recorder, script) for script in SCRIPTS] == expected
    await recorder.close()
    assert sorted(path.name for path in folder.rglob("*.*")) == ["hockey.jsonl", "hockey.tables"]
    replayed = RecordedEnvironment(folder)
    assert [await played(replayed, script) for script in SCRIPTS] == expected
    assert replayed.problems == []


async def test_handles_are_numbered_by_the_sessions_own_history(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Only the second script was recorded; parts of it are answered in another order, with other handle numbers."""
    folder = tmp_path_factory.mktemp("rec")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(recorder, SCRIPTS[1])
    await recorder.close()
    script = [SCRIPTS[1][0], SCRIPTS[1][2], ("sort_data", {**SCRIPTS[1][4][1], "data_label": "filtered_team_1"})]
    expected = await played(NativeEnvironment(Dataset.open(hockey)), script)
    assert await played(RecordedEnvironment(folder), script) == expected
    with pytest.raises(NotRecorded, match="sort_data"):
        await played(
            RecordedEnvironment(folder),
            [SCRIPTS[1][0], ("sort_data", {"data_label": "retrieved_team_1", "key_name": "player_goals"})],
        )


async def test_a_handle_that_names_no_table_is_a_failed_call(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rec")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(recorder, SCRIPTS[0])
    await recorder.close()
    session = await RecordedEnvironment(folder).open(instance("u-1", 1))
    await session.call(*SCRIPTS[0][0])
    result = await session.call("aggregate_data", {"data_label": "filtered_team_9", "aggregation_operation": "count"})
    assert (result.failed, result.error_kind, result.is_error) == (True, "tool_failed", False)
    assert "filtered_team_9" in result.text


async def test_an_instance_whose_universe_was_not_recorded(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rec")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(recorder, SCRIPTS[0])
    await recorder.close()
    session = await RecordedEnvironment(folder).open(instance("u-9", 1))
    with pytest.raises(NotRecorded, match="u-9"):
        await session.list_tools()


async def test_the_file_does_not_depend_on_the_order_of_calls(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    contents = set()
    for seed in range(4):
        folder = tmp_path_factory.mktemp("rec")
        recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
        scripts = SCRIPTS * 2
        random.Random(seed).shuffle(scripts)
        if seed % 2:
            await asyncio.gather(*(played(recorder, script) for script in scripts))
        else:
            for script in scripts:
                await played(recorder, script)
        await recorder.close()
        contents.add((folder / BI / "hockey.jsonl").read_bytes())
    assert len(contents) == 1


async def test_a_second_run_adds_to_the_recording(hockey: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    apart, together = tmp_path_factory.mktemp("apart"), tmp_path_factory.mktemp("together")
    for script in SCRIPTS:
        recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), apart)
        await played(recorder, script)
        await recorder.close()
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), together)
    for script in SCRIPTS:
        await played(recorder, script)
    await recorder.close()
    assert (apart / BI / "hockey.jsonl").read_bytes() == (together / BI / "hockey.jsonl").read_bytes()


async def test_an_interrupted_recording_is_taken_up_again(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rec")
    first = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(first, SCRIPTS[0])
    spool = next(path for path in (folder / BI).iterdir() if path.name.endswith(".spool"))
    with spool.open("ab") as stream:
        stream.write(b'{"universe": "u-1", "name": "filter_da')
    second = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(second, SCRIPTS[1])
    await second.close()
    replayed = RecordedEnvironment(folder)
    native = NativeEnvironment(Dataset.open(hockey))
    for script in SCRIPTS[:2]:
        assert await played(replayed, script) == await played(native, script)
    assert replayed.problems == []


async def test_forks_are_apart(hockey: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rec")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(recorder, SCRIPTS[0])
    await played(recorder, SCRIPTS[1])
    await recorder.close()
    session = await RecordedEnvironment(folder).open(instance("u-1", 1))
    await session.call(*SCRIPTS[0][0])
    other = await session.fork()
    first, second = SCRIPTS[1][1], SCRIPTS[1][2]
    assert (await session.call(*first)).handle == "filtered_team_1"
    assert (await other.call(*second)).handle == "filtered_team_1"
    assert (await session.call(*second)).handle == "filtered_team_2"
    await other.close()
    assert not (await session.call(*SCRIPTS[1][4])).failed


async def test_a_switch_of_the_universe_tells_its_listeners(
    hockey: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rec")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), folder)
    await played(recorder, SCRIPTS[2])
    await recorder.close()
    session = await RecordedEnvironment(folder).open(instance("u-1", 1))
    told: list[int] = []
    session.on_tools_changed(lambda: told.append(1))
    before = [tool.name for tool in await session.list_tools()]
    await session.call("get_data", {"tool_universe_id": "u-2"})
    assert told == [1]
    assert [tool.name for tool in await session.list_tools()] != before


class Fickle:
    """An environment that answers differently each time, as a retriever with unordered metadata does."""

    kind, name = "config", "fickle"

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def fingerprint(self) -> None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return True

    async def open(self, instance: Instance) -> Any:
        return self

    async def list_tools(self) -> list[ToolSpec]:
        return [ToolSpec(name="get_count", input_schema={})]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return result_of(self.texts.pop(), False)

    async def close(self) -> None: ...


async def test_of_several_answers_to_one_call_the_choice_is_always_the_same(tmp_path: Path) -> None:
    contents = set()
    for number, texts in enumerate((["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"])):
        recorder = Recorder(Fickle(texts), tmp_path / str(number))
        session = await recorder.open(instance())
        for _ in range(3):
            await session.call("get_count", {})
        await recorder.close()
        contents.add((tmp_path / str(number) / DASHBOARDS / "hockey.jsonl").read_bytes())
    assert len(contents) == 1


async def test_a_folder_that_cannot_be_written(hockey: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), tmp_path / "file")
    with pytest.raises(EnvironmentFailure, match="cannot be written"):
        await recorder.open(instance("u-1", 1))


# --- chains and failures ---------------------------------------------------------------------------------------------


def test_a_chain_is_written_and_read() -> None:
    root = Chain("get_data", {"tool_universe_id": "u"})
    left, right = Chain("filter", {"data_label": root, "value": 1}), Chain("filter", {"data_label": root, "value": 2})
    both = Chain("join", {"a": left, "b": [right, left, {"x": root}]})
    written = json.loads(json.dumps(both.written()))
    assert [made["name"] for made in written["made_by"]] == ["get_data", "filter", "filter", "join"]
    back = read(written)
    assert back.digest == both.digest
    assert call_key("f", {"x": back}) == call_key("f", {"x": both}) != call_key("f", {"x": left})
    assert len(inner_chains({"x": [both, {"y": left}]})) == 2


def test_long_chains() -> None:
    chain = Chain("get_data", {})
    for number in range(3000):
        chain = Chain("filter", {"data_label": chain, "value": number})
    assert read(json.loads(json.dumps(chain.written()))).digest == chain.digest


@pytest.mark.parametrize(
    "value",
    [
        {"made_by": []},
        {"made_by": 5},
        {"made_by": [{"x": 1}]},
        {"made_by": [{"name": "a", "arguments": {"l": {"call": 3}}}]},
    ],
)
def test_an_odd_chain_is_no_chain(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        read(value)


@given(
    st.dictionaries(
        st.text(max_size=3), st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.none(), max_size=4
    )
)
def test_the_key_of_a_call_does_not_depend_on_layout(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))
    assert call_key("f", arguments) == call_key("f", turned)
    assert call_key("f", arguments) == call_key("f", json.loads(json.dumps(turned, indent=1)))
    assert call_key("f", arguments) != call_key("g", arguments)


@pytest.mark.parametrize(
    ("text", "flag", "kind"),
    [
        ("Input validation error: 'x' is a required property", True, "refused_arguments"),
        ("Input validation error: 'pattern'", False, "tool_failed"),
        ("Unknown tool: x", True, "unknown_tool"),
        ("Tool x not found", True, "unknown_tool"),
        ("Tool 'x' not found", False, "unknown_tool"),
        ("Error calling API: Client error '422 Unprocessable Entity' for url 'x'", False, "tool_failed"),
        ('{"error": "Invalid key_name"}', False, "tool_failed"),
        ('{\n  "error": "x"\n}', False, "tool_failed"),
        ("Object of type bytes is not JSON serializable", True, "tool_failed"),
        ('{"error": "x", "count": 1}', False, None),
        ('{"errors": []}', False, None),
        ('[{"error": "x"}]', False, None),
        ("506.0", False, None),
        ("", False, None),
        ("The Tool was not found in the shed", False, None),
    ],
)
def test_failures(text: str, flag: bool, kind: str | None) -> None:
    assert failure_of(text, flag) == kind
    assert result_of(text, flag).failed is (kind is not None)
