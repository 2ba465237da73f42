"""A client of the tests' endpoint, and one question to it."""

from __future__ import annotations

from typing import Any

from toolenv.openai_compat import Client, EndpointSettings
from toolenv.openai_compat.settings import (
    RetryPolicy,
)

QUICK = RetryPolicy(first_wait_s=0.001, longest_backoff_s=0.002)
ASK = [{"role": "user", "content": "say pass"}]
WANTED = {"temperature": 0, "seed": 1, "response_format": {"type": "json_object"}, "max_tokens": 100}


def client(endpoint: Any, **settings: Any) -> Client:
    settings = {"model": "m", "base_url": endpoint.base_url, "retries": QUICK, **settings}
    return Client(EndpointSettings(**settings))


async def ask(endpoint: Any, parameters: dict[str, Any] | None = None, **settings: Any) -> Any:
    asking = client(endpoint, **settings)
    try:
        return await asking.chat(ASK, parameters=WANTED if parameters is None else parameters)
    finally:
        await asking.aclose()
