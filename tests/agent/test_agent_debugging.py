"""The harness under a person's hands: asking again, editing, rejecting; and what the store keeps of a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_endpoint import Body, Endpoint, calls, failure, results_of, text
from agent_oracle import Oracle
from agent_toy import ToyEnvironment, instance

from sessions.agent import AgentFailure, AgentSettings
from sessions.agent.agent import ReactAgent
from sessions.agent.prompt import rejection
from sessions.store import Store
from sessions.timeline import Timeline
from sessions.trajectory import CallTool, Message
from toolenv.dataset import Dataset
from toolenv.model import ToolCall
from vakra_tui.cli import main
from vakra_tui.sample import sample_dataset


def wins(team: str) -> Body:
    return {"team": team, "season": 2010}


async def test_asking_again_is_another_sample_on_a_branch(endpoint: Endpoint) -> None:
    endpoint.default = lambda body: (
        text(results_of(body)[-1]) if results_of(body) else calls(("get_team_wins", wins(f"T{body['seed']}")))
    )
    agent, task = ReactAgent("m", endpoint.base_url, AgentSettings()), instance()
    timeline = Timeline(task, ToyEnvironment(), agent.driver(task))
    await timeline.run()
    timeline.go_to(0)
    await timeline.ask_again()
    first, second = timeline.tree.steps(0)[0].decision, timeline.tree.steps(1)[0].decision
    assert isinstance(first, CallTool) and isinstance(second, CallTool)
    assert first.call.arguments["team"] == "T0" and second.call.arguments["team"] == "T1"
    assert [body["seed"] for body in endpoint.requests] == [0, 0, 1]
    await timeline.step()
    assert "T1" in endpoint.requests[-1]["messages"][-1]["content"]
    await timeline.close()
    await agent.aclose()


async def test_editing_one_of_two_calls(endpoint: Endpoint) -> None:
    """The history that is sent holds what was carried out, never what was only proposed."""
    both = calls(("get_team_wins", wins("A"), "a"), ("get_team_wins", wins("B"), "b"))
    endpoint.says(both, text("done"))
    agent, task = ReactAgent("m", endpoint.base_url, AgentSettings()), instance()
    timeline = Timeline(task, ToyEnvironment(), agent.driver(task))
    await timeline.step()
    await timeline.propose()
    await timeline.decide(CallTool(call=ToolCall(name="get_team_wins", arguments=wins("Z"))))
    await timeline.step()
    messages = endpoint.requests[-1]["messages"]
    sent = [json.loads(c["function"]["arguments"])["team"] for m in messages for c in m.get("tool_calls") or ()]
    assert sent == ["A", "Z"]
    assert len(results_of(endpoint.requests[-1])) == 2
    await timeline.close()
    await agent.aclose()


async def test_rejecting_a_call_with_a_word(endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_wins", wins("A"))), calls(("list_teams", {})), text("done"))
    agent, task, environment = ReactAgent("m", endpoint.base_url, AgentSettings()), instance(), ToyEnvironment()
    timeline = Timeline(task, environment, agent.driver(task))
    await timeline.propose()
    await timeline.decide(Message(role="user", text=rejection("The call was not run", "List the teams first.")))
    await timeline.run()
    assert environment.session.made == [("list_teams", {})]
    assert "List the teams first." in endpoint.requests[1]["messages"][-1]["content"]
    await timeline.close()
    await agent.aclose()


async def test_an_endpoint_that_fails_leaves_the_place(endpoint: Endpoint) -> None:
    endpoint.says(failure(401, "no key"), text("nine"))
    agent, task = ReactAgent("m", endpoint.base_url, AgentSettings()), instance()
    timeline = Timeline(task, ToyEnvironment(), agent.driver(task))
    with pytest.raises(AgentFailure, match="no key"):
        await timeline.step()
    step = await timeline.step()
    assert step is not None and timeline.trajectory.answer == "nine"
    await timeline.close()
    await agent.aclose()


def batch(endpoint: Endpoint, folder: Path, *more: str) -> tuple[int, Any]:
    out = folder / "report.json"
    arguments = ["--batch", "--agent", "react", "--model", "m", "--base-url", endpoint.base_url, "--quiet"]
    db = f"sqlite:///{folder / 'store.sqlite'}"
    code = main([*arguments, "--db", db, "--out", str(out), "--capability", "3", "--limit", "4", *more])
    return code, json.loads(out.read_text()) if out.exists() else {}


def oracle() -> Oracle:
    dataset = Dataset.open(sample_dataset())
    return Oracle(dataset.load(ref) for ref in dataset.refs(capability=3))


def test_bodies_are_stored_with_the_steps(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.default = oracle()
    assert batch(endpoint, tmp_path)[0] == 0
    store = Store.open(f"sqlite:///{tmp_path / 'store.sqlite'}")
    kept = [store.requests(session.id) for session in store.sessions(kind="batch", limit=50).items]
    assert len(kept) == 4
    bodies = [record.request for records in kept for record in records]
    assert sorted(map(json.dumps, bodies)) == sorted(map(json.dumps, endpoint.requests))
    for records in kept:
        assert [record.position for record in records] == list(range(len(records)))
        assert all(json.loads(record.response)["choices"] for record in records)
    store.close()


def test_resume_asks_only_for_what_failed(endpoint: Endpoint, tmp_path: Path) -> None:
    right, refused = oracle(), {"left": 1}

    def answer(body: Body) -> Any:
        if refused["left"] and not results_of(body):
            refused["left"] -= 1
            return failure(400, "not today", type="invalid_request_error")
        return right(body)

    endpoint.default = answer
    code, report = batch(endpoint, tmp_path)
    assert code == 4
    assert sorted(line["status"] for line in report["instances"]) == ["scored"] * 3 + ["unscored"]
    before = len(endpoint.requests)
    code, report = batch(endpoint, tmp_path, "--resume")
    assert code == 0 and report["counts"]["scored"] == 4
    assert 0 < len(endpoint.requests) - before < before
    again = len(endpoint.requests)
    assert batch(endpoint, tmp_path, "--resume")[0] == 0
    assert len(endpoint.requests) == again


def test_a_secret_in_an_answer_is_no_other_answer_after_a_resume(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.default = lambda body: text("The key is sk-0123456789abcdefghij.")
    _, first = batch(endpoint, tmp_path)
    _, again = batch(endpoint, tmp_path, "--resume")
    assert "sk-0123" not in json.dumps(first)
    assert again["run"] == first["run"] and again["instances"] == first["instances"]


def test_a_budget_ends_the_asking(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.default = oracle()
    code, report = batch(endpoint, tmp_path, "--max-tokens", "4600", "--concurrency", "1")
    assert code in (3, 4)
    assert any("budget" in json.dumps(line) for line in report["instances"] if line["status"] == "unscored")


def test_dry_run_asks_nothing(endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch(endpoint, tmp_path, "--dry-run")[0] == 0
    assert endpoint.requests == []
    assert "4 instances" in capsys.readouterr().out
