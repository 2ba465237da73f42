"""A real small model through the client: published weights, llama.cpp's own server, streamed completions.

Needs the folder that ``scripts/small_model.py setup --folder FOLDER`` makes:

    VAKRA_TUI_SMALL_MODEL=FOLDER pytest tests/agent/test_small_model.py
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from eval.agents import Outcome, Production
from eval.environments import EnvironmentChain
from sessions.agent import AgentSettings, AgentStatus
from sessions.agent.agent import ReactAgent
from sessions.store import Store
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment
from vakra_tui.sample import sample_dataset

REPOSITORY = Path(__file__).resolve().parent.parent.parent


@pytest.mark.small_model
async def test_a_real_model_streams_and_ends_classified(tmp_path: Path) -> None:
    sys.path.insert(0, str(REPOSITORY / "scripts"))
    import small_model

    folder = Path(os.environ["VAKRA_TUI_SMALL_MODEL"])
    if not small_model.is_set_up(folder):
        pytest.skip(f"{folder} is not what scripts/small_model.py setup makes")
    heard: Counter[str] = Counter()
    dataset = Dataset.open(sample_dataset())
    refs = [next(iter(dataset.refs(capability=capability))) for capability in (2, 4)]
    store = Store.open(f"sqlite:///{tmp_path / 'store.sqlite'}")
    with small_model.served(folder) as base_url:
        settings = AgentSettings(**small_model.SETTINGS)
        agent = ReactAgent(small_model.MODEL, base_url, settings, on_delta=lambda kind, piece: heard.update([kind]))
        environments = EnvironmentChain([NativeEnvironment(dataset)])
        production = Production(agent, dataset, environments, store=store, concurrency=1)
        assert await production.run(refs, asyncio.Event())
        await agent.aclose()
    outcomes: list[Outcome] = production.outcomes(refs)
    assert len(outcomes) == len(refs)
    assert {outcome.status for outcome in outcomes} <= set(get_args(AgentStatus)) - {"endpoint", "unfinished"}
    requests = [request for s in store.sessions(kind="batch").items for request in store.requests(s.id)]
    store.close()
    assert len(requests) >= len(refs) and sum(heard.values()) > len(requests)
    assert all("data: {" in str(request.response) for request in requests)
