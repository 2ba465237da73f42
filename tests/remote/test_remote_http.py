"""Servers over streamable HTTP that do things wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_server import Application, reached

from toolenv.errors import EnvironmentFailure
from toolenv.model import Instance

SIZE = 3_000_000


def instance() -> Instance:
    return Instance(uuid="i", capability=2, domain="towns", turns=())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_large_result_arrives_whole(tmp_path: Path, *, stream: bool) -> None:
    async with reached(Application(stream=stream, text="x" * SIZE), tmp_path) as environment:
        session = await environment.open(instance())
        assert len((await session.call("ask", {})).text) == SIZE


@pytest.mark.parametrize("stream", [False, True])
async def test_half_a_surrogate_pair_costs_itself_only(tmp_path: Path, *, stream: bool) -> None:
    async with reached(Application(stream=stream, text="caf\u00e9 \ud83d end \U0001f600"), tmp_path) as environment:
        session = await environment.open(instance())
        assert (await session.call("ask", {})).text == "caf\u00e9 \ufffd end \U0001f600"


async def test_headers_are_sent_and_the_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "t-1")
    application = Application()
    headers = {"Authorization": "Bearer ${A_TOKEN}", "X-Domain": "{domain}"}
    async with reached(application, tmp_path, headers=headers) as environment:
        session = await environment.open(instance())
        assert (await session.call("ask", {})).text == "hello"
    assert {sent["authorization"] for sent in application.headers} == {"Bearer t-1"}
    assert {sent["x-domain"] for sent in application.headers} == {"towns"}
    assert application.headers[-1]["mcp-protocol-version"] == "2025-11-25"


async def test_a_server_that_forgets_its_session_is_a_failure(tmp_path: Path) -> None:
    async with reached(Application(forgetful=True), tmp_path) as environment:
        session = await environment.open(instance())
        with pytest.raises(EnvironmentFailure):
            await session.call("ask", {})
