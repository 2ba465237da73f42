"""``vakra-tui serve``: the native tools over MCP, asked with the protocol's own client, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, MCPError, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from toolenv.dataset import Dataset
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance
from toolenv.native import NativeEnvironment
from toolenv.remote import RemoteEnvironment
from toolenv.serve.running import host_and_port, is_local

SERVE = [sys.executable, "-c", "import sys; from vakra_tui.cli import main; sys.exit(main())", "serve"]
ENDPOINT = {
    "path": "/v1/shop/names",
    "operation_id": "get_names",
    "summary": "Names by kind",
    "sql": "SELECT name FROM item WHERE kind = :kind ORDER BY name",
    "parameters": [{"name": "kind", "type": "string", "required": True, "description": "The kind"}],
    "response": {"key": "names", "shape": "list"},
}


def universe(style: str) -> dict[str, Any]:
    tables = {"T": {"original_table_name": "item", "modified_table_name": "item"}}
    arguments = {"alias_to_table_dict": tables, "condition_sequence": []}
    return {"domain": "shop", "init_args": arguments, "server_type": style, "query": "?"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served") / "data"
    for folder in ("databases/shop", "configs", "endpoints", "documents", "test/capability_1_bi_apis/input"):
        (root / folder).mkdir(parents=True)
    connection = sqlite3.connect(root / "databases" / "shop" / "shop.sqlite")
    with connection:
        connection.execute("CREATE TABLE item (name TEXT, kind TEXT, price REAL)")
        connection.executemany("INSERT INTO item VALUES (?, ?, ?)", [("Hut", "wear", 3.5), ("Öl", "food", None)])
    connection.close()
    mapping = {"slot-1": universe("slot_filling"), "sel-1": universe("selection"), "odd-1": {"domain": "shop"}}
    (root / "configs" / "mcp_tool_universe_id_mapping.yaml").write_text(yaml.safe_dump(mapping, sort_keys=False))
    (root / "endpoints" / "shop.json").write_text(
        json.dumps({"format": "vakra-tui/endpoints@1", "domain": "shop", "endpoints": [ENDPOINT]})
    )
    (root / "documents" / "shop_docs.json").write_text(json.dumps([{"doc_id": "a", "text": "Hats are made of felt."}]))
    return root


def command(data: Path, *words: str) -> StdioServerParameters:
    return StdioServerParameters(command=SERVE[0], args=[*SERVE[1:], str(data), *words])


def native(data: Path, capability: int) -> tuple[NativeEnvironment, Instance]:
    environment = NativeEnvironment(Dataset.open(data))
    return environment, Instance(uuid="", capability=capability, domain="shop", turns=())


CALLS: dict[int, list[tuple[str, dict[str, Any]]]] = {
    1: [
        ("get_data", {"tool_universe_id": "slot-1"}),
        (
            "filter_data",
            {"data_label": "retrieved_data_1", "key_name": "item_name", "value": "Öl", "condition": "equal_to"},
        ),
        ("get_data", {}),
        ("filter_data", {"data_label": "nope", "key_name": "x", "value": 1, "condition": "equal_to"}),
        ("filter_data", {"data_label": 1}),
        ("get_data", {"tool_universe_id": "nowhere"}),
        ("Calculator", {"input_1": 1, "input_2": 0, "operation": "divide"}),
        ("no_tool", {}),
    ],
    2: [("get_names", {"kind": "wear"}), ("get_names", {}), ("get_data", {}), ("other", {})],
    3: [("get_names", {"kind": "x"})],
    4: [("query_shop", {"question": "felt hats", "n_results": 1}), ("query_shop", {"question": "x", "n_results": 0})],
}


@pytest.mark.parametrize("capability", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_answers_are_the_native_ones_to_the_byte(data: Path, capability: int, mode: str) -> None:
    environment, instance = native(data, capability)
    session = await environment.open(instance)
    words = ("--capability", str(capability), "--domain", "shop")
    async with Client(command(data, *words), mode=mode) as client:
        listed = (await client.list_tools()).tools
        expected = await session.list_tools()
        assert [(tool.name, tool.description, tool.input_schema) for tool in listed] == [
            (tool.name, tool.description, {"type": "object", **tool.input_schema}) for tool in expected
        ]
        for name, arguments in CALLS[capability]:
            theirs = await client.call_tool(name, arguments)
            ours = await session.call(name, arguments)
            assert (theirs.content[0].text, theirs.is_error) == (ours.text, ours.is_error)
    await session.close()
    await environment.close()


async def test_a_switch_of_tool_style_is_announced(data: Path) -> None:
    heard = asyncio.Event()

    async def handler(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.set()

    async with Client(
        command(data, "--capability", "1", "--domain", "shop"), mode="legacy", message_handler=handler
    ) as c:
        before = {tool.name for tool in (await c.list_tools()).tools}
        await c.call_tool("get_data", {"tool_universe_id": "sel-1"})
        await asyncio.wait_for(heard.wait(), 60)
        after = {tool.name for tool in (await c.list_tools(cache_mode="bypass")).tools}
    assert "filter_data" in before and "filter_data" not in after
    assert any(name.startswith("get_") and name != "get_data" for name in after)


async def test_a_session_through_it_is_a_native_one(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "connections.yaml"
    entry = {"mode": "stdio", "command": SERVE[0], "args": [*SERVE[1:], str(data)]}
    path.write_text(yaml.safe_dump({"tasks": {1: entry}}))
    remote = RemoteEnvironment(path, Dataset.open(data), logs=tmp_path)
    environment, _ = native(data, 1)
    try:
        for identity in ("slot-1", "sel-1", "sel-1"):
            instance = Instance(uuid=identity, capability=1, domain="shop", turns=(), universe_id=identity)
            theirs, ours = await remote.open(instance), await environment.open(instance)
            assert [tool.name for tool in await theirs.list_tools()] == [tool.name for tool in await ours.list_tools()]
            for arguments in ({"tool_universe_id": identity}, {}):
                assert (await theirs.call("get_data", arguments)).text == (await ours.call("get_data", arguments)).text
            await theirs.close()
        assert remote.starts == 1
    finally:
        await remote.close()


def test_capability_and_domain_may_come_from_the_environment(data: Path) -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    variables = {**os.environ, "CAPABILITY_ID": "2", "MCP_DOMAIN": "shop"}
    with subprocess.Popen([*SERVE, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as process:
        assert process.stdin is not None and process.stdout is not None
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(60) == 0
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["get_names"]


def talk(data: Path, text: str, *words: str) -> tuple[int, list[dict[str, Any]], str]:
    """(exit code, messages, stderr) of a server whose stdin is a file with these lines."""
    words = words or ("--capability", "1", "--domain", "shop")
    with tempfile.TemporaryFile() as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))
        stream.seek(0)
        done = subprocess.run([*SERVE, str(data), *words], stdin=stream, capture_output=True, timeout=120, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def request(identity: Any, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}) + "\n"


def test_all_that_was_asked_before_the_end_of_input_is_answered(data: Path) -> None:
    calls = "".join(request(number, "tools/call", name="get_data") for number in range(3))
    code, answers, said = talk(data, request("i", "initialize", **INITIALIZE) + calls)
    assert (code, said) == (0, "")
    assert [answer["id"] for answer in answers] == ["i", 0, 1, 2]
    assert [json.loads(answer["result"]["content"][0]["text"])["handle"] for answer in answers[1:]] == [
        f"retrieved_item_{number}" for number in (1, 2, 3)
    ]


DEEP = "[" * 900 + "]" * 900 + "}"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("not JSON", -32700),
        ("[" * 100_000, -32700),
        ("[1]", -32600),
        ("{}", -32600),
        ('"text"', -32600),
        (request(1, "prompts/list").strip(), -32601),
        (request(1, "server/discover").strip(), -32601),
        (request(1, "tools/call").strip(), -32602),
        (request(1, "tools/call", name="get_data", arguments=[1]).strip(), -32602),
        (request(1, "tools/call", name="get_data", arguments={"a": 1}).strip().replace("1}", DEEP), -32700),
        (request(1, "tools/call", name="get_data", arguments={"tool_universe_id": "odd-1"}).strip(), -32603),
    ],
)
def test_nonsense_gets_an_error_and_the_next_request_an_answer(data: Path, line: str, code: int) -> None:
    status, answers, said = talk(data, line + "\n\n" + request(2, "ping"))
    assert (status, said) == (0, "")
    assert [answer.get("error", {}).get("code") for answer in answers] == [code, None]
    assert answers[1]["result"] == {}


def test_notifications_and_answers_are_not_answered(data: Path) -> None:
    lines = ['{"jsonrpc": "2.0", "method": "notifications/cancelled"}', '{"jsonrpc": "2.0", "id": 4, "result": {}}', ""]
    assert talk(data, "\n".join(lines)) == (0, [], "")


def test_half_a_surrogate_pair_in_an_argument_is_no_end(data: Path) -> None:
    text = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_\\ud83d"}}\n'
    _, answers, _ = talk(data, text)
    assert answers[0]["result"]["isError"] is True


@pytest.mark.parametrize("wanted", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01", None])
def test_every_version_with_a_handshake_is_spoken(data: Path, wanted: str | None) -> None:
    from toolenv.serve.lines import VERSIONS

    assert tuple(VERSIONS) == tuple(HANDSHAKE_PROTOCOL_VERSIONS)
    _, answers, _ = talk(data, request(1, "initialize", protocolVersion=wanted))
    assert answers[0]["result"]["protocolVersion"] == (wanted if wanted in VERSIONS else VERSIONS[-1])


def test_the_protocols_library_is_not_imported_for_a_handshake(data: Path) -> None:
    code = "import sys; from vakra_tui.cli import main; main(); sys.exit(any(m in sys.modules for m in HEAVY))"
    code = code.replace("HEAVY", "('mcp', 'pydantic', 'numpy', 'fastapi', 'textual')")
    words = ("serve", str(data), "--capability", "1", "--domain", "shop")
    text = request(1, "initialize", **INITIALIZE) + request(2, "tools/list") + request(3, "tools/call", name="get_data")
    done = subprocess.run(
        [sys.executable, "-c", code, *words], input=text.encode(), capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 3)


def test_termination_ends_it_quietly(data: Path) -> None:
    command = [*SERVE, str(data), "--capability", "1", "--domain", "shop"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(request(1, "ping").encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


INITIALIZE = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--domain", "shop"), "which capability?"),
        (("--capability", "2"), "which domain?"),
        (("--capability", "2", "--domain", "elsewhere"), "no tools for capability 2 of the domain 'elsewhere'"),
        (("--capability", "2", "--domain", "shop", "--http", "nowhere"), "is no HOST:PORT"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(data: Path, words: tuple[str, ...], said: str) -> None:
    bare = {name: value for name, value in os.environ.items() if name not in ("CAPABILITY_ID", "MCP_DOMAIN")}
    done = subprocess.run(
        [*SERVE, str(data), *words], capture_output=True, text=True, env=bare, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


# --- over HTTP --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(data: Path, capability: int) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    words = (str(data), "--capability", str(capability), "--domain", "shop", "--http", "127.0.0.1:0")
    process = await asyncio.create_subprocess_exec(*SERVE, *words, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        url = (await asyncio.wait_for(process.stderr.readline(), 60)).decode().strip()
        assert url.startswith("http://127.0.0.1:")
        yield url, process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_clients_over_http_have_tables_of_their_own(data: Path) -> None:
    async with served(data, 1) as (url, _), Client(url) as one, Client(url, mode="legacy") as two:
        for client in (one, two, one):
            answer = await client.call_tool("get_data", {})
            first = json.loads(answer.content[0].text)["handle"]
            assert first in ("retrieved_item_1", "retrieved_item_2")
        assert json.loads((await two.call_tool("get_data", {})).content[0].text)["handle"] == "retrieved_item_2"


async def test_a_client_without_a_session_is_told_how_to_get_one(data: Path) -> None:
    async with served(data, 1) as (url, _), Client(url, mode="2026-07-28") as client:
        with pytest.raises(MCPError, match="begin with the initialize handshake"):
            await client.call_tool("get_data", {})


async def test_our_own_client_reaches_it_and_outlives_it_in_words(data: Path, tmp_path: Path) -> None:
    async with served(data, 2) as (url, process):
        path = tmp_path / "connections.yaml"
        path.write_text(yaml.safe_dump({"tasks": {2: {"mode": "http", "server_url": url}}}))
        environment = RemoteEnvironment(path, logs=tmp_path)
        session = await environment.open(Instance(uuid="i", capability=2, domain="shop", turns=()))
        assert json.loads((await session.call("get_names", {"kind": "wear"})).text) == {"names": ["Hut"]}
        assert (await session.call("get_names", {})).error_kind == "refused_arguments"
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), 60)
        with pytest.raises(EnvironmentFailure, match=r"http://127\.0\.0\.1"):
            await session.call("get_names", {"kind": "wear"})
        await asyncio.wait_for(environment.close(), 60)


@pytest.mark.parametrize(
    ("address", "parts"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:9", ("localhost", 9))],
)
def test_addresses_are_read(address: str, parts: tuple[str, int]) -> None:
    assert host_and_port(address) == parts
    assert is_local(address)


@pytest.mark.parametrize("address", ["", "80", ":80", "host", "host:x", "host:70000", "host:-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(DataError):
        host_and_port(address)
