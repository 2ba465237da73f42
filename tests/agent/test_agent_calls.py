"""Calls as endpoints write them (cases LLM-01 to LLM-11, LLM-16, LLM-17), each for its whole kind, over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_endpoint import Endpoint, calls, results_of, text
from agent_harness import Run, assistant_calls, made
from agent_toy import ToyEnvironment

from sessions.trajectory import CallTool, Message

BROKEN = [
    '{"team": NaN}',
    '{"team": "Boston", "season": 20',
    "[1, 2]",
    '"text"',
    "7",
    '{"team": "B\\d+"}',
    "{'team': 'x'}",
    "{" * 5000,
]


@pytest.mark.parametrize("written", BROKEN)
async def test_unreadable_arguments_never_run(run: Run, endpoint: Endpoint, written: str) -> None:
    endpoint.says(calls(("list_teams", written, "call_a")), calls(("list_teams", {}, "call_b")), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "answered" and done.prediction.answer == "nine"
    assert environment.session.made == [("list_teams", {})]
    assert made(done)[0] == ("list_teams", {}, written)
    told = endpoint.requests[1]["messages"][-1]
    assert told["role"] == "tool" and told["tool_call_id"] == "call_a"
    assert written[:40] in told["content"]
    for call in assistant_calls(endpoint.requests[-1]):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.mark.parametrize("written", ["", None, "null", " ", ...])
async def test_no_arguments_are_none(run: Run, endpoint: Endpoint, written: Any) -> None:
    said = calls(("list_teams", {}))
    function = said["choices"][0]["message"]["tool_calls"][0]["function"]
    function["arguments"] = written
    if written is ...:
        del function["arguments"]
    endpoint.says(said, text("nine"))
    environment = ToyEnvironment()
    assert (await run(environment)).status == "answered"
    assert environment.session.made == [("list_teams", {})]


async def test_no_arguments_for_a_tool_that_needs_some(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_wins", "")), text("?"))
    done = await run()
    assert "team" in results_of(endpoint.requests[1])[0]
    assert done.executed.trajectory.steps[0].result.error_kind == "refused_arguments"


@pytest.mark.parametrize("layers", [1, 2, 3])
async def test_encoding_layers(run: Run, endpoint: Endpoint, layers: int) -> None:
    written: Any = {"team": "Boston", "season": 2010}
    for _ in range(layers):
        written = json.dumps(written)
    endpoint.says(calls(("get_team_wins", written)), text("fifty"))
    environment = ToyEnvironment()
    done = await run(environment)
    expected = [("get_team_wins", {"team": "Boston", "season": 2010})]
    assert environment.session.made == (expected if layers < 3 else [])
    assert ("encoded twice" in str(done.requests[0].usage["notes"])) == (layers == 2)
    for call in assistant_calls(endpoint.requests[-1]):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


async def test_object_arguments_go_back_as_text(run: Run, endpoint: Endpoint) -> None:
    said = calls(("get_team_wins", {}))
    said["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = {"team": "Boston", "season": 2010}
    endpoint.says(said, text("fifty"))
    environment = ToyEnvironment()
    await run(environment)
    assert environment.session.made == [("get_team_wins", {"team": "Boston", "season": 2010})]
    assert all(isinstance(call["function"]["arguments"], str) for call in assistant_calls(endpoint.requests[1]))


async def test_literal_control_characters_are_kept(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_wins", '{"team": "Boston\nBruins", "season": 2010}')), text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert environment.session.made[0][1]["team"] == "Boston\nBruins"


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
async def test_nothing_of_a_cut_off_message_runs(run: Run, endpoint: Endpoint, finish: str) -> None:
    cut = calls(("get_team_wins", {"team": "Boston", "season": 201}, "c1"), finish=finish)
    endpoint.says(cut, calls(("list_teams", {})), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "answered"
    assert environment.session.made == [("list_teams", {})]
    told = endpoint.requests[1]["messages"][-1]
    assert told["role"] == "tool" and "cut off" in told["content"]
    assert done.requests[0].usage["finish_reason"] == finish
    assert isinstance(done.executed.trajectory.steps[0].decision, Message)
    assert done.prediction.calls == (done.executed.trajectory.steps[1].decision.call,)


async def test_truncation_ends_the_instance(run: Run, endpoint: Endpoint) -> None:
    endpoint.default = lambda body: text("The answer is that", "length")
    done = await run(max_truncations=3)
    assert done.status == "truncated" and len(endpoint.requests) == 3
    assert done.prediction.status == "error" and done.prediction.answer == ""


TEXT_CALLS = [
    'I will look.\n<tool_call>\n{"name": "list_teams", "arguments": {}}\n</tool_call>',
    '<invoke name="list_teams">\n</invoke>',
    '{"name": "list_teams", "arguments": {}}',
    '```json\n{"name": "list_teams", "parameters": {}}\n```',
    'assistantcode{"team":"Boston","season":2010}',
    "<|channel|>commentary to=functions.list_teams<|message|>{}",
    "[TOOL_CALLS][]",
    "<function=list_teams></function>",
    "list_teams()",
    "Thought: teams\nAction: list_teams\nAction Input: {}",
]


@pytest.mark.parametrize("content", TEXT_CALLS)
async def test_calls_written_as_text_are_no_answer(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "tool call written as text"
    assert environment.session.made == [] and done.prediction.answer == ""


@pytest.mark.parametrize("content", ["9", "The tag <b>9</b>", '{"wins": 9}', "call list_teams() to see", "if x < y"])
async def test_answers_are_answers(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content))
    assert (await run()).prediction.answer == content


@pytest.mark.parametrize("content", [TEXT_CALLS[0], TEXT_CALLS[1], TEXT_CALLS[2], TEXT_CALLS[3]])
async def test_calls_written_as_text_run_where_wanted(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content), text("nine"))
    environment = ToyEnvironment()
    assert (await run(environment, run_text_calls=True)).status == "answered"
    assert environment.session.made == [("list_teams", {})]


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("list_teams<|channel|>commentary", True),
        ("functions.list_teams", True),
        ("list_team<|channel|>", False),
        ("xlist_teams", False),
    ],
)
async def test_names_are_cleaned_only_to_known_tools(run: Run, endpoint: Endpoint, written: str, runs: bool) -> None:
    endpoint.says(calls((written, {})), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert bool(environment.session.made) == runs
    assert made(done)[0][0] == ("list_teams" if runs else written)
    assert (written in str(done.requests[0].usage["notes"])) == runs


async def test_channels_and_thoughts_are_taken_off(run: Run, endpoint: Endpoint) -> None:
    final = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>nine<|return|>"
    endpoint.says(text(final))
    assert (await run()).prediction.answer == "nine"
    endpoint.says(text("<think>hm</think>\nten"))
    assert (await run()).prediction.answer == "ten"


async def test_unknown_tool_goes_on(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_win", {"team": "Boston", "season": 2010})), text("?"))
    done = await run()
    assert "get_team_wins" in results_of(endpoint.requests[1])[0]
    assert done.status == "answered"
    assert done.prediction.calls[0].name == "get_team_win"


async def test_ids_that_collide(run: Run, endpoint: Endpoint) -> None:
    wins = [{"team": name, "season": 1} for name in "ABC"]
    endpoint.says(
        calls(("get_team_wins", wins[0], "0")),
        calls(("get_team_wins", wins[1], "0")),
        calls(("list_teams", {}, ""), ("get_team_wins", wins[2], "")),
        text("done"),
    )
    done = await run()
    messages = endpoint.requests[-1]["messages"]
    listed = [call["id"] for call in assistant_calls(endpoint.requests[-1])]
    assert len(set(listed)) == 4 and all(listed)
    told = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for identity, name in zip(listed, ["A", "B", "list_teams", "C"], strict=True):
        assert name in told[identity]
    kept = [s.decision.call.id for s in done.executed.trajectory.steps if isinstance(s.decision, CallTool)]
    assert kept == ["0", "0", None, None]
    assert len([m for m in messages if m["role"] == "assistant"]) == 3


@pytest.mark.parametrize("stream", [True])
async def test_two_calls_of_one_index(run: Run, endpoint: Endpoint) -> None:
    delta = '{"choices": [{"index": 0, "delta": %s, "finish_reason": %s}]}'
    call = '{"tool_calls": [{"index": 0, "id": "%s", "function": {"name": "get_team_wins", "arguments": %s}}]}'
    lines = [
        delta % (call % ("a", json.dumps('{"team":"A","season":1}')), "null"),
        delta % (call % ("b", json.dumps('{"team":"B","season":2}')), "null"),
        delta % ("{}", '"tool_calls"'),
        "[DONE]",
    ]
    endpoint.says("".join(f"data: {line}\n\n" for line in lines).encode(), text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert [arguments["team"] for _, arguments in environment.session.made] == ["A", "B"]


async def test_parallel_calls(run: Run, endpoint: Endpoint) -> None:
    both = calls(("list_teams", {}, "a"), ("get_team_wins", {"team": "A", "season": 1}, "b"))
    endpoint.says(both, text("x"), both, text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert len(environment.session.made) == 2 and len(endpoint.requests) == 2
    await run(environment, parallel=False)
    assert len(environment.session.made) == 1
    assert len(assistant_calls(endpoint.requests[-1])) == 1 and endpoint.requests[-1]["parallel_tool_calls"] is False


async def test_half_characters_spoil_nothing(run: Run, endpoint: Endpoint) -> None:
    environment = ToyEnvironment(answers={"list_teams": "a \ud83d b \udc97 c"})
    endpoint.says(calls(("list_teams", {})), calls(("get_team_wins", '{"team": "\\ud83d", "season": 1}')), text("x"))
    done = await run(environment)
    assert done.status == "answered"
    assert all(raw.decode("utf-8") for raw in endpoint.raw)
    assert done.executed.trajectory.steps[0].result.text == "a \ud83d b \udc97 c"
    assert environment.session.made[1][1]["team"] == "\N{REPLACEMENT CHARACTER}"
