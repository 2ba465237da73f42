"""Trajectories that other programs wrote, and what others will read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trajectories import instances, json_values, plain, plain_calls, predictions, trajectories

from sessions.formats import Imported, atif, chat, markdown, read
from sessions.formats.lines import lines_of, read_lines
from sessions.formats.messages import read_messages
from sessions.formats.model import Exchange
from sessions.submissions import submission_record, write_submission
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.dataset.records import prediction_from
from toolenv.errors import DataError
from toolenv.model import Instance, Prediction, ToolCall, ToolResult, Turn

SAMPLES = Path(__file__).parent / "samples"


def imports(path: Path, form: str | None = None) -> list[Imported]:
    return [found for found in read(path, form) if isinstance(found, Imported)]


def complaints(path: Path, form: str | None = None) -> list[str]:
    return [found for found in read(path, form) if isinstance(found, str)]


def written(folder: Path, value: Any, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def called(trajectory: Trajectory) -> list[tuple[str, dict[str, Any], str | None]]:
    return [
        (step.decision.call.name, dict(step.decision.call.arguments), step.result.text if step.result else None)
        for step in trajectory.steps
        if isinstance(step.decision, CallTool)
    ]


HARBOUR = [
    ("get_harbour_depth", {"harbour": "Nowhere"}, "no such harbour"),
    ("get_harbour_depth", {"harbour": "Husum", "tide": "high"}, '{"depth_m": 7}'),
]


@pytest.mark.parametrize("name", ["inspect_harbour.eval", "inspect_harbour.json", "otlp_harbour.json"])
def test_files_of_the_real_packages_are_read(name: str) -> None:
    (found,) = imports(SAMPLES / name)
    trajectory = found.trajectory
    assert called(trajectory) == HARBOUR
    first = trajectory.steps[0].result or trajectory.steps[1].result
    assert first is not None and first.failed
    assert trajectory.answer is not None and "7 m deep" in trajectory.answer
    assert trajectory.instance.query == "How deep is the harbour of Husum at high tide?"
    assert trajectory.instance.uuid == "b0b1-harbour"
    assert found.problems == ()


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(st.lists(st.tuples(trajectories, st.dictionaries(plain, json_values, max_size=2)), max_size=3))
def test_json_lines_lose_nothing(told: list[tuple[Trajectory, dict[str, Any]]]) -> None:
    lines = [line for trajectory, extra in told for line in lines_of(trajectory, name="n", extra=extra)]
    assert all(line.isascii() and "\n" not in line for line in lines)
    for line in lines:
        json.loads(line, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
    found = list(read_lines(iter(enumerate(lines, start=1)), "file"))
    assert [each.trajectory for each in found if isinstance(each, Imported)] == [trajectory for trajectory, _ in told]
    assert [dict(each.extra) for each in found if isinstance(each, Imported)] == [extra for _, extra in told]
    assert all(not isinstance(each, str) and not each.problems for each in found)


def test_json_lines_keep_what_json_does_not_have(tmp_path: Path) -> None:
    call = ToolCall(name="t", arguments={"n": float("nan"), "i": float("-inf"), "$float": "x"})
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query="q"),))
    trajectory = Trajectory(instance=instance, steps=(Step(actor="agent", decision=CallTool(call=call)),))
    (found,) = imports(written(tmp_path, "\n".join(lines_of(trajectory)), "t.jsonl"))
    (step,) = found.trajectory.steps
    assert isinstance(step.decision, CallTool)
    arguments = step.decision.call.arguments
    assert arguments["n"] != arguments["n"]
    assert (arguments["i"], arguments["$float"]) == (float("-inf"), "x")


def test_json_lines_that_were_cut_off_give_what_is_there(tmp_path: Path) -> None:
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query="q"),))
    steps = tuple(Step(actor="agent", decision=Message(role="assistant", text=str(n))) for n in range(3))
    text = "\n".join(lines_of(Trajectory(instance=instance, steps=steps)))
    (found,) = imports(written(tmp_path, text[:-20], "t.jsonl"))
    assert found.trajectory.steps == steps[:2]
    assert any("line 4" in problem for problem in found.problems)
    assert any("should have 3 steps and has 2" in problem for problem in found.problems)
    (newer,) = complaints(written(tmp_path, '{"format":"vakra-tui/trajectory@9"}\n', "new.jsonl"), "jsonl")
    assert "vakra-tui/trajectory@9" in newer


@settings(max_examples=60, deadline=None)
@given(predictions)
def test_submission_records_lose_nothing_of_a_prediction(prediction: Prediction) -> None:
    record = json.loads(json.dumps(submission_record(prediction)))
    again = prediction_from(None, prediction.domain, prediction.uuid, record)
    assert again == msgspec.structs.replace(prediction, calls=again.calls, status=again.status)
    assert [(call.name, call.arguments) for call in again.calls] == [
        (call.name, call.arguments) for call in prediction.calls
    ]
    assert again.status == prediction.status


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(st.lists(st.tuples(plain_calls, st.none() | plain), max_size=4), plain, plain.filter(str.strip))
def test_chat_messages_keep_calls_responses_and_answer(
    exchanges: list[tuple[ToolCall, str | None]], answer: str, query: str
) -> None:
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query=query),))
    steps = [
        Step(actor="agent", decision=CallTool(call=call), result=None if text is None else ToolResult(text=text))
        for call, text in exchanges
    ]
    steps.append(Step(actor="agent", decision=Answer(text=answer)))
    trajectory = Trajectory(instance=instance, steps=tuple(steps))
    told = read_messages(json.loads(json.dumps(chat.conversation(trajectory)))["messages"])
    assert told.query == query and told.answer == answer and not told.problems
    made = [entry for entry in told.entries if isinstance(entry, Exchange)]
    assert [(entry.call.name, entry.call.arguments, entry.text) for entry in made] == [
        (call.name, call.arguments, text) for call, text in exchanges
    ]


def call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_ids_that_repeat_are_paired_by_turn_and_position() -> None:
    told = read_messages(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "tool_calls": [call("a", "0")]},
            {"role": "tool", "tool_call_id": "0", "content": "A"},
            {"role": "assistant", "content": None, "tool_calls": [call("b", "0")]},
            {"role": "tool", "tool_call_id": "0", "content": "B"},
            {"role": "assistant", "content": None, "tool_calls": [call("c", ""), call("d", "")]},
            {"role": "tool", "tool_call_id": "", "content": "C"},
            {"role": "tool", "tool_call_id": "", "content": "D"},
            {"role": "assistant", "content": None, "tool_calls": [call("e", "x"), call("f", "y")]},
            {"role": "tool", "tool_call_id": "y", "content": "F"},
            {"role": "tool", "tool_call_id": "x", "content": "E"},
            {"role": "assistant", "content": "done"},
        ]
    )
    pairs = [(entry.call.name, entry.text) for entry in told.entries if isinstance(entry, Exchange)]
    assert pairs == [(name, name.upper()) for name in "abcdef"]
    assert told.answer == "done"


def test_odd_messages_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    record = {
        "uuid": "u",
        "messages": [
            "text",
            {"role": "system", "content": [{"type": "text", "text": "policy"}]},
            {"role": "user", "content": "earlier"},
            {"role": "assistant", "content": None, "tool_calls": [call("old", "1")]},
            {"role": "tool", "tool_call_id": "1", "content": "x"},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": [{"type": "text", "text": "now"}]},
            {"role": "tool", "tool_call_id": "9", "content": "nobody's"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": "not json"}}, 5]},
        ],
        "kept": {"as": "it is"},
    }
    (found,) = imports(written(tmp_path, [record]))
    instance = found.trajectory.instance
    assert instance.policy == "policy"
    assert [turn.query for turn in instance.turns] == ["earlier", "now"]
    assert instance.turns[0].answer == "so"
    first, last = found.trajectory.steps
    assert isinstance(first.decision, CallTool) and first.decision.call.raw_arguments == "not json"
    assert isinstance(last.decision, GiveUp)
    assert found.extra == {"kept": {"as": "it is"}}
    assert len(found.problems) == 4


def test_records_of_the_runner_are_read(tmp_path: Path) -> None:
    record = {
        "uuid": "u1",
        "domain": "harbours",
        "query": "How deep?",
        "answer": "7 m",
        "status": "success",
        "error": "",
        "duration_s": 1.5,
        "turn_id": 0,
        "tool_calls": [{"tool_name": "depth", "arguments": {"h": 1}, "result": "7"}],
        "trajectory": [
            {"type": "SystemMessage", "content": "be brief"},
            {"type": "HumanMessage", "content": "How deep?"},
            {"type": "AIMessage", "content": "", "tool_calls": [{"id": "a", "name": "depth", "args": {"h": 1}}]},
            {"type": "ToolMessage", "content": "7", "tool_name": "depth", "tool_call_id": "a", "result": "7"},
            {"type": "AIMessage", "content": "7 m"},
        ],
        "model": "m",
    }
    (found,) = imports(written(tmp_path, [record]))
    assert (found.form, found.problems) == ("vakra", ())
    assert called(found.trajectory) == [("depth", {"h": 1}, "7")]
    assert found.trajectory.answer == "7 m"
    assert found.extra == {"model": "m"}
    (bare,) = imports(written(tmp_path, [{**record, "trajectory": []}]))
    assert called(bare.trajectory) == called(found.trajectory)
    (failed,) = imports(written(tmp_path, [{**record, "answer": "", "status": "error", "error": "no model"}]))
    assert failed.trajectory.steps[-1].decision == GiveUp(reason="no model")


def test_submission_files_are_read_with_their_holes(tmp_path: Path) -> None:
    turn = {"turn_id": 0, "query": "q", "answer": "a", "sequence": {"tool_call": [{"name": "t", "arguments": {}}]}}
    records = [{"uuid": "u", "domain": "d", "output": [turn], "mine": 1}, {"uuid": None, "output": None}, "text"]
    path = written(tmp_path, records)
    whole, holes = imports(path)
    assert whole.trajectory.answer == "a" and whole.extra == {"mine": 1} and whole.problems == ()
    assert any("uuid: text was expected" in problem for problem in holes.problems)
    assert complaints(path) == ["file.json: record 3: an object was expected, not str"]


def test_a_torn_tail_costs_one_record(tmp_path: Path) -> None:
    turn = {"turn_id": 0, "query": "q", "answer": "a", "sequence": {"tool_call": []}}
    lines = [json.dumps({"uuid": f"u{n}", "domain": "d", "output": [turn]}) for n in range(3)]
    path = written(tmp_path, "\n".join([*lines, lines[0][:30], ""]), "torn.jsonl")
    assert [found.trajectory.instance.uuid for found in imports(path)] == ["u0", "u1", "u2"]
    (sentence,) = complaints(path)
    assert "line 4" in sentence


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "empty"), (b'[{"uuid": "u', "no JSON"), ("[]".encode("utf-16"), "UTF-16"), (b"PK\x03\x04junk", "no JSON")],
)
def test_files_that_cannot_be_read_say_why(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(read(path))


def test_spans_without_tool_spans_carry_calls_in_their_messages(tmp_path: Path) -> None:
    def chat_span(start: int, inputs: Any, outputs: Any) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": inputs,
            "gen_ai.output.messages": outputs,
        }
        return {
            "traceId": "t",
            "name": "chat",
            "startTimeUnixNano": str(start),
            "attributes": [
                {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
                for key, value in attributes.items()
            ],
        }

    question = {"role": "user", "parts": [{"type": "text", "content": "q"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "t", "arguments": {"a": 1}}]}
    response = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": {"n": 3}}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "three"}]}
    spans = [chat_span(2, [question, asked, response], [answer]), chat_span(1, [question], [asked])]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    (found,) = imports(written(tmp_path, body))
    assert called(found.trajectory) == [("t", {"a": 1}, '{"n": 3}')]
    assert (found.trajectory.instance.query, found.trajectory.answer) == ("q", "three")
    nothing = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "GET", "traceId": "x"}]}]}]}
    assert "no span carries a tool call" in complaints(written(tmp_path, nothing))[0]


def test_times_of_spans_beyond_all_measure_are_no_duration(tmp_path: Path) -> None:
    span = {
        "traceId": "t",
        "name": "execute_tool t",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "9" * 4000,
        "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "t"}}],
    }
    (found,) = imports(written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert found.trajectory.steps[0].result is None or found.trajectory.steps[0].result.duration_s == 0


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "record",
    [
        {"uuid": "u", "domain": "d", "output": [deep(400)]},
        {"messages": [{"role": "user", "content": deep(400)}]},
        {"trajectory": deep(400)},
    ],
)
def test_a_record_nested_too_deeply_costs_itself_only(tmp_path: Path, record: Any) -> None:
    turn = {"turn_id": 0, "query": "q", "answer": "a", "sequence": {"tool_call": []}}
    path = written(tmp_path, [record, {"uuid": "u2", "domain": "d", "output": [turn]}])
    assert [found.trajectory.instance.uuid for found in imports(path)] == ["u2"]
    (sentence,) = complaints(path)
    assert "record 1 is nested too deeply" in sentence


def test_whole_files_nested_too_deeply_say_so(tmp_path: Path) -> None:
    for value in (
        {"samples": [{"messages": deep(400)}]},
        [{"role": "user", "content": deep(400)}],
        {"resourceSpans": [{"scopeSpans": deep(400)}]},
    ):
        path = written(tmp_path, value)
        assert imports(path) == []
        assert any("nested too deeply" in sentence for sentence in complaints(path))


@pytest.mark.parametrize("odd", ['{"$float": null}', '{"$object": 3}', "[" * 400 + "]" * 400])
def test_json_lines_that_nothing_writes_cost_their_trajectory_a_line(tmp_path: Path, odd: str) -> None:
    trajectory = Trajectory(
        instance=Instance(uuid="u", capability=2, domain="d", turns=()),
        steps=(Step(actor="human", decision=Answer(text="a")),),
    )
    whole = list(lines_of(trajectory))
    path = written(tmp_path, "\n".join([*whole, odd, odd]), "odd.jsonl")
    (found,) = imports(path)
    assert found.trajectory == trajectory and len(found.problems) == 2
    head = {**json.loads(whole[0]), "extra": [1]}
    (found,) = imports(written(tmp_path, "\n".join([json.dumps(head), *whole[1:]]), "extra.jsonl"))
    assert found.extra == {} and "extra: an object was expected" in found.problems[0]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
@given(json_values)
def test_no_json_makes_a_reader_fail(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "any.json"
    for wrapped in (
        value,
        [value],
        {"messages": value},
        {"trajectory": value},
        {"resourceSpans": value},
        {"output": value},
    ):
        path.write_text(json.dumps(wrapped))
        for found in read(path):
            assert isinstance(found, str | Imported)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
@given(trajectories)
def test_atif_documents_keep_the_rules_of_the_format(trajectory: Trajectory) -> None:
    document = atif.document(trajectory)
    assert document["schema_version"] == "ATIF-v1.7"
    assert set(document) <= {
        "schema_version",
        "session_id",
        "trajectory_id",
        "agent",
        "steps",
        "final_metrics",
        "extra",
    }
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        assert step["source"] in ("user", "agent", "system") and isinstance(step["message"], str)
        if step["source"] != "agent":
            assert not step.keys() & {"tool_calls", "metrics"}
        ids = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))
        assert all(result["source_call_id"] in ids for result in step.get("observation", {}).get("results", ()))


def outside_of_code(text: str) -> str:
    """What a Markdown reader would interpret: the text without fenced blocks and code spans."""
    kept, fence = [], ""
    for line in text.split("\n"):
        marks = re.match(r"`{3,}", line)
        if fence:
            if line.strip() == fence:
                fence = ""
        elif marks:
            fence = marks[0]
        else:
            kept.append(re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line))
    assert not fence
    return "\n".join(kept)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, deadline=None)
@given(instances, st.text("`~\n #<>[]!()@$*_\\|ab\r\u2028\u202e", max_size=80))
def test_nothing_from_data_is_read_as_markdown(instance: Instance, hostile: str) -> None:
    hostile = f"{hostile}zzz"
    told = msgspec.structs.replace(
        instance, uuid=hostile, domain=hostile, policy=hostile, turns=(Turn(turn_id=0, query=hostile),)
    )
    steps = (
        Step(
            actor="agent",
            decision=CallTool(call=ToolCall(name=hostile, arguments={hostile: hostile})),
            result=ToolResult(text=hostile * 20),
        ),
        Step(actor="agent", decision=Message(role=hostile, text=hostile)),
        Step(actor="agent", decision=Answer(text=hostile)),
    )
    verdict = {
        "passed": False,
        "stages": [{"stage": hostile, "outcome": hostile, "reason": hostile, "evidence": [hostile]}],
    }
    text = markdown.report(Trajectory(instance=told, steps=steps), verdict=verdict, title=hostile, repair=hostile)
    assert "zzz" not in outside_of_code(text)


def test_a_bug_report_is_bounded() -> None:
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query="q" * 10**6),))
    step = Step(
        actor="agent", decision=CallTool(call=ToolCall(name="t", arguments={})), result=ToolResult(text="r" * 10**6)
    )
    text = markdown.report(Trajectory(instance=instance, steps=(step,) * 500))
    assert len(text) < 100_000
    assert "440 steps are left out" in text and "1000000 characters in all" in text


def test_a_preference_pair_begins_where_the_two_differ() -> None:
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query="q"),), policy="p")

    def step(name: str, text: str) -> Step:
        made = ToolCall(name=name, arguments={})
        return Step(actor="agent", decision=CallTool(call=made), result=ToolResult(text=text))

    first, answer = step("a", "1"), Step(actor="agent", decision=Answer(text="x"))
    failed = Trajectory(instance=instance, steps=(first, step("b", "2"), answer))
    repaired = Trajectory(
        instance=instance, steps=(first, step("c", "3"), Step(actor="agent", decision=Answer(text="y")))
    )
    pair = chat.preference(repaired, failed, "step 2", shared=1)
    assert [message["role"] for message in pair["prompt"]] == ["system", "user", "assistant", "tool"]
    assert pair["chosen"][0]["tool_calls"][0]["function"]["name"] == "c"
    assert pair["rejected"][0]["tool_calls"][0]["function"]["name"] == "b"
    assert (pair["chosen"][-1]["content"], pair["rejected"][-1]["content"]) == ("y", "x")


def test_written_submissions_are_imported_again(tmp_path: Path) -> None:
    prediction = Prediction(uuid="u", domain="d", query="q", answer="a", calls=(), capability=2)
    (path,) = write_submission(tmp_path, [prediction])
    (found,) = imports(path)
    assert found.trajectory.instance.capability == 2
    assert found.trajectory.answer == "a"
