"""Sessions over a few servers: pooled, reset, taken away and rebuilt; containers, HTTP and several servers at once."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_entries import SERVER, entry

from toolenv.environment import ToolSession
from toolenv.errors import DataError, EnvironmentFailure, NoEnvironment
from toolenv.model import Instance
from toolenv.remote import RemoteEnvironment, pool
from toolenv.remote.config import described, read_config
from toolenv.remote.web import mended


def instance(universe: str | None = None, capability: int = 1, domain: str = "towns") -> Instance:
    return Instance(uuid=universe or "i-1", capability=capability, domain=domain, turns=(), universe_id=universe)


async def opened(session: ToolSession, universe: str) -> str:
    return json.loads((await session.call("get_data", {"tool_universe_id": universe})).text)["handle"]


# --- capability 1 -----------------------------------------------------------------------------------------------------


async def test_sessions_of_many_universes_share_a_few_servers_and_begin_afresh(make: Any) -> None:
    environment = make("tables", limit=2)

    async def one(number: int) -> None:
        universe = f"u{number % 3 + 1}"
        session = await environment.open(instance(universe))
        handle = await opened(session, universe)
        assert handle.endswith("_1")
        rows = (await session.call("count", {"data_label": handle})).text
        assert rows == ("2" if universe == "u1" else "1")
        await session.close()

    await asyncio.gather(*(one(number) for number in range(24)))
    assert environment.starts <= 2


async def test_the_same_universe_again_is_left_first_when_another_is_known(make: Any) -> None:
    environment = make("tables", limit=1)
    for universe in ("u1", "u2", "u2", "u2"):
        session = await environment.open(instance(universe))
        assert (await opened(session, universe)).endswith("_1")
        await session.close()
    assert environment.starts == 1


async def test_without_another_universe_the_server_is_started_anew(make: Any) -> None:
    environment = make("tables", limit=1)
    for _ in range(2):
        session = await environment.open(instance("u1"))
        assert await opened(session, "u1") == "retrieved_city_1"
        await session.close()
    assert environment.starts == 2


async def test_a_server_that_keeps_handles_over_a_switch_is_not_used_again(make: Any) -> None:
    environment = make("tables kept", limit=1)
    for universe in ("u1", "u2"):
        session = await environment.open(instance(universe))
        assert (await opened(session, universe)).endswith("_1")
        await session.close()
    assert environment.starts == 2


async def test_a_session_begins_without_tables(make: Any) -> None:
    session = await make("tables").open(instance("u1"))
    early = await session.call("count", {"data_label": "retrieved_city_1"})
    assert early.failed
    assert (await session.call("get_data", {})).handle == "retrieved_city_1"
    assert (await session.call("get_data", {})).handle == "retrieved_city_2"
    assert (await session.call("count", {"data_label": "retrieved_city_1"})).text == "2"


async def test_an_unknown_universe_is_a_failed_call(make: Any) -> None:
    session = await make("tables").open(instance("u9"))
    result = await session.call("get_data", {"tool_universe_id": "u9"})
    assert (result.failed, result.error_kind) == (True, "tool_failed")


async def test_a_resting_session_gives_its_server_away_and_is_rebuilt(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "IDLE_S", 0.05)
    environment = make("tables", limit=1)
    first = await environment.open(instance("u1"))
    await opened(first, "u1")
    second_handle = (await first.call("get_data", {})).handle
    second = await asyncio.wait_for(environment.open(instance("u2")), 60)
    assert await opened(second, "u2") == "retrieved_river_1"
    result = await asyncio.wait_for(first.call("count", {"data_label": second_handle}), 60)
    assert (result.text, result.notes, first.drift) == ("2", (), [])
    assert (await asyncio.wait_for(second.call("count", {"data_label": "retrieved_river_1"}), 60)).text == "1"
    assert environment.starts == 1


async def test_a_session_that_has_switched_is_rebuilt_from_there(make: Any) -> None:
    environment = make("tables", limit=2)
    session = await environment.open(instance("u1"))
    await opened(session, "u1")
    assert await opened(session, "u2") == "retrieved_river_1"
    assert (await session.call("get_data", {})).handle == "retrieved_river_2"
    fork = await session.fork()
    assert fork.drift == []
    assert (await fork.call("get_data", {})).handle == "retrieved_river_3"
    assert (await fork.call("count", {"data_label": "retrieved_river_2"})).text == "1"


async def test_a_fork_is_independent_and_says_what_drifted(make: Any) -> None:
    environment = make("tables", limit=2)
    session = await environment.open(instance("u1"))
    await opened(session, "u1")
    fork = await session.fork()
    assert (await fork.call("get_data", {})).handle == "retrieved_city_2"
    assert (await session.call("get_data", {})).handle == "retrieved_city_2"
    assert fork.drift == []
    drifting = await make("tables drifting", limit=2).open(instance("u1"))
    await opened(drifting, "u1")
    fork = await drifting.fork()
    assert len(fork.drift) == 1 and "call 1 (get_data)" in fork.drift[0]


async def test_a_cancelled_call_does_not_leave_a_server_in_an_unknown_state(make: Any) -> None:
    environment = make(tasks={1: entry("slow")}, limit=1)
    opening = asyncio.create_task(environment.open(instance("u1")))
    while not environment.outstanding:  # noqa: ASYNC110 - the table is what tells
        await asyncio.sleep(0.01)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert [one for made in environment._pools.values() for one in made.bundles] == []


async def test_a_closed_session_and_a_closed_environment_fail_in_words(make: Any) -> None:
    environment = make("none")
    session = await environment.open(instance(capability=2))
    await session.close()
    with pytest.raises(EnvironmentFailure, match="closed"):
        await session.call("ask", {})
    await environment.close()
    with pytest.raises(EnvironmentFailure, match="closed"):
        await environment.open(instance(capability=2))


async def test_a_server_that_starts_while_its_pool_is_closed_is_closed_too() -> None:
    class Starting:
        problems: tuple[str, ...] = ()
        connections: tuple[Any, ...] = ()
        closed = False
        begun = asyncio.Event()
        go_on = asyncio.Event()

        async def start(self) -> None:
            self.begun.set()
            await self.go_on.wait()

        async def close(self) -> None:
            self.closed = True

    bundle = Starting()
    servers = pool.Pool("towns", lambda number: bundle, ())  # type: ignore[arg-type, return-value]
    sharing = asyncio.create_task(servers.share())
    await bundle.begun.wait()
    await servers.close()
    bundle.go_on.set()
    with pytest.raises(EnvironmentFailure, match="towns is closed"):
        await sharing
    assert bundle.closed and servers.bundles == []


# --- other capabilities -----------------------------------------------------------------------------------------------


async def test_stateless_sessions_share_servers_and_calls_overlap(make: Any) -> None:
    environment = make("none", limit=2)
    sessions = await asyncio.gather(*(environment.open(instance(capability=2)) for _ in range(10)))
    answers = await asyncio.gather(*(one.call("ask", {"text": str(n)}) for n, one in enumerate(sessions)))
    assert [answer.text for answer in answers] == [f"ask: {n}" for n in range(10)]
    assert environment.starts <= 2


async def test_get_data_and_other_spellings_outside_capability_1(make: Any) -> None:
    session = await make("none").open(instance(capability=2))
    assert (await session.call("get_data", {})).text == '{"domain": "towns", "tools": 1}'
    assert (await session.call("task_2_towns_ask", {"text": "x"})).text == "ask: x"


async def test_several_servers_make_one_list(make: Any) -> None:
    environment = make(tasks={2: {"servers": [entry("named", "north"), entry("named", "south")]}})
    session = await environment.open(instance(capability=2))
    assert [tool.name for tool in await session.list_tools()] == ["shared", "only_north", "only_south"]
    assert (await session.call("only_south", {})).text == "only_south by south"
    assert (await session.call("shared", {})).text == "shared by north"
    assert any("offers shared too" in problem for problem in environment.oddities)


async def test_a_server_is_told_capability_and_domain_but_no_keys(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAKRA_TUI_JUDGE_API_KEY", "secret")
    monkeypatch.setenv("THE_OWN", "yes")
    environment = make(tasks={3: entry("told", env={"EXTRA": "more", "FLAG": True})})
    session = await environment.open(instance(capability=3))
    wanted = "CAPABILITY_ID,MCP_DOMAIN,EXTRA,FLAG,THE_OWN,VAKRA_TUI_JUDGE_API_KEY"
    told = json.loads((await session.call("ask", {"text": wanted})).text)
    assert told == {
        "CAPABILITY_ID": "3",
        "MCP_DOMAIN": "towns",
        "EXTRA": "more",
        "FLAG": "true",
        "THE_OWN": "yes",
        "VAKRA_TUI_JUDGE_API_KEY": None,
    }


# --- containers -------------------------------------------------------------------------------------------------------

RUNTIME = """import os, sys
words = sys.argv[1:]
if words[:2] == ["container", "inspect"]:
    print("true" if words[-1] == "{container}" else "false")
    sys.exit(0)
assert words[:2] == ["exec", "-i"], words
words = words[2:]
while words[0] == "-e":
    name, _, value = words[1].partition("=")
    os.environ[name] = value
    words = words[2:]
if words[0] != "{container}":
    sys.exit("Error: No such container: " + words[0])
os.environ["RUNTIME"] = os.path.basename(sys.argv[0]).removesuffix(".py")
os.execvp(words[1], words[1:])
"""


def runtime(folder: Path, name: str, container: str) -> None:
    program = folder / f"{name}.py"
    program.write_text(RUNTIME.replace("{container}", container))
    # By a shell: the first line of a script cannot hold an interpreter whose path is long or has spaces.
    (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))} "$@"\n')
    (folder / name).chmod(0o755)


def container(name: str, *words: str, **more: Any) -> dict[str, Any]:
    command = [sys.executable, str(SERVER), *words]
    return {"mode": "stdio", "container_name": name, "container_runtime": None, "container_command": command, **more}


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


async def test_a_command_in_a_container_is_found_in_the_runtime_that_has_it(make: Any, binaries: Path) -> None:
    runtime(binaries, "podman", "another")
    runtime(binaries, "docker", "tools")
    environment = make(tasks={2: container("tools", "told", container_env={"MCP_DB_ROOT": "/app/db"})})
    session = await environment.open(instance(capability=2))
    wanted = "CAPABILITY_ID,MCP_DOMAIN,MCP_DB_ROOT,RUNTIME"
    assert json.loads((await session.call("ask", {"text": wanted})).text) == {
        "CAPABILITY_ID": "2",
        "MCP_DOMAIN": "towns",
        "MCP_DB_ROOT": "/app/db",
        "RUNTIME": "docker",
    }


async def test_a_second_command_in_the_container_adds_its_tools(make: Any, binaries: Path) -> None:
    runtime(binaries, "docker", "tools")
    second = [sys.executable, str(SERVER), "named", "south"]
    environment = make(tasks={2: container("tools", "named", "north", secondary_container_command=second)})
    names = [tool.name for tool in await (await environment.open(instance(capability=2))).list_tools()]
    assert names == ["shared", "only_north", "only_south"]


async def test_containers_that_cannot_be_reached_say_why(make: Any, binaries: Path) -> None:
    environment = make(tasks={2: container("tools", "told")})
    with pytest.raises(EnvironmentFailure, match="neither podman nor docker is installed"):
        await environment.open(instance(capability=2))
    runtime(binaries, "podman", "another")
    with pytest.raises(EnvironmentFailure, match="No such container: tools"):
        await environment.open(instance(capability=2))
    wanted = make(tasks={2: container("tools", "told", container_runtime="nerdctl")})
    with pytest.raises(EnvironmentFailure, match="nerdctl is not installed"):
        await wanted.open(instance(capability=2))


# --- the connection file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no `tasks:`"),
        ("tasks: {}", "no `tasks:`"),
        ("tasks: [1]", "no `tasks:`"),
        ("tasks: {x: {mode: stdio}}", "capabilities 1 to 4"),
        ("tasks: {5: {mode: stdio, command: a}}", "capabilities 1 to 4"),
        ("tasks: {1: null}", "an entry is a mapping"),
        ("tasks: {1: {mode: websocket, server_url: 'ws://x'}}", "'websocket' is not supported"),
        ("tasks: {1: {mode: http}}", "needs `server_url`"),
        ("tasks: {1: {mode: stdio}}", "needs `command` or `container_name`"),
        ("tasks: {1: {command: {a: 1}}}", "`command` is a list of words"),
        ("tasks: {1: {command: a, env: [x]}}", "`env` is a mapping"),
        ("tasks: {1: {command: a, timeout_s: true}}", "`timeout_s` is a number"),
        ("tasks: {1: {command: a, domains: x}}", "`domains` is a list"),
        ("tasks: {1: {servers: []}}", "`servers` is a list"),
        ("tasks: [", "not valid YAML"),
        ("tasks:\n  1: [a", r"not valid YAML: .*line 2, column"),
        ("tasks: {1: 2001-99-99}", "not valid YAML: month must be"),
        ("[" * 3000, "not valid YAML"),
    ],
)
def test_a_connection_file_that_cannot_be_used_says_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as failure:
        read_config(path)
    assert str(path) in str(failure.value) and "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"command": "/home/ann/bin/python", "args": ["-m", "a.b", "--key", "hush"]}, "python -m a.b"),
        ({"command": ["/opt/node", "/home/ann/server.mjs", "hush"]}, "node server.mjs"),
        ({"command": ["serve", "hush"]}, "serve"),
        ({"container": "c", "command": ["python", "/app/d.py", "hush"]}, "python d.py in container c"),
        ({"mode": "http", "server_url": "https://ann:hush@example.org/mcp?key=hush#hush"}, "https://example.org/mcp"),
    ],
)
def test_a_server_is_named_without_secrets_and_folders(tmp_path: Path, entry: dict[str, Any], named: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"tasks": {1: entry}}))
    assert described(read_config(path)[1].servers[0]) == named


def test_both_published_forms_are_read(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    tasks = {"tasks": {1: {"mode": "stdio", "command": "python", "args": ["-m", "a.b"]}, 2: container("c2", "x")}}
    path.write_text(yaml.safe_dump(tasks))
    found = read_config(path)
    assert found[1].servers[0].command == (sys.executable, "-m", "a.b")
    assert (found[2].servers[0].kind, found[2].servers[0].container) == ("container", "c2")
    quick = {
        "capabilities": {3: {"container": "c3", "env": {"CAPABILITY_ID": "3"}, "command": ["python", "/app/d.py"]}}
    }
    path.write_text(yaml.safe_dump(quick))
    server = read_config(path)[3].servers[0]
    assert (server.kind, server.command, server.env) == ("container", ("python", "/app/d.py"), {"CAPABILITY_ID": "3"})


async def test_domains_narrow_what_is_served(make: Any) -> None:
    environment = make(tasks={2: entry("none", domains=["towns"])})
    assert environment.serves(2, "towns")
    assert not environment.serves(2, "rivers") and not environment.serves(1, "towns")
    with pytest.raises(NoEnvironment):
        await environment.open(instance(capability=2, domain="rivers"))


async def test_an_unset_variable_in_a_url_is_named(make: Any) -> None:
    environment: RemoteEnvironment = make(tasks={2: {"mode": "http", "server_url": "${NOT_SET_ANYWHERE}/mcp/{domain}"}})
    with pytest.raises((DataError, EnvironmentFailure), match="NOT_SET_ANYWHERE is not set"):
        await environment.open(instance(capability=2))


async def test_a_url_without_a_server_is_a_failure(make: Any, capfd: pytest.CaptureFixture[str]) -> None:
    environment = make(tasks={2: {"mode": "http", "server_url": "http://127.0.0.1:9/mcp"}})
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:9/mcp cannot be reached"):
        await environment.open(instance(capability=2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb'"plain"', rb'"plain"'),
        (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'),
        (rb'"\ud83d x \udc97"', rb'"\ufffd x \ufffd"'),
        (rb'"\\ud83d"', rb'"\\ud83d"'),
        (rb'"\\\ud83d"', rb'"\\\ufffd"'),
        (rb'"\uD83D\uD83D\uDE00"', rb'"\ufffd\uD83D\uDE00"'),
    ],
)
def test_half_pairs_in_json_are_mended_and_nothing_else(text: bytes, expected: bytes) -> None:
    assert mended(text) == expected
    assert os.fsencode(os.fsdecode(expected)) == expected


# --- the commands -----------------------------------------------------------------------------------------------------


def test_the_commands_reach_servers_and_say_which_do_not_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from vakra_tui.cli import main

    folder = tmp_path / "data" / "test"
    for name in ("capability_2_dashboard_apis", "capability_3_multihop_reasoning", "capability_4_multiturn"):
        (folder / name / "input").mkdir(parents=True)
        record = {"uuid": f"t-{name}", "domain": "towns", "dialogue": {"turns": [{"turn_id": 0, "query": "?"}]}}
        (folder / name / "input" / "towns.json").write_text(json.dumps([record]))
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"tasks": {2: entry("banner"), 3: entry("dies at start"), 4: entry("content")}}))
    words = [str(tmp_path / "data"), "--env", f"config:{path}"]
    assert main(["doctor", *words, "--db", f"sqlite:///{tmp_path / 's.db'}"]) == 4
    printed = capfd.readouterr().out
    assert "capability 2, towns: 1 tools" in printed
    assert "exited (code 3): missing database file" in printed
    domain = ["--capability", "2", "--domain", "towns"]
    assert main(["tools", *words, *domain, "ask", '{"text": "x"}']) == 0
    streams = capfd.readouterr()
    assert streams.out == "ask: x\n"
    assert "lines on its stdout that are no messages" in streams.err
    domain = ["--capability", "4", "--domain", "towns"]
    assert main(["tools", *words, *domain, "ask", json.dumps({"text": '{"content": []}'})]) == 0
    streams = capfd.readouterr()
    assert (streams.out, "no content at all" in streams.err) == ("\n", True)
    assert main(["tools", *words, "--capability", "3", "--domain", "towns"]) == 3
