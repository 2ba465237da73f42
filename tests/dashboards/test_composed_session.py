"""Sessions of capabilities 2 to 4: what the MCP layer of the release answers, in our words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.zoo_endpoints import endpoint
from toolenv.build.layout import write_json
from toolenv.dashboards.definition import FORMAT, EndpointFile, dump_endpoints
from toolenv.dataset import Dataset
from toolenv.errors import EnvironmentFailure
from toolenv.model import Instance, Turn
from toolenv.native import NativeEnvironment
from toolenv.native.composed import ComposedSession, open_composed


def instance(capability: int, domain: str = "zoo") -> Instance:
    return Instance(uuid="u", capability=capability, domain=domain, turns=(Turn(turn_id=0, query="?"),))


@pytest.fixture
def dataset(tmp_path: Path, database_file: Path) -> Dataset:
    root = tmp_path / "data"
    target = root / "databases" / "zoo" / "zoo.sqlite"
    target.parent.mkdir(parents=True)
    database_file.rename(target)
    legs = endpoint(
        "get_legs", "SELECT legs FROM animal WHERE name = :of AND id < :below", "scalar", of="string", below="integer"
    )
    (root / "endpoints").mkdir()
    (root / "endpoints" / "zoo.json").write_text(
        dump_endpoints(EndpointFile(format=FORMAT, domain="zoo", endpoints=(legs,))), "utf-8"
    )
    write_json(root / "documents" / "zoo_docs.json", [{"doc_id": "d1", "text": "The lion sleeps at noon."}])
    for folder in ("capability_2_dashboard_apis", "capability_4_multiturn"):
        write_json(root / "test" / folder / "input" / "zoo.json", [])
    return Dataset.open(root)


@pytest.fixture
async def session(dataset: Dataset) -> AsyncIterator[ComposedSession]:
    opened = open_composed(dataset, instance(4))
    yield opened
    await opened.close()


async def test_documents_are_offered_in_capability_four_alone(dataset: Dataset) -> None:
    environment = NativeEnvironment(dataset)
    for capability, names in ((2, ["get_legs"]), (3, ["get_legs"]), (4, ["get_legs", "query_zoo"])):
        opened = await environment.open(instance(capability))
        tools = await opened.list_tools()
        await opened.close()
        assert [tool.name for tool in tools] == names
        assert [tool.source for tool in tools] == ["API", "RAG"][: len(names)]


async def test_both_sources_answer(session: ComposedSession) -> None:
    found = await session.call("get_legs", {"of": "Löwe", "below": 9, "unknown": [1]})
    assert json.loads(found.text) == {"found": 4}
    passages = await session.call("query_zoo", {"question": "When does the lion sleep?"})
    assert json.loads(passages.text)["results"][0]["text"] == "The lion sleeps at noon."
    assert found.duration_s > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"of": "Löwe"}, "below"),
        ({"of": None, "below": 1}, "of"),
        ({"of": "Löwe", "below": "nine"}, "below"),
        ({"of": "Löwe", "below": 1985.5}, "below"),
        ({"of": "Löwe", "below": True}, "below"),
        ({"of": ["Löwe"], "below": 1}, "of"),
    ],
)
async def test_refused_arguments(session: ComposedSession, arguments: dict[str, Any], words: str) -> None:
    result = await session.call("get_legs", arguments)
    assert (result.is_error, result.failed, result.error_kind) == (True, True, "refused_arguments")
    assert result.text.startswith("Input validation error: ")
    assert words in result.text or str(arguments[words]) in result.text


@pytest.mark.parametrize("name", ["nope", "", "query_lions", "task_4_zoo_nope"])
async def test_unknown_tools(session: ComposedSession, name: str) -> None:
    result = await session.call(name, {})
    assert (result.is_error, result.failed, result.error_kind) == (True, True, "unknown_tool")
    assert result.text.startswith(f"Tool {name} not found")


async def test_a_registry_prefix_leads_to_the_tool(session: ComposedSession) -> None:
    arguments = {"of": "Löwe", "below": 9}
    plain = await session.call("get_legs", arguments)
    for name in ("task_4_zoo_get_legs", "get_legs_v1_zoo_get_legs_get"):
        assert (await session.call(name, arguments)).text == plain.text
    passages = await session.call("task_4_zoo_query_zoo", {"question": "When does the lion sleep?"})
    assert "The lion sleeps at noon." in passages.text
    refused = await session.call("task_4_zoo_get_legs", {})
    assert refused.error_kind == "refused_arguments"


async def test_get_data_tells_domain_and_number_of_tools(session: ComposedSession) -> None:
    result = await session.call("get_data", {"tool_universe_id": "anything"})
    assert not result.failed
    assert json.loads(result.text) == {"domain": "zoo", "tools": 2}


async def test_a_fork_outlives_its_origin(session: ComposedSession) -> None:
    fork = await session.fork()
    await session.close()
    await session.close()
    assert not (await fork.call("get_legs", {"of": "Löwe", "below": 9})).failed
    assert await fork.table("retrieved_data_1") is None
    await fork.close()


async def test_a_domain_without_endpoints(dataset: Dataset) -> None:
    with pytest.raises(EnvironmentFailure, match="no endpoints for domain 'farm'"):
        open_composed(dataset, instance(2, "farm"))
