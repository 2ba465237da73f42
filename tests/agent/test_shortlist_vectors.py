"""Vectors beside words in the shortlist of tools, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from agent_endpoint import Body, Endpoint, embeddings, failure, text, tools_of
from agent_toy import ToyEnvironment, instance

from sessions.agent import AgentRun, AgentSettings, run_agent
from sessions.agent.agent import ReactAgent
from sessions.agent.shortlist import shortlisted
from sessions.agent.vectors import Nearness, cosine
from toolenv.model import ToolSpec
from toolenv.openai_compat import Client, EndpointSettings, RetryPolicy

QUICK = RetryPolicy(max_attempts=2, short_attempts=1, window_s=5, first_wait_s=0.01, longest_backoff_s=0.02)


def named(name: str, description: str) -> ToolSpec:
    return ToolSpec(name=name, description=description, input_schema={"type": "object", "properties": {}})


FILLERS = tuple(named(f"get_thing_{n:03d}", "a thing") for n in range(200))
FITTING = named("qzx", "automobile factories")
TOOLS = (*FILLERS[:150], FITTING, *FILLERS[150:])


def meaning(body: Body) -> Body:
    """Vectors for which cars and automobiles are the same, as for a model that knows words."""
    plain = [written.lower().replace("automobile factories", "car plants") for written in body["input"]]
    return embeddings({**body, "input": plain})


def served(endpoint: Endpoint, said: Any) -> None:
    """Chat is answered with a text, embeddings by ``said``."""
    endpoint.default = lambda body: said(body) if "input" in body else text("done")


async def run(endpoint: Endpoint, *, instances: int = 1, **settings: Any) -> list[AgentRun]:
    agent = ReactAgent("m", endpoint.base_url, AgentSettings(max_tools=5, embeddings_model="e", **settings))
    assert agent._nearness is not None
    agent._nearness.client = Client(EndpointSettings(model="e", base_url=endpoint.base_url, retries=QUICK))
    about = instance("Where are the car plants?")
    runs = [await run_agent(about, agent, ToyEnvironment(*TOOLS)) for _ in range(instances)]
    await agent.aclose()
    return runs


async def test_a_tool_that_fits_by_meaning_alone_is_found(endpoint: Endpoint) -> None:
    about = instance("Where are the car plants?")
    assert FITTING not in shortlisted(about, TOOLS, 5)
    served(endpoint, meaning)
    (done,) = await run(endpoint)
    chat = [body for body in endpoint.requests if "messages" in body]
    assert done.status == "answered" and "qzx" in tools_of(chat[0]) and len(tools_of(chat[0])) == 5
    assert done.requests[0].usage["tools_sent"] == list(tools_of(chat[0]))
    asked = [body["input"] for body in endpoint.requests if "input" in body]
    assert sum(map(len, asked)) == 1 + len(TOOLS) and max(map(len, asked)) <= 128
    assert {body["model"] for body in endpoint.requests if "input" in body} == {"e"}


async def test_each_text_is_asked_for_once_an_agent(endpoint: Endpoint) -> None:
    served(endpoint, meaning)
    await run(endpoint, instances=3)
    asked = [written for body in endpoint.requests if "input" in body for written in body["input"]]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    "said",
    [
        lambda body: failure(400, "no embeddings here", type="invalid_request_error"),
        lambda body: {"data": []},
        lambda body: {"data": [{"embedding": ["a"]}]},
        lambda body: b"<html>",
        lambda body: failure(503, "busy"),
    ],
)
async def test_without_vectors_words_decide_and_it_is_noted(endpoint: Endpoint, said: Any) -> None:
    served(endpoint, said)
    (done,) = await run(endpoint)
    assert done.status == "answered"
    assert "words alone decide" in str(done.requests[0].usage["notes"])
    expected = shortlisted(instance("Where are the car plants?"), TOOLS, 5)
    assert done.requests[0].usage["tools_sent"] == [tool.name for tool in expected]


async def test_vectors_of_another_endpoint(endpoint: Endpoint, agent_server: Any) -> None:
    other = agent_server.endpoint()
    served(other, meaning)
    agent = ReactAgent(
        "m",
        endpoint.base_url,
        AgentSettings(max_tools=5, embeddings_model="e", embeddings_base_url=other.base_url),
    )
    endpoint.default = lambda body: text("done")
    done = await run_agent(instance("Where are the car plants?"), agent, ToyEnvironment(*TOOLS))
    await agent.aclose()
    assert "qzx" in str(done.requests[0].usage["tools_sent"])
    assert other.requests and all("input" in body for body in other.requests)
    assert all("messages" in body for body in endpoint.requests)


async def test_vectors_of_different_lengths_are_far_apart(endpoint: Endpoint) -> None:
    assert cosine([1.0, 0.0], [1.0]) == 0.0 and cosine([0.0], [1.0]) == 0.0
    served(endpoint, meaning)
    near = Nearness(Client(EndpointSettings(model="e", base_url=endpoint.base_url, retries=QUICK)))
    found = await near.of(instance("Where are the car plants?"), TOOLS)
    assert len(found) == len(TOOLS) and max(found) == found[TOOLS.index(FITTING)]
    await near.client.aclose()
