"""Servers that do things wrong: each fault becomes an answer, a sentence or a failure, and nothing hangs or leaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from small_entries import entry

from toolenv.environment import ToolSession
from toolenv.errors import EnvironmentFailure
from toolenv.model import Instance
from toolenv.remote import RemoteEnvironment
from toolenv.remote.connection import ServerGone, Unanswered
from toolenv.remote.log import ServerLog
from toolenv.remote.pool import RESTARTS


def instance(capability: int = 2, universe: str | None = None) -> Instance:
    return Instance(uuid=universe or "i-1", capability=capability, domain="towns", turns=(), universe_id=universe)


def pids(environment: RemoteEnvironment) -> list[int]:
    found = [
        connection.pid
        for pool in environment._pools.values()
        for bundle in pool.bundles
        for connection in bundle.connections
    ]
    return [pid for pid in found if pid is not None]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(word: str) -> list[str]:
    """This process's children with a word in their command line."""
    found = []
    for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if word in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                found.append(pid)
    return found


async def waiting(environment: RemoteEnvironment, tool: str) -> None:
    """Until a call of the tool is on its way."""
    while tool not in [call.tool for call in environment.outstanding]:  # noqa: ASYNC110 - the table is what is tested
        await asyncio.sleep(0.01)


def logs(folder: Path) -> str:
    return "".join(path.read_text() for path in (folder / "logs").glob("*.log"))


async def test_a_server_that_dies_in_a_call_is_named_with_its_last_words(make: Any) -> None:
    session = await make("dies").open(instance())
    with pytest.raises(ServerGone, match=r"small_server\.py exited \(code 7\): first cause \| last words; ask was"):
        await session.call("ask", {})


async def test_a_server_that_dies_at_start_is_tried_a_few_times_and_then_no_more(make: Any) -> None:
    environment = make("dies at start", limit=1)
    for _ in range(RESTARTS + 1):
        with pytest.raises(EnvironmentFailure, match=r"exited \(code 3\): missing database file"):
            await environment.open(instance())
    with pytest.raises(EnvironmentFailure, match="failed 4 times and is not started again"):
        await environment.open(instance())
    assert environment.starts == RESTARTS + 1


async def test_the_next_session_gets_a_new_server_after_a_crash_and_so_does_this_one(make: Any) -> None:
    environment = make("dies once", limit=1)
    session = await environment.open(instance())
    with pytest.raises(ServerGone):
        await session.call("ask", {"text": "die"})
    assert (await session.call("ask", {"text": "again"})).text == "ask: again"
    other = await environment.open(instance())
    assert (await other.call("ask", {"text": "b"})).text == "ask: b"
    assert environment.starts == 2


async def test_a_grandchild_that_holds_the_pipes_does_not_hide_the_death(make: Any) -> None:
    session = await make("orphan").open(instance())
    with pytest.raises(ServerGone, match=r"exited \(code 1\)"):
        await asyncio.wait_for(session.call("ask", {}), 60)


@pytest.mark.parametrize(("fault", "said"), [("other version", "speaks protocol"), ("no list", "without a list")])
async def test_nonsense_is_a_failure_in_one_sentence(make: Any, fault: str, said: str) -> None:
    with pytest.raises(EnvironmentFailure, match=said):
        await (await make(fault).open(instance())).list_tools()


async def test_a_command_that_is_not_there_is_named(make: Any) -> None:
    environment = make(tasks={2: {"mode": "stdio", "command": "/no/such/program"}})
    with pytest.raises(EnvironmentFailure, match=r"/no/such/program cannot be started: No such file"):
        await environment.open(instance())


async def test_stray_lines_are_skipped_counted_and_logged(make: Any, tmp_path: Path) -> None:
    environment = make("banner")
    session = await environment.open(instance())
    assert (await session.call("ask", {"text": "x"})).text == "ask: x"
    assert any("printed 3 lines on its stdout" in problem for problem in environment.oddities)
    await environment.close()
    assert "stdout: server v1 starting..." in logs(tmp_path)


def test_a_log_that_cannot_be_written_to_keeps_no_server_from_answering(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/full"), tmp_path / "file" / "log"):
        (tmp_path / "file").write_text("in the way")
        log = ServerLog(path)
        for _ in range(100):
            log.stderr(b"x" * 1000 + b"\n")
        log.stray_line(b"y")
        log.close()
        assert log.stray == 1 and len(log.tail()) == 12
        assert log.problem is not None and log.problem.startswith(f"{path} cannot be written: ")


def test_what_a_server_prints_is_in_its_log_while_it_runs(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "new" / "log")
    log.stderr(b"begins\nand goes")
    assert (tmp_path / "new" / "log").read_text() == "begins\n"
    log.close()
    assert (tmp_path / "new" / "log").read_text() == "begins\nand goes\n" and log.problem is None


async def test_a_log_that_cannot_be_written_to_is_told_with_the_servers_other_oddities(
    make: Any, tmp_path: Path
) -> None:
    (tmp_path / "logs").write_text("in the way")
    environment = make("banner")
    session = await environment.open(instance())
    assert (await session.call("ask", {"text": "x"})).text == "ask: x"
    assert [problem.partition("; ")[2] for problem in environment.oddities if "printed 3 lines" in problem] == [
        "its log does not hold them all."
    ]
    told = [problem for problem in environment.oddities if "has no whole log" in problem]
    assert len(told) == 1 and "cannot be written: " in told[0] and str(tmp_path / "logs") in told[0]


async def test_stderr_goes_to_a_file_and_to_no_terminal(
    make: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    environment = make("noise")
    session = await environment.open(instance())
    assert (await session.call("ask", {"text": "x"})).text == "ask: x"
    await environment.close()
    assert capfd.readouterr() == ("", "")
    text = logs(tmp_path)
    assert ("\u241b[31mred" in text and "<009B>2J line" in text) or "\ufffd2J line" in text
    assert text.count("red") == 8000
    assert not any(ord(character) < 32 and character != "\n" for character in text)


async def test_an_error_flag_reaches_the_result(make: Any) -> None:
    result = await (await make("error").open(instance())).call("ask", {})
    assert (result.text, result.is_error, result.failed, result.error_kind) == (
        "no such table: Teams",
        True,
        True,
        "tool_failed",
    )


IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("answer", "text", "noted"),
    [
        ({"content": [IMAGE]}, "[image image/png 8 bytes]", "more than text: image"),
        ({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}, "one\ntwo", None),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "doc://1", "mimeType": "text/plain", "text": "part"}}
                ]
            },
            "[resource text/plain doc://1]\npart",
            "more than text: resource",
        ),
        ({"content": [{"type": "resource_link", "uri": "doc://2", "name": "d"}]}, "[resource_link doc://2 d]", "link"),
        ({"content": []}, "", "no content at all"),
        ({"content": [{"type": "text", "text": ""}]}, "", None),
        ({"content": [], "structuredContent": {"n": 3}}, '{"n": 3}', "structured content"),
        ({"content": [{"type": "text", "text": '{"n":3}'}], "structuredContent": {"n": 3}}, '{"n":3}', None),
        ({"structuredContent": [1]}, "[1]", "structured content"),
        ({"content": [{"type": "hologram", "depth": 2}]}, '[hologram] {"depth": 2}', "hologram"),
        ({"content": "words"}, "", "no content at all"),
        ({"content": [7, {"type": "text"}]}, "[content of an unknown kind: 7]\n[text]", "int, text"),
    ],
)
async def test_every_kind_of_content_is_kept(make: Any, answer: dict[str, Any], text: str, noted: str | None) -> None:
    result = await (await make("content").open(instance())).call("ask", {"text": json.dumps(answer)})
    assert result.text == text
    assert (noted is None) == (not result.notes)
    assert noted is None or any(noted in note for note in result.notes)


async def test_all_pages_are_read_in_order(make: Any) -> None:
    session = await make("pages").open(instance())
    assert [tool.name for tool in await session.list_tools()] == [f"t{number:03}" for number in range(120)]
    assert (await session.call("t119", {"text": "x"})).text == "t119: x"


async def test_pages_in_a_circle_end_and_are_told(make: Any) -> None:
    environment = make("circle")
    session = await environment.open(instance())
    assert [tool.name for tool in await session.list_tools()] == ["a", "b"]
    assert any("in a circle" in problem for problem in environment.oddities)
    assert any("without a name" in problem for problem in environment.oddities)


async def test_a_large_result_arrives_whole(make: Any) -> None:
    result = await (await make("large").open(instance())).call("ask", {})
    assert len(json.loads(result.text)) == 60_000


async def test_a_changed_list_is_known_before_the_answer_that_follows(make: Any) -> None:
    session = await make("changing").open(instance())
    heard: list[str] = []
    session.on_tools_changed(lambda: heard.append("changed"))
    assert [tool.name for tool in await session.list_tools()] == ["open", "old"]
    assert (await session.call("open", {})).text == "opened"
    assert heard == ["changed"]
    assert [tool.name for tool in await session.list_tools()] == ["open", "new"]
    gone = await session.call("old", {})
    assert (gone.failed, gone.error_kind) == (True, "unknown_tool")


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (-32602, "Unknown tool: x", "unknown_tool"),
        (-32602, "field a is missing", "refused_arguments"),
        (-32601, "no such method", "tool_failed"),
        (0, "the handler raised this", "tool_failed"),
        (-32603, "Internal error", None),
        (-32000, "the data base is away", None),
    ],
)
async def test_a_protocol_error_is_an_answer_or_a_failure(make: Any, code: int, message: str, kind: str | None) -> None:
    session = await make("protocol error").open(instance())
    call = session.call("ask", {"text": json.dumps([code, message])})
    if kind is None:
        with pytest.raises(EnvironmentFailure):
            await call
        return
    result = await call
    assert (result.is_error, result.error_kind) == (True, kind)


async def test_silence_ends_at_the_deadline(make: Any) -> None:
    session = await make("slow", timeout_s=0.5).open(instance())
    with pytest.raises(Unanswered, match=r"no answer to ask within 0\.5 s"):
        await session.call("ask", {})


async def test_progress_resets_the_deadline(make: Any) -> None:
    environment = make(tasks={2: entry("progress", "0.25", timeout_s=2)})
    result = await (await environment.open(instance())).call("ask", {"text": "x"})
    assert result.text == "ask: x"
    assert result.duration_s > 2


async def test_outstanding_calls_are_listed(make: Any) -> None:
    environment = make("slow")
    session = await environment.open(instance())
    call = asyncio.create_task(session.call("ask", {}))
    await waiting(environment, "ask")
    assert [(one.tool, "small_server.py" in one.server) for one in environment.outstanding] == [("ask", True)]
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert environment.outstanding == []


async def test_closing_from_another_task_during_a_call_leaves_no_process(make: Any) -> None:
    environment = make("slow")
    session: ToolSession = await asyncio.create_task(environment.open(instance()))
    call = asyncio.create_task(session.call("ask", {}))
    await waiting(environment, "ask")
    started = pids(environment)
    assert len(started) == 1 and runs(started[0])
    await asyncio.wait_for(asyncio.create_task(environment.close()), 60)
    assert not runs(started[0])
    with pytest.raises(EnvironmentFailure):
        await call


async def test_a_start_that_is_cancelled_leaves_no_process(make: Any) -> None:
    environment = make("mute")
    opening = asyncio.create_task(environment.open(instance()))
    while not children("mute"):  # noqa: ASYNC110 - the process itself is what is waited for
        await asyncio.sleep(0.01)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await environment.close()
    assert not children("mute")


async def test_half_a_surrogate_pair_is_kept_in_both_directions(make: Any) -> None:
    session = await make("halves").open(instance())
    result = await session.call("ask", {"text": "\ud83d"})
    assert result.text.startswith("caf\u00e9 \ud83d broken \udc97 end")
    echo = await (await make("none").open(instance())).call("ask", {"text": "\udc97"})
    assert echo.text == "ask: \udc97"


async def test_a_schema_is_passed_on_as_it_is(make: Any) -> None:
    session = await make("none").open(instance())
    assert (await session.list_tools())[0].input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
    }
