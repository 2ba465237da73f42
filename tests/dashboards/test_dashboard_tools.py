"""How endpoints become tools: names, spellings, schemas; the file's own mistakes; the same application over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.zoo_endpoints import ToolsFactory, endpoint
from toolenv.dashboards.definition import (
    FORMAT,
    Endpoint,
    EndpointFile,
    EndpointParameter,
    Envelope,
    dump_endpoints,
    load_endpoints,
)
from toolenv.dashboards.openapi_tools import operations
from toolenv.errors import DataError

BY_NAME = endpoint("get_legs", "SELECT legs FROM animal WHERE name = :name", "scalar", name="string")


def test_a_tool_is_made_by_the_release_s_rules(tools_of: ToolsFactory) -> None:
    (spec,) = tools_of(BY_NAME).specs()
    assert spec.name == "get_legs"
    assert spec.description == "Finds get_legs"
    assert spec.source == "API"
    assert spec.input_schema == {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "the name"}},
        "required": ["name"],
    }


async def test_path_parameters_come_first_and_optional_ones_are_strings(tools_of: ToolsFactory) -> None:
    both = Endpoint(
        operation_id="get_one",
        path="/v1/zoo/animals/{id}",
        sql="SELECT name FROM animal WHERE id = :id AND (:legs IS NULL OR legs = :legs)",
        response=Envelope(key="name", shape="scalar"),
        parameters=(
            EndpointParameter(name="legs", type="integer", required=False),
            EndpointParameter(name="id", type="integer", location="path"),
        ),
    )
    tools = tools_of(both)
    (spec,) = tools.specs()
    assert list(spec.input_schema["properties"]) == ["id", "legs"]
    assert spec.input_schema["properties"]["legs"]["type"] == "string"
    assert spec.input_schema["required"] == ["id"]
    assert spec.description == "get_one"
    assert json.loads((await tools.call("get_one", {"id": 1})).text) == {"name": "Löwe"}
    assert json.loads((await tools.call("get_one", {"id": 1, "legs": "0"})).text) == {"name": []}


def test_operations_of_any_document() -> None:
    document: dict[str, Any] = {
        "paths": {
            "/v1/zoo/a/{b}": {"get": {"parameters": [{"name": "b", "in": "path", "schema": {"anyOf": []}}]}},
            "/v1/zoo_annex/c": {"post": {"description": "annex", "requestBody": {"content": {"application/json": {}}}}},
            "/v1/other/d": {"get": {"operationId": "d"}},
            "/health": {"get": {}},
            "/v1/zoo/e": {"trace": {}, "delete": {"operationId": "e", "summary": "drops e", "description": "x"}},
        }
    }
    found = {o.tool.name: o.tool for o in operations(document, "zoo")}
    assert list(found) == ["v1_zoo_a_b", "v1_zoo_annex_c", "e"]
    assert found["v1_zoo_a_b"].description == "GET /v1/zoo/a/{b}"
    assert found["v1_zoo_a_b"].input_schema["properties"] == {"b": {"type": "string", "description": ""}}
    assert found["v1_zoo_a_b"].input_schema["required"] == ["b"]
    assert found["v1_zoo_annex_c"].description == "annex"
    assert "body" in found["v1_zoo_annex_c"].input_schema["properties"]
    assert found["e"].description == "drops e"


@pytest.mark.parametrize(
    "name",
    [
        "get_legs",
        "task_2_zoo_get_legs",
        "task_13_zoo_get_legs",
        "get_legs_v1_zoo_get_legs_get",
        "task_3_zoo_get_legs_v1_zoo_get_legs_get",
        "legs_of",
    ],
)
def test_spellings_of_one_tool(tools_of: ToolsFactory, name: str) -> None:
    tools = tools_of(
        Endpoint(
            operation_id="get_legs",
            path=BY_NAME.path,
            sql=BY_NAME.sql,
            response=BY_NAME.response,
            parameters=BY_NAME.parameters,
            aliases=("legs_of",),
        )
    )
    spec = tools.spec(name)
    assert spec is not None
    assert spec.name == "get_legs"


@pytest.mark.parametrize(
    "name",
    ["get_leg", "task_2_farm_get_legs", "task_x_zoo_get_legs", "task_2_zoo_", "task_1_zoo_task_1_zoo_get_legs", ""],
)
def test_other_names_are_no_tools(tools_of: ToolsFactory, name: str) -> None:
    assert tools_of(BY_NAME).spec(name) is None


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    content = EndpointFile(format=FORMAT, domain="zoo", endpoints=(BY_NAME,))
    path = tmp_path / "zoo.json"
    path.write_text(dump_endpoints(content), encoding="utf-8")
    assert load_endpoints(path) == content


def _with(**changes: Any) -> str:
    entry = json.loads(dump_endpoints(EndpointFile(format=FORMAT, domain="zoo", endpoints=(BY_NAME,))))
    entry["endpoints"][0] |= changes
    return json.dumps(entry)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid"),
        ("[]", "not valid"),
        ('{"format": "other@9", "domain": "zoo", "endpoints": []}', "only 'vakra-tui/endpoints@1'"),
        (_with(operation_id="a b"), "not an identifier"),
        (_with(path="/v1/../x y"), "not a plain URL path"),
        (_with(method="post"), "not valid"),
        (_with(path="/v1/zoo/{name}"), "in the path exactly when"),
        (_with(parameters=[{"name": "a-b", "in": "query"}]), "not an identifier"),
        (_with(parameters=[{"name": "a", "in": "body"}]), "not valid"),
        (_with(response={"key": "k", "shape": "tree"}), "not valid"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "zoo.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"zoo\.json") as caught:
        load_endpoints(path)
    assert words in str(caught.value)


def test_two_endpoints_of_one_name_or_path(tmp_path: Path) -> None:
    path = tmp_path / "zoo.json"
    path.write_text(dump_endpoints(EndpointFile(format=FORMAT, domain="zoo", endpoints=(BY_NAME, BY_NAME))), "utf-8")
    with pytest.raises(DataError, match="stands twice"):
        load_endpoints(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_endpoints(tmp_path / "nothing.json")


async def test_http_gives_the_same_answer_as_the_call_in_process(tools_of: ToolsFactory) -> None:
    import httpx2

    tools = tools_of(BY_NAME)
    transport = httpx2.ASGITransport(app=tools.app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://zoo") as client:
        over_http = await client.get(BY_NAME.path, params={"name": "Löwe"})
        document = await client.get("/openapi.json")
        refused = await client.get(BY_NAME.path)
    assert over_http.json() == json.loads((await tools.call("get_legs", {"name": "Löwe"})).text) == {"found": 4}
    assert [o.tool for o in operations(document.json(), "zoo")] == list(tools.specs())
    assert refused.status_code == 422


@pytest.mark.parametrize(
    ("mark", "written"),
    [
        ("lone \\ud83d half", "lone \ufffd half"),
        ("paired \\ud83d\\ude00", "paired \U0001f600"),
        ("byte \udc80", "byte \ufffd"),
    ],
)
def test_what_is_no_character_costs_itself_only(tmp_path: Path, mark: str, written: str) -> None:
    endpoints = (BY_NAME, endpoint("get_all", "SELECT name FROM animal", "list"))
    text = dump_endpoints(EndpointFile(format=FORMAT, domain="zoo", endpoints=endpoints))
    path = tmp_path / "zoo.json"
    path.write_bytes(text.replace("Finds get_all", mark).encode("utf-8", "surrogateescape"))
    read = load_endpoints(path)
    assert [e.summary for e in read.endpoints] == ["Finds get_legs", written]
    "".join(e.summary for e in read.endpoints).encode("utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"format": "vakra-tui/endpoints@1", "domain": "zo', "is not valid JSON"),
        (b"[" * 3000 + b"]" * 3000, "is nested too deeply"),
        (b'{"format": 1, "domain": "zoo", "endpoints": []}', "is not valid vakra-tui/endpoints@1: Expected `str`"),
        (b"\x00\xff\x00", "is not valid JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "zoo.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match="endpoint file") as told:
        load_endpoints(path)
    assert said in str(told.value)
