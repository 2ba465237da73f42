"""The recorder: what it writes is answered again, whatever the order, the interruption or the branch."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.data.conftest import BI, DASHBOARDS, instance
from toolenv.dataset import Dataset
from toolenv.errors import EnvironmentFailure, NotRecorded
from toolenv.failures import result_of
from toolenv.model import Instance, ToolResult, ToolSpec
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment, Recorder

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


@pytest.mark.parametrize(
    "odd",
    [
        {"universe": None, "name": 5, "arguments": {}, "response_text": "x"},
        {"universe": ["u"], "name": "get_count", "arguments": {}, "response_text": "x"},
        {"universe": {"a": 1}, "tools": []},
        {"universes": ["u", ["v"]], "tools": []},
        {"universes": 5, "tools": []},
        {"tools": 5},
    ],
)
async def test_odd_lines_of_an_earlier_recording_are_left_out(tmp_path: Path, odd: dict[str, Any]) -> None:
    target = tmp_path / DASHBOARDS / "hockey.jsonl"
    for text in ("first", "second"):
        recorder = Recorder(Fickle([text]), tmp_path)
        session = await recorder.open(instance())
        await session.call("get_count", {})
        await recorder.close()
        if text == "first":
            target.write_bytes(target.read_bytes() + json.dumps(odd).encode() + b"\n")
    assert b"second" in target.read_bytes() and json.dumps(odd).encode() not in target.read_bytes()


async def test_a_folder_that_cannot_be_written(hockey: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    recorder = Recorder(NativeEnvironment(Dataset.open(hockey)), tmp_path / "file")
    with pytest.raises(EnvironmentFailure, match="cannot be written"):
        await recorder.open(instance("u-1", 1))
