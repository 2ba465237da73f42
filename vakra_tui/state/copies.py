"""What can be taken out of the debugger: a step, its response, a line for the shell, the record of the branch.

A copy holds the data as it is; whoever shows it sanitises it. Nothing here touches the clipboard or a file.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from sessions.trajectory import Trajectory
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS, Instance, Json, ToolCall
from vakra_tui.state.scene import Scene, StepRow

if TYPE_CHECKING:
    from sessions.store.records import RequestRecord

CLIPBOARD_AT_MOST = 54_000
"""Bytes that go through the terminal (OSC 52); more than 74,994 in base64 are dropped by xterm and tmux alike."""

SERVED_AT = "http://127.0.0.1:8000/mcp"
"""Where a served tool is called unless VAKRA_URL says otherwise: the address of ``copied_server``."""

_PROTOCOL = "2025-06-18"
_HEADERS = "-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'"


class Copy(NamedTuple):
    """One thing to copy: ``name`` in the choice, ``words`` what it is, ``file`` the name that a file of it gets.

    ``text`` makes it, which may take long and raises ``DataError`` where it cannot be written down. ``after`` is what
    a person has to know to use it.
    """

    name: str
    words: str
    text: Callable[[], str]
    file: str
    after: str = ""


def copies_of(scene: Scene, row: StepRow | None, dataset: str = "") -> tuple[Copy, ...]:
    """Everything that can be copied at a step, the likeliest first. ``dataset``: its folder, empty for the sample."""
    return tuple(_copies(scene, row, dataset))


def _copies(scene: Scene, row: StepRow | None, dataset: str) -> Iterator[Copy]:
    if row is not None:
        yield from _of_step(scene, row, dataset)
    if any(each.step is not None for each in scene.rows):
        yield Copy(
            "record", "this branch as one record of a submission", lambda: _json(submission_of(scene)), "record.json"
        )
    verdict = scene.verdict
    if verdict is not None:
        yield Copy("verdict", "as a line of the report", lambda: _json(msgspec.to_builtins(verdict)), "verdict.json")
    yield Copy("query", "the question", lambda: scene.instance.query, "query.txt")


def _of_step(scene: Scene, row: StepRow, dataset: str) -> Iterator[Copy]:
    step, call, answer = row.step, row.call, row.answer
    result = step.result if step is not None else None
    if result is not None:
        yield Copy("response", "the tool's answer as it came", lambda: result.text, "response.txt")
    if answer is not None:
        yield Copy("answer", "the final answer", lambda: answer, "answer.txt")
    if call is not None:
        yield Copy("call", "name and arguments as JSON", lambda: _json(call_form(call)), "call.json")
    if step is not None:
        words = "call, response, who decided it and what was checked, as JSON"
        yield Copy("step", words, lambda: _json(msgspec.to_builtins(step)), "step.json")
    if can_be_called(scene, row):
        serve = f"It calls what this command serves:\n\n{serve_line(scene.instance, dataset)}"
        words = "a line that makes the call on a served session"
        yield Copy("curl", words, lambda: curl_line(scene, row), "call.sh", serve)
    hop = next((each for each in scene.truth.hops if each.number == row.hop), None)
    if hop is not None and scene.reference_shown:
        words = f"the call of hop {hop.number}, which this step stands for, as JSON"
        yield Copy("reference", words, lambda: _json(call_form(hop.call)), "reference-call.json")


def request_copies(records: Sequence[RequestRecord], base_url: str) -> tuple[Copy, ...]:
    """What the agent's model was asked for a step (the last of ``records``), and a line that asks it again.

    ``base_url`` is the agent's endpoint; the key is read from the environment by the shell and never written.
    """
    if not records:
        return ()
    request = records[-1].request
    line = "a line that asks the agent's model the same again"
    need = "It reads the key from VAKRA_TUI_AGENT_API_KEY, or else from OPENAI_API_KEY."
    return (
        Copy("request", "what the agent's model was asked, as JSON", lambda: _json(request), "request.json"),
        Copy("curl request", line, lambda: request_line(request, base_url), "request.sh", need),
    )


def request_line(request: Json, base_url: str) -> str:
    """One line for a POSIX shell that sends a request to an OpenAI-compatible endpoint."""
    key = "${VAKRA_TUI_AGENT_API_KEY:-$OPENAI_API_KEY}"
    return (
        f"U={shlex.quote(base_url.rstrip('/'))}; "
        f'curl -sS "$U/chat/completions" -H "Authorization: Bearer {key}" '
        f"-H 'Content-Type: application/json' -d {_quoted(request)}\n"
    )


def trajectory_of(scene: Scene) -> Trajectory:
    """The executed steps of the shown branch."""
    return Trajectory(instance=scene.instance, steps=tuple(row.step for row in scene.rows if row.step is not None))


def submission_of(scene: Scene) -> dict[str, Json]:
    """The record of a submission that the shown branch makes."""
    from sessions.branches import as_prediction
    from sessions.submissions import submission_record

    return submission_record(as_prediction(trajectory_of(scene)))


def call_form(call: ToolCall) -> dict[str, Json]:
    """A call as JSON; arguments that are no object stay the text that they are."""
    return {"name": call.name, "arguments": dict(call.arguments) if call.raw_arguments is None else call.raw_arguments}


def _json(value: object) -> str:
    """JSON of any value; numbers that JSON does not have become null. Raises ``DataError`` for too deep a value."""
    from sessions.formats.model import finite

    try:
        return json.dumps(finite(value), ensure_ascii=False, indent=2, default=str) + "\n"
    except RecursionError as error:
        raise DataError("This is nested too deeply to be written as JSON.") from error


# --- a line for the shell --------------------------------------------------------------------------------------------


def serve_line(instance: Instance, dataset: str = "") -> str:
    """The command that serves an instance's tools at the address that ``curl_line`` calls."""
    data = f"{shlex.quote(dataset)} " if dataset else ""
    domain = shlex.quote(instance.domain)
    return f"vakra-tui serve {data}--capability {instance.capability} --domain {domain} --http 127.0.0.1:8000"


def can_be_called(scene: Scene, row: StepRow) -> bool:
    """Whether a step is a call that a served session takes."""
    return row.call is not None and row.call.raw_arguments is None and scene.instance.capability in CAPABILITY_DIRS


def curl_line(scene: Scene, row: StepRow) -> str:
    """One line for a POSIX shell that makes the call of a step on a served session; empty where none can be made.

    It opens a session first, and where calls build on each other (capability 1) it makes those before the step, whose
    answers it throws away. ``VAKRA_URL`` names another address. Bodies are ASCII and quoted, so no data is read as
    part of the command.
    """
    if row.call is None or not can_be_called(scene, row):
        return ""
    before: Sequence[ToolCall] = _before(scene, row) if scene.instance.capability == 1 else ()
    hello = _body(
        0,
        "initialize",
        {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}},
    )
    parts = [
        f'U="${{VAKRA_URL:-{SERVED_AT}}}"',
        f"S=$(curl -sS -o /dev/null -D - \"$U\" {_HEADERS} -d {hello} | tr -d '\\r'"
        " | sed -n 's/^[Mm][Cc][Pp]-[Ss]ession-[Ii]d: //p')",
    ]
    parts += [_call(number, call, silent=True) for number, call in enumerate(before, start=1)]
    parts.append(_call(len(before) + 1, row.call, silent=False))
    return "; ".join(parts) + "\n"


def _before(scene: Scene, row: StepRow) -> list[ToolCall]:
    """The calls before a step that came out well, the opening among them: they made the tables that it may name."""
    found: list[ToolCall] = []
    for each in scene.rows:
        if each is row:
            break
        if each.call is not None and each.call.raw_arguments is None and each.outcome == "ok":
            found.append(each.call)
    return found


def _call(number: int, call: ToolCall, *, silent: bool) -> str:
    body = _body(number, "tools/call", {"name": call.name, "arguments": dict(call.arguments)})
    quiet = "-o /dev/null " if silent else ""
    return f'curl -sS {quiet}"$U" -H "mcp-session-id: $S" {_HEADERS} -d {body}'


def _body(number: int, method: str, params: dict[str, Json]) -> str:
    return _quoted({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def _quoted(body: Json) -> str:
    """A JSON body in ASCII as one word of a shell. Raises ``DataError`` for one that is nested too deeply."""
    from sessions.formats.model import finite

    try:
        return shlex.quote(json.dumps(finite(body), ensure_ascii=True, default=str))
    except RecursionError as error:
        raise DataError("This is nested too deeply for a line.") from error
