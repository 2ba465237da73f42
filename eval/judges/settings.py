"""What a model judge needs to know before it is asked."""

from __future__ import annotations

from toolenv.model import Value
from toolenv.openai_compat import Budget, EndpointSettings
from toolenv.openai_compat.settings import (
    DEFAULT_BASE_URL,
    dialect_from_environment,
    key_from_environment,
    prices_from_environment,
)


class JudgeSettings(Value, frozen=True):
    """An endpoint and how it is asked.

    ``context_tokens`` bounds the material of a question and ``reply_tokens`` a reply (both estimated at four characters
    a token); ``deadline_s`` bounds one question with all its retries.
    """

    endpoint: EndpointSettings
    temperature: float = 0.0
    seed: int | None = 0
    context_tokens: int = 24_000
    reply_tokens: int = 2_048
    deadline_s: float | None = 300.0


def judge_settings(
    model: str,
    base_url: str | None = None,
    concurrency: int = 8,
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> JudgeSettings:
    """Settings from command-line options; key, prices and dialect come from the environment.

    Raises ``DataError`` for an address that cannot be used and for prices or a dialect that cannot be read.
    """
    endpoint = EndpointSettings(
        model=model,
        base_url=base_url or DEFAULT_BASE_URL,
        api_key=key_from_environment("judge"),
        concurrency=concurrency,
        budget=Budget(max_tokens=max_tokens, max_cost=max_cost),
        prices=prices_from_environment("judge"),
        dialect=dialect_from_environment("judge"),
    )
    return JudgeSettings(endpoint=endpoint)
