"""The whole sample by the harness behind a scripted oracle, undisturbed and with faults of every kind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from agent_endpoint import Body, Endpoint, calls, completion, failure, text
from agent_oracle import Oracle
from fastapi import Response

from eval.agents import Production
from eval.environments import EnvironmentChain
from sessions.agent import AgentSettings, AgentStatus
from sessions.agent.agent import ReactAgent
from toolenv.dataset import Dataset
from toolenv.model import Instance
from toolenv.native import NativeEnvironment
from toolenv.openai_compat import Client, EndpointSettings, RetryPolicy
from vakra_tui.cli import main
from vakra_tui.sample import sample_dataset

KEYS = ("VAKRA_TUI_AGENT_API_KEY", "OPENAI_API_KEY", "VAKRA_TUI_AGENT_SETTINGS", "VAKRA_TUI_AGENT_DIALECT")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    dataset = Dataset.open(sample_dataset())
    return [dataset.load(ref) for ref in dataset.refs()]


def batch(endpoint: Endpoint, folder: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Run the command on the sample; exit code and report."""
    out, db = folder / "report.json", folder / "store.sqlite"
    arguments = ["--batch", "--agent", "react", "--model", "m", "--base-url", endpoint.base_url]
    code = main([*arguments, "--db", f"sqlite:///{db}", "--out", str(out), "--quiet", *more])
    return code, json.loads(out.read_text()) if out.exists() else {}


@pytest.mark.parametrize("stream", [False, True])
def test_oracle_is_right_everywhere(
    endpoint: Endpoint,
    instances: list[Instance],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,
) -> None:
    monkeypatch.setenv("VAKRA_TUI_AGENT_SETTINGS", json.dumps({"stream": stream}))
    oracle = Oracle(instances)
    endpoint.default = oracle
    code, report = batch(endpoint, tmp_path, "--predictions-out", str(tmp_path / "made"))
    assert oracle.missing == []
    judged = [instance for instance in instances if instance.ground_truth is not None]
    assert report["counts"]["scored"] == len(judged), code
    assert report["scores"]["leaderboard"]["score"] == 1.0
    assert code == 0
    assert all(bool(body.get("stream")) == stream for body in endpoint.requests)
    written = [record for file in (tmp_path / "made").rglob("*.json") for record in json.loads(file.read_text())]
    assert {record["uuid"] for record in written} == {instance.uuid for instance in instances}
    assert {record["status"] for record in written} == {"success"}


def test_oracle_never_uses_a_forbidden_source(endpoint: Endpoint, instances: list[Instance], tmp_path: Path) -> None:
    endpoint.default = Oracle(instances)
    _, report = batch(endpoint, tmp_path, "--capability", "4")
    policies = [line["stages"][0]["outcome"] for line in report["instances"]]
    assert "fail" not in policies
    asked = {m["content"] for body in endpoint.requests for m in body["messages"] if m["role"] == "system"}
    for instance in instances:
        if instance.capability == 4 and instance.policy:
            assert any(instance.policy in system for system in asked)


def _faults() -> dict[str, Any]:
    """Every kind of fault, by name; each takes the place of one answer."""
    return {
        "cut arguments": lambda body: calls((_some_tool(body), '{"a": "b')),
        "arguments twice": lambda body: calls((_some_tool(body), json.dumps(json.dumps({"x": 1})))),
        "bad escape": lambda body: calls((_some_tool(body), '{"a": "\\d"}')),
        "arguments a list": lambda body: calls((_some_tool(body), "[1]")),
        "unknown tool": lambda body: calls(("no_such_tool", {})),
        "text call": lambda body: text('<tool_call>\n{"name": "x", "arguments": {}}\n</tool_call>'),
        "length": lambda body: calls((_some_tool(body), {}), finish="length"),
        "only reasoning": lambda body: text(None, "length", reasoning_content="hm"),
        "empty": lambda body: text(""),
        "error in 200": lambda body: {"choices": None, "error": {"code": "quota_exceeded", "message": "none left"}},
        "rate limit in 200": lambda body: {"choices": None, "error": {"code": 429, "message": "rate limit"}},
        "no choices": lambda body: {"id": "x", "choices": [], "usage": None},
        "html": lambda body: b"<html>502</html>",
        "429": lambda body: failure(429, "slow down", {"retry-after": "0"}),
        "500": lambda body: failure(500, "boom", {"retry-after": "0"}),
        "400": lambda body: failure(400, "messages.1.content: invalid", type="invalid_request_error"),
        "too long": lambda body: failure(400, "maximum context length exceeded", code="context_length_exceeded"),
        "same ids": lambda body: calls((_some_tool(body), {}, ""), (_some_tool(body), {}, "")),
        "harmony": lambda body: calls((f"{_some_tool(body)}<|channel|>commentary", {})),
        "filtered": lambda body: completion({"content": None}, "content_filter"),
    }


def _some_tool(body: Body) -> str:
    return str(body["tools"][0]["function"]["name"])


@pytest.mark.parametrize("stream", [False, True])
def test_no_instance_is_lost(
    endpoint: Endpoint,
    instances: list[Instance],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,
) -> None:
    """Every kind of fault at a tenth of the answers: each instance ends with one status, and the batch goes on."""
    monkeypatch.setenv("VAKRA_TUI_AGENT_SETTINGS", json.dumps({"stream": stream, "max_turns": 25}))
    oracle, random, injected = Oracle(instances), Random(7), dict.fromkeys(_faults(), 0)

    def answer(body: Body) -> Response | Body | bytes:
        if random.random() < 0.3:
            name = random.choice(list(injected))
            injected[name] += 1
            return _faults()[name](body)  # type: ignore[no-any-return]
        return oracle(body)  # type: ignore[no-any-return]

    endpoint.default = answer
    code, report = batch(endpoint, tmp_path, "--predictions-out", str(tmp_path / "made"))
    assert code in (0, 4)
    assert sum(injected.values()) > 40
    assert len(report["instances"]) == len(instances)
    for line in report["instances"]:
        assert line["status"] in ("scored", "unscored"), line
        assert line["status"] == "scored" or line["reason"] in ("environment", "no ground truth")
    written = {r["uuid"]: r for file in (tmp_path / "made").rglob("*.json") for r in json.loads(file.read_text())}
    assert set(written) == {instance.uuid for instance in instances}
    for record in written.values():
        assert (record["status"] == "success") == (record["error"] == ""), record


def test_settings_are_valid() -> None:
    assert AgentSettings().max_turns > 12


@pytest.mark.parametrize("kind", sorted(_faults()))
async def test_a_tenth_of_one_fault(endpoint: Endpoint, instances: list[Instance], kind: str) -> None:
    """The whole sample, a tenth of all answers replaced by one kind of fault: one known status an instance."""
    dataset = Dataset.open(sample_dataset())
    oracle, random = Oracle(instances), Random(kind)
    endpoint.default = lambda body: _faults()[kind](body) if random.random() < 0.1 else oracle(body)
    agent = ReactAgent("m", endpoint.base_url, AgentSettings())
    quick = RetryPolicy(first_wait_s=0.01, longest_backoff_s=0.05)
    agent.client = Client(EndpointSettings(model="m", base_url=endpoint.base_url, concurrency=16, retries=quick))
    production = Production(agent, dataset, EnvironmentChain([NativeEnvironment(dataset)]))
    refs = list(dataset.refs())
    assert await production.run(refs, asyncio.Event())
    assert production.done == len(refs) == sum(production.counts.values())
    assert set(production.counts) <= set(get_args(AgentStatus)) - {"unfinished", "environment", "agent"}
    assert production.counts["answered"] > len(refs) // 4
    await agent.aclose()
