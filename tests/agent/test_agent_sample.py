"""The whole sample by the harness behind a scripted oracle, undisturbed and with faults of every kind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from agent_endpoint import Endpoint
from agent_faults import FAULTS, Injected
from agent_oracle import Oracle

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


def test_oracle_fails_where_a_tool_is_missing(
    endpoint: Endpoint, instances: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees the request alone: with two tools in the list it cannot make the calls that it needs."""
    monkeypatch.setenv("VAKRA_TUI_AGENT_SETTINGS", json.dumps({"max_tools": 2}))
    endpoint.default = oracle = Oracle(instances)
    _, report = batch(endpoint, tmp_path, "--capability", "3")
    assert oracle.missing and report["scores"]["leaderboard"]["score"] < 1.0
    assert all(len(body["tools"]) == 2 for body in endpoint.requests)


def test_oracle_never_uses_a_forbidden_source(endpoint: Endpoint, instances: list[Instance], tmp_path: Path) -> None:
    endpoint.default = Oracle(instances)
    _, report = batch(endpoint, tmp_path, "--capability", "4")
    policies = [line["stages"][0]["outcome"] for line in report["instances"]]
    assert "fail" not in policies
    asked = {m["content"] for body in endpoint.requests for m in body["messages"] if m["role"] == "system"}
    for instance in instances:
        if instance.capability == 4 and instance.policy:
            assert any(instance.policy in system for system in asked)


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
    endpoint.default = injected = Injected(Oracle(instances), tuple(FAULTS), rate=0.3)
    code, report = batch(endpoint, tmp_path, "--predictions-out", str(tmp_path / "made"))
    assert code in (0, 4)
    assert sum(injected.counts.values()) > 40
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


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_tenth_of_one_fault(endpoint: Endpoint, instances: list[Instance], kind: str) -> None:
    """A tenth of all answers replaced by one kind of fault: one known status an instance.

    Every fourth instance of the sample; ``scripts/measure_faults.py`` does it with all of them.
    """
    dataset = Dataset.open(sample_dataset())
    endpoint.default = injected = Injected(Oracle(instances), (kind,))
    agent = ReactAgent("m", endpoint.base_url, AgentSettings())
    quick = RetryPolicy(first_wait_s=0.01, longest_backoff_s=0.05)
    agent.client = Client(EndpointSettings(model="m", base_url=endpoint.base_url, concurrency=16, retries=quick))
    production = Production(agent, dataset, EnvironmentChain([NativeEnvironment(dataset)]))
    refs = list(dataset.refs())[::4]
    assert await production.run(refs, asyncio.Event())
    assert injected.counts[kind] > 0
    assert production.done == len(refs) == sum(production.counts.values())
    assert set(production.counts) <= set(get_args(AgentStatus)) - {"unfinished", "environment", "agent"}
    assert production.counts["answered"] > len(refs) // 4
    await agent.aclose()
